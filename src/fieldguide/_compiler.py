"""numba, as :mod:`fieldguide._jit` uses it: loaded when the first compiled function is called.

Where neither the package folder nor the home folder can be written, functions are compiled anew in
each process.

Every user waits for the compiler after an upgrade, so that it has as little to do as possible:

- what only compiled code calls is optimised and made machine code once: as a part of its caller,
  and with no way in from Python;
- numba compiles a function once more for every constant that compiled code calls it with:
  ``take(0)``, ``take(1)`` and ``take(n)`` would be three versions. Here they are one;
- numba looks up each operator by the compiler's flags, and compares some thirty properties each
  time: a sixth of all time. Here it compares two small dictionaries;
- it works out anew what each operator makes of two numbers wherever it stands. Here it remembers;
- it takes a named tuple apart into the five to nine numbers of each of its arrays for every call.
  Here the address of the tuple is passed on;
- it takes all of an array apart to find the one counter of its references. Here it takes that;
- passes that never find anything here, and the collector of garbage, do not run.
"""

import gc
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import numba
from llvmlite.ir.instructions import LoadInstr
from numba import types
from numba.core import cgutils, typed_passes, untyped_passes
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.datamodel.models import TupleModel
from numba.core.datamodel.registry import default_manager
from numba.core.options import DefaultOptions
from numba.core.registry import CPUDispatcher
from numba.core.runtime import nrt
from numba.core.runtime.context import NRTContext
from numba.extending import typeof_impl

_njit: Any = numba.njit  # its types leave out the options below
_forget_constant: Any = types.unliteral
_Dispatcher: Any = CPUDispatcher
_Library: Any = JITCodeLibrary
_BaseCompiler: Any = Compiler
_BaseFlags: Any = Flags
_BaseCache: Any = FunctionCache
_BaseReferences: Any = NRTContext
_BaseModel: Any = TupleModel
_PassManager: Any = PassManager
_list_passes: Any = DefaultPassBuilder.define_nopython_pipeline
_put: Any = cgutils.alloca_once_value
# Passes for what compiled code here never has: closures and comprehensions, ``with``, generators,
# arguments that may be None, loops over unlike things, expressions of whole arrays.
_NEEDLESS = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.AnnotateTypes,
    typed_passes.DumpParforDiagnostics,
}
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}  # no public option


def compile_outer(function: Callable[..., Any], *, counted: bool = True) -> Any:
    """Return numba's function with a way in from Python, kept on disk where that is possible."""
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    if not counted:
        options |= _UNCOUNTED
    compiled = _njit(pipeline_class=_Compiler, **options)(function)
    if isinstance(compiled, _Dispatcher):  # NUMBA_DISABLE_JIT leaves functions as they are
        compiled.__class__ = _Outer
        compiled.inner = compile_inner(function, counted=counted)
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
        self.state.typingctx = _Typing(typingctx, flags.fastmath)
        context = self.state.targetctx  # of this compilation alone
        context.refresh = _do_nothing  # it was done just now; it is asked for at every constant
        context.data_model_manager = _MODELS
        context.nrt = _References(context, context.enable_nrt)

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes but for those that find nothing here."""
        every = _list_passes(self.state)
        manager = _PassManager(every.pipeline_name)
        manager.passes.extend(entry for entry in every.passes if entry[0] not in _NEEDLESS)
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function of Python."""
        if self.state.flags.no_cpython_wrapper and self.state.library is None:
            self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)
        with _without_collecting():
            return super().compile_extra(func)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Look for no garbage: nearly all that compiling makes is needed until it ends."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _do_nothing() -> None:
    pass


class _Typing:
    """numba's knowledge of types, which remembers what each operator makes of each scalar."""

    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any, fastmath: Any) -> None:
        self._context = context
        self._fastmath = str(fastmath)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        if kws or not isinstance(func, types.Function) or not all(map(_is_scalar, args)):
            return self._context.resolve_function_type(func, args, kws)
        key = func, tuple(args), self._fastmath
        if key not in self._known:
            found = self._context.resolve_function_type(func, args, kws)
            if found is None:
                return None
            self._known[key] = found
        return self._known[key]


def _is_scalar(kind: Any) -> bool:
    return isinstance(kind, types.Number | types.Boolean | types.Literal)


class _Record(_BaseModel):
    """How a named tuple is passed on: by its address."""

    def get_argument_type(self) -> Any:
        """Return the type of the address."""
        return self.get_value_type().as_pointer()

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return an address of the tuple: the one that it came with, or that of a copy."""
        if isinstance(value, LoadInstr):
            # A variable with an argument's name holds what came: a second value has another name.
            (place,) = value.operands
            for given in builder.function.args:
                if given is place or (given.name, given.type) == (f"arg.{place.name}", place.type):
                    return given
        return _put(builder, value)

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Read the tuple from its address."""
        return builder.load(value)


_MODELS = type(default_manager)(ChainMap({types.NamedTuple: _Record}, default_manager._handlers))


class _References(_BaseReferences):
    """Counts references to arrays; looks for them in nothing that cannot have any."""

    _has_some: ClassVar[dict[Any, bool]] = {}

    def get_meminfos(self, builder: Any, ty: Any, val: Any) -> list[Any]:
        """Return the type and the counter of each reference in a value."""
        models = self._context.data_model_manager
        found = []
        if models[ty].has_nrt_meminfo():
            found.append((ty, models[ty].get_nrt_meminfo(builder, val)))
        for kind, get_member in models[ty].traverse(builder):
            if kind not in self._has_some:
                self._has_some[kind] = models[kind].contains_nrt_meminfo()
            if self._has_some[kind]:
                found += self.get_meminfos(builder, kind, get_member(val))
        return found


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

    def finalize(self) -> None:
        """Link in what the code calls."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True
