"""Where a broken function is at fault, and what can be said of each of its lines; nobody writes any of it by hand."""
