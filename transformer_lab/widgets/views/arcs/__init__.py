"""Sentences whose words are linked by arcs: from the word under the pointer to the words it attends to."""
