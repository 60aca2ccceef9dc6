"""The cache of five designs, filling token by token and to scale, and what each still knows of the first tokens."""
