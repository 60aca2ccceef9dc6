"""Why a mutant may compute the same."""

COMMUTATIVE = "a product does not depend on the order of its factors"
SYMMETRIC = "transpose(a, b) is transpose(b, a)"
