"""An interactive attention map: of given weights, or of the steps that lead to them from queries and keys."""
