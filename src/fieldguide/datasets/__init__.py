"""Data sets: the specimens drawn by our own code, resolved on first use."""

from importlib import import_module
from typing import Any

_HOME = {"load_specimens": "specimens", "load_specimen_clips": "clips"}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
