"""The choice of the device on which the lessons and the examples run."""

import os

import torch


def default_device() -> torch.device:
    """The device that lessons use: CUDA if available, else Apple's MPS, else the CPU.

    The environment variable `TRANSFORMER_LAB_DEVICE` (`cpu`, `cuda`, `cuda:1`, `mps`) overrides the choice.

    Raises:
        ValueError: the variable names no device, or one that this machine does not have.
    """
    wanted = os.environ.get("TRANSFORMER_LAB_DEVICE")
    if not wanted:
        accelerator = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else None
        return torch.device(accelerator or "cpu")
    try:
        return torch.empty(0, device=wanted).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"TRANSFORMER_LAB_DEVICE must name a device of this machine, such as cpu or cuda ({wanted!r}: {reason})"
        ) from error
