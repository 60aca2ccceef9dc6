"""Why a mutant may compute the same."""

import ast
from collections import Counter

COMMUTATIVE = "a product does not depend on the order of its factors"
SUM = "a sum does not depend on the order of its terms"
SYMMETRIC = "transpose(a, b) is transpose(b, a)"
FROM_THE_END = "an axis may be counted from the front or from the end"
DEFAULT_DEVICE = "within a check, new tensors lie where the arguments lie"
ANY_FLOAT = "no input is floating, so that any floating type is right"
TYPES = "no case is of a type smaller than float32"
IDS = "the ids of all cases are int64"
ONE_TYPE = "all tensors of a case are of one type, none of them float16"


def commuted(function: str, *expressions: str) -> dict[str, str]:
    """The mutants of a function in which the two sides of these sums and products have changed places."""
    seen: Counter[str] = Counter()
    listed = {}
    for expression in expressions:
        node = ast.parse(expression, mode="eval").body
        assert isinstance(node, ast.BinOp)
        assert isinstance(node.op, ast.Add | ast.Mult)
        swapped = ast.unparse(ast.BinOp(node.right, node.op, node.left))
        seen[expression] += 1
        times = f" ({seen[expression]})" if seen[expression] > 1 else ""
        listed[f"{function}: {expression} → {swapped}{times}"] = SUM if isinstance(node.op, ast.Add) else COMMUTATIVE
    return listed


def widened(function: str, x: str, *others: str) -> dict[str, str]:
    """The mutants of a function that computes in float32 at least, of which no case can tell."""
    wider = f"{function}: torch.promote_types({x}.dtype, torch.float32) →"
    return {
        f"{wider} {x}.dtype": TYPES,
        f"{wider} torch.promote_types(torch.float32, {x}.dtype)": "the wider of two types is so in any order",
    } | {f"{function}: {one}": TYPES for one in others}


ATTENTION = {  # as a helper of the package's own: without a mask, without dropout
    "scaled_dot_product_attention: key.transpose(-2, -1) → key.transpose(-1, -2)": SYMMETRIC,
    "scaled_dot_product_attention: F.dropout(weights.to(value.dtype), dropout) → weights.to(value.dtype)": (
        "the exercise has no dropout"
    ),
    **dict.fromkeys(
        (
            "scaled_dot_product_attention: masked_softmax(scores, mask) → scores",
            "scaled_dot_product_attention: masked_softmax(scores, mask) → masked_softmax(mask, scores)",
        ),
        "the exercise has no mask",
    ),
    "scaled_dot_product_attention: query → key (3)": "queries and keys have the same width",
    **dict.fromkeys(
        (
            "scaled_dot_product_attention: query → key",
            "scaled_dot_product_attention: query → value",
            "scaled_dot_product_attention: value → key",
            "scaled_dot_product_attention: value → query",
            "scaled_dot_product_attention: weights.to(value.dtype) → weights",
        ),
        ONE_TYPE,
    ),
}
OF_HEADS = ATTENTION | {
    "scaled_dot_product_attention: -2 → 2": FROM_THE_END,
    "scaled_dot_product_attention: query → value (3)": "queries and values of a head have the same width",
}
