"""Modules that a process may never need, loaded when something of theirs is asked for."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def load_later(name: str) -> None:
    """Let ``import name`` find a module that loads the real one at its first use.

    scikit-learn imports all of scipy.stats, a third of what a short command loads, for one
    function that Fieldguide never calls.
    """
    if name not in sys.modules:
        sys.modules[name] = _Later(name)


class _Later(ModuleType):
    """Stands in until an attribute is asked for; Python's own LazyLoader is woken by an import."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") and attribute != "__path__":
            raise AttributeError(attribute)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), attribute)
