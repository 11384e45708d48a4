"""The two decorators of compiled functions; :mod:`fieldguide._compiler` has what they do.

numba takes a third of a second to load, so that it is loaded when the first of them is called.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, update_wrapper
from typing import Any, TypeVar, overload

# Versions whose inner parts `_compiler` was tried with; others get numba's public ones alone.
TRIED_NUMBA = ("0.68",)

F = TypeVar("F", bound=Callable[..., Any])


@overload
def jit(function: F, *, is_light: bool = ..., counted: bool = ...) -> F: ...


@overload
def jit(*, is_light: bool = ..., counted: bool = ...) -> Callable[[F], F]: ...


def jit(
    function: Callable[..., Any] | None = None, *, is_light: bool = False, counted: bool = True
) -> Any:
    """Compile ``function`` on first use, without the GIL, cached on disk where that is possible.

    ``is_light``: in plain Python a row of it takes milliseconds; see :func:`light_loops_plain`.
    ``counted``: references to arrays are; without that, a function that makes and returns none is
    compiled sooner.
    """
    if function is None:
        return partial(jit, is_light=is_light, counted=counted)
    return CompiledFunction(function, partial(_load_outer, counted=counted), is_light=is_light)


@overload
def inner_jit(function: F, **options: Any) -> F: ...


@overload
def inner_jit(**options: Any) -> Callable[[F], F]: ...


def inner_jit(
    function: Callable[..., Any] | None = None,
    *,
    plain: Callable[..., Any] | None = None,
    **options: Any,
) -> Any:
    """Compile a function for compiled code, which holds the cache; Python runs it as it is.

    ``plain``: what Python runs in its place.
    """
    if function is None:
        return partial(inner_jit, plain=plain, **options)
    return _InnerFunction(function, partial(_load_inner, **options), plain=plain)


def inline_jit(function: F) -> F:
    """Compile a function into its compiled callers, which hold the cache and the arrays.

    It counts no references to arrays, and so can make none: measured, counting them took two
    fifths of a shortlist, since it cannot be left out around loops.
    """
    return inner_jit(function, counted=False, forceinline=True)


@contextmanager
def light_loops_plain() -> Iterator[None]:
    """Run light functions as plain Python, where numba is not loaded yet.

    For a process that looks at a few rows and ends: numba takes longer to load than they take.
    Sums in single precision may differ in their last digits.
    """
    CompiledFunction.run_light_plainly = True
    try:
        yield
    finally:
        CompiledFunction.run_light_plainly = False


class CompiledFunction:
    """A function that numba compiles on first use.

    Once loaded, numba's function takes its name in its module: later calls by way of the module
    cost nothing more than numba's own.
    """

    run_light_plainly = False

    def __init__(
        self,
        function: Callable[..., Any],
        load: Callable[[Callable[..., Any]], Any],
        *,
        is_light: bool = False,
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._load = load
        self._is_light = is_light
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
        if self._is_light and self._loaded is None and self.run_light_plainly:
            return self.py_func(*args, **kws)
        return self.load()(*args, **kws)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.load(), name)


class _InnerFunction(CompiledFunction):
    """A function that only compiled code runs compiled."""

    def __init__(
        self,
        function: Callable[..., Any],
        load: Callable[[Callable[..., Any]], Any],
        *,
        plain: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(function, load)
        self._plain = function if plain is None else plain

    def __call__(self, *args: Any, **kws: Any) -> Any:
        return self._plain(*args, **kws)


def _load_outer(function: Callable[..., Any], counted: bool) -> Any:
    return _load_compiler().compile_outer(function, counted=counted)


def _load_inner(function: Callable[..., Any], **options: Any) -> Any:
    return _load_compiler().compile_inner(function, **options)


@cache
def _load_compiler() -> Any:
    import numba

    if ".".join(numba.__version__.split(".")[:2]) in TRIED_NUMBA:
        from fieldguide import _compiler as compiler
    else:
        from fieldguide import _plain_compiler as compiler  # type: ignore[no-redef]
    compiler.know(CompiledFunction)
    return compiler
