"""Sentences whose words are linked by arcs: from the word that is pointed at to the words it looks at."""
