"""What :mod:`fieldguide._compiler` does, by numba's public parts alone: right, and slower to start.

For versions of numba that ``_compiler`` was not tried with, whose inner parts may be others.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba import types
from numba.extending import typeof_impl

_njit: Any = numba.njit


def compile_outer(function: Callable[..., Any], *, counted: bool = True) -> Any:
    """Return numba's function, kept on disk where that is possible; references are counted."""
    compiled = _njit(nogil=True)(function)
    # There is no folder for it, or NUMBA_DISABLE_JIT left the function as it is.
    with suppress(RuntimeError, AttributeError):
        compiled.enable_caching()
    return compiled


def compile_inner(function: Callable[..., Any], *, counted: bool = True, **options: Any) -> Any:
    """Return numba's function for compiled code; references are counted whatever is asked for."""
    return _njit(nogil=True, **options)(function)


def know(kind: type) -> None:
    """Let compiled code take objects of this class for the functions that they load."""

    @typeof_impl.register(kind)
    def _typeof(function: Any, context: Any) -> Any:
        return types.Dispatcher(function.load())
