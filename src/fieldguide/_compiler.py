"""numba, as :mod:`fieldguide._jit` uses it: loaded when the first compiled function is called.

Where neither the package folder nor the home folder can be written, functions are compiled anew in
each process.

Every user waits for the compiler after an upgrade, so that it has as little to do as possible:

- what only compiled code calls is optimised and made machine code once: as a part of its caller,
  and with no way in from Python;
- numba compiles a function once more for every constant that compiled code calls it with:
  ``take(0)``, ``take(1)`` and ``take(n)`` would be three versions. Here they are one;
- numba looks up each operator by the compiler's flags, and compares some thirty properties each
  time: a sixth of all time. Here it compares two small dictionaries.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba import types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.options import DefaultOptions
from numba.core.registry import CPUDispatcher
from numba.core.runtime import nrt
from numba.extending import typeof_impl

_njit: Any = numba.njit  # its types leave out the options below
_forget_constant: Any = types.unliteral
_Dispatcher: Any = CPUDispatcher
_Library: Any = JITCodeLibrary
_BaseCompiler: Any = Compiler
_BaseFlags: Any = Flags
_BaseCache: Any = FunctionCache
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}  # no public option


def compile_outer(function: Callable[..., Any]) -> Any:
    """Return numba's function with a way in from Python, kept on disk where that is possible."""
    compiled = _njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=_Compiler)(function)
    if isinstance(compiled, _Dispatcher):  # NUMBA_DISABLE_JIT leaves functions as they are
        compiled.__class__ = _Outer
        compiled.inner = compile_inner(function)
        with suppress(RuntimeError):  # there is no folder for it
            compiled._cache = _Cache(function)
    return compiled


def compile_inner(function: Callable[..., Any], *, counted: bool = True, **options: Any) -> Any:
    """Return numba's function for compiled code alone; counted: its references to arrays."""
    options |= {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if not counted:
        options |= _UNCOUNTED
    compiled = _njit(pipeline_class=_Compiler, **options)(function)
    if isinstance(compiled, _Dispatcher):
        compiled.__class__ = _Inner
    return compiled


def know(kind: type) -> None:
    """Let compiled code take objects of this class for the functions that they load."""

    @typeof_impl.register(kind)
    def _typeof(function: Any, context: Any) -> Any:
        return types.Dispatcher(function.load())


class _Outer(_Dispatcher):
    """A function with a way in from Python; compiled code calls its other form, ``inner``."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how compiled code calls the function with arguments of these types."""
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return what compiled code knows the function by."""
        return self.inner.get_overload(sig)


class _Inner(_Dispatcher):
    """A function without a way in from Python, with one version for all constants."""

    def __call__(self, *args: Any, **kws: Any) -> Any:
        return self.py_func(*args, **kws)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how compiled code calls the function with arguments of these types."""
        plain = {name: _forget_constant(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(_forget_constant, args)), plain)


class _Cache(_BaseCache):
    """Compiled functions on disk, which are run without loading what compiling needs."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function for these types, or None."""
        nrt.rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
        return None


class _Compiler(_BaseCompiler):
    """numba's compiler, with the flags and the library below."""

    def __init__(
        self,
        typingctx: Any,
        targetctx: Any,
        library: Any,
        args: Any,
        return_type: Any,
        flags: Any,
        locals: Any,
    ) -> None:
        flags = _Flags(flags)
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def compile_extra(self, func: Any) -> Any:
        """Compile a function of Python."""
        if self.state.flags.no_cpython_wrapper and self.state.library is None:
            self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _Flags(_BaseFlags):
    """Flags that are quickly compared: numba's build a dictionary of all options each time."""

    def __init__(self, copy_from: Any = None) -> None:
        super().__init__(copy_from)
        defaults = {name: option.default for name, option in self.options.items()}
        self._values: dict[str, Any] = {k: v for k, v in self._values.items() if v != defaults[k]}

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values


class _PartLibrary(_Library):
    """Code that is part of other code: its callers link it in as it was written.

    By itself it is never run, so that optimising it and making it machine code would be lost work.
    """

    @property
    def codegen(self) -> Any:
        """Whom numba asks to give machine code its environment."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Leave the environment: there is no machine code."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True
