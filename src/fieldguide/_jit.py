"""The two numba decorators of the package.

``njit(cache=True)`` raises where neither the package folder nor the home folder can be written;
there, functions are compiled anew in each process.

Every user waits for the compiler after an upgrade, so that it has as little to do as possible:

- a function that only compiled code calls (:func:`inner_jit`) gets no way in from Python, which
  takes longer to compile than many a loop;
- numba compiles a function once more for every constant that compiled code calls it with:
  ``take(0)``, ``take(1)`` and ``take(n)`` would be three versions. Here they are one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, overload

import numba
from numba import types
from numba.core.registry import CPUDispatcher

_njit: Any = numba.njit  # its types leave out the options below
_forget_constant: Any = types.unliteral
_Dispatcher: Any = CPUDispatcher


def jit(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on first use, without the GIL, cached on disk where that is possible."""
    try:
        compiled = _njit(cache=True, nogil=True, no_cfunc_wrapper=True)(function)
    except RuntimeError:
        compiled = _njit(nogil=True, no_cfunc_wrapper=True)(function)
    return _as(_Compiled, compiled)


@overload
def inner_jit(function: Callable[..., Any], **options: Any) -> Any: ...


@overload
def inner_jit(**options: Any) -> Callable[[Callable[..., Any]], Any]: ...


def inner_jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function for compiled code, which holds the cache; Python runs it as it is."""
    if function is None:
        return partial(inner_jit, **options)
    compiled = _njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    return _as(_Inner, compiled(function))


def _as(kind: type, compiled: Any) -> Any:
    if isinstance(compiled, _Dispatcher):  # NUMBA_DISABLE_JIT leaves functions as they are
        compiled.__class__ = kind
    return compiled


class _Compiled(_Dispatcher):
    """A function with one version for all constants."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how compiled code calls the function with arguments of these types."""
        plain = {name: _forget_constant(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(_forget_constant, args)), plain)


class _Inner(_Compiled):
    """A function without a way in from Python: a call of its machine code would crash."""

    def __call__(self, *args: Any, **kws: Any) -> Any:
        return self.py_func(*args, **kws)
