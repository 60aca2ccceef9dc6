"""A language model that runs in the page: type the beginning of a text, and see its predictions."""
