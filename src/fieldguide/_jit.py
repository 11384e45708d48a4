"""The one numba decorator of the package.

``njit(cache=True)`` raises where neither the package folder nor the home folder can be written;
there, functions are compiled anew in each process.
"""

from collections.abc import Callable
from typing import Any

import numba


def jit(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on first use, without the GIL, cached on disk where that is possible."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
