"""The exercises of lesson 12, published weights: a file each."""
