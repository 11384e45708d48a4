"""The two decorators of compiled functions; :mod:`fieldguide._compiler` has what they do.

numba takes a third of a second to load, so that it is loaded when the first of them is called.
"""

from collections.abc import Callable
from functools import cache, partial, update_wrapper
from typing import Any, overload


def jit(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on first use, without the GIL, cached on disk where that is possible."""
    return CompiledFunction(function, _load_outer)


@overload
def inner_jit(function: Callable[..., Any], **options: Any) -> Any: ...


@overload
def inner_jit(**options: Any) -> Callable[[Callable[..., Any]], Any]: ...


def inner_jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function for compiled code, which holds the cache; Python runs it as it is."""
    if function is None:
        return partial(inner_jit, **options)
    return CompiledFunction(function, partial(_load_inner, **options))


class CompiledFunction:
    """A function that numba compiles on first use.

    Once loaded, numba's function takes its name in its module: later calls by way of the module
    cost nothing more than numba's own.
    """

    def __init__(
        self, function: Callable[..., Any], load: Callable[[Callable[..., Any]], Any]
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._load = load
        self._loaded: Any = None

    def load(self) -> Any:
        """Return numba's function."""
        if self._loaded is None:
            self._loaded = self._load(self.py_func)
            names = self.py_func.__globals__
            if names.get(self.py_func.__name__) is self:
                names[self.py_func.__name__] = self._loaded
        return self._loaded

    def __call__(self, *args: Any, **kws: Any) -> Any:
        return self.load()(*args, **kws)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.load(), name)


def _load_outer(function: Callable[..., Any]) -> Any:
    return _load_compiler().compile_outer(function)


def _load_inner(function: Callable[..., Any], **options: Any) -> Any:
    return _load_compiler().compile_inner(function, **options)


@cache
def _load_compiler() -> Any:
    from fieldguide import _compiler

    _compiler.know(CompiledFunction)
    return _compiler
