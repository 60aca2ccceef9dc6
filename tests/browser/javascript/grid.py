"""What torch computes, for the tests of the maps; None stands for a masked cell."""

import matplotlib
import torch
import torch.nn.functional as F


def numbers() -> dict[str, list]:
    shades = (255 * matplotlib.colormaps["RdBu"](torch.linspace(0, 1, 101).numpy())[:, :3]).round()
    return {"diverging": shades.tolist(), "pooled": [pooled_case(*case) for case in ((6, 9, 3), (7, 5, 2), (4, 4, 8))]}


def pooled_case(T: int, S: int, k: int) -> dict:
    values = torch.randn(1, T, S)
    sizes = {"kernel_size": k, "ceil_mode": True}
    mean = F.avg_pool2d(values, **sizes, count_include_pad=False)
    return {
        "k": k,
        "values": values[0].tolist(),
        "largest": F.max_pool2d(values, **sizes)[0].tolist(),
        "mean": mean[0].tolist(),
    }
