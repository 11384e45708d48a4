"""Where whole-matrix work is done: on the processor, or on a graphics processor.

What runs on a graphics processor sums in another order than on the processor: answers agree to
about five digits, not to the last bit. So it is used where it is asked for, and the default is the
processor. It is reached through torch (the extra ``gpu``), which is imported for nothing else.
"""

import warnings
from typing import Any

import numpy as np

from fieldguide._check import check_choice
from fieldguide.errors import FieldguideWarning

DEVICES = ("auto", "cpu", "cuda")


def find_device(owner: str, asked: str) -> str:
    """Return "cpu" or "cuda": what was asked for, as far as it is there.

    Parameters
    ----------
    owner : str
        Who asks, for the message.
    asked : {"auto", "cpu", "cuda"}
        "auto" takes a graphics processor if there is one. "cuda" where there is none is said in a
        warning of one sentence, and the processor serves.
    """
    check_choice(owner, "device", asked, DEVICES)
    if asked == "cpu":
        return "cpu"
    reason = _find_obstacle()
    if reason is None:
        return "cuda"
    if asked == "cuda":
        warnings.warn(
            f'device="cuda" of {owner} cannot be had: {reason}; the processor is used.',
            FieldguideWarning,
            stacklevel=3,
        )
    return "cpu"


def _find_obstacle() -> str | None:
    try:
        import torch
    except ImportError:
        return 'torch is not installed (pip install "fieldguide[gpu]")'
    return None if torch.cuda.is_available() else "torch finds no graphics processor of NVIDIA's"


def count_shares(n_bytes: int) -> int:
    """Return how many processes the free memory of the graphics processor serves, 1 or more."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    return max(int(free) // n_bytes, 1)


def put(values: np.ndarray, device: str) -> Any:
    """Return a torch tensor of the values on a device; the values are not shared with it."""
    import torch

    return torch.tensor(values, device=device)


def get(values: Any) -> np.ndarray:
    """Return a tensor as an array in memory."""
    return np.asarray(values.cpu())


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that a device's memory is full, whichever library raised it."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
