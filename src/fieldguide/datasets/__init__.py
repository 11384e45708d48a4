"""Data sets: specimens drawn by our own code, and loaders of known releases; made on first use."""

from importlib import import_module
from typing import Any

_HOME = {
    "Objects": "boxes",
    "load_apascal": "apascal",
    "load_awa": "awa",
    "load_caltech": "caltech",
    "load_cifar10": "cifar10",
    "load_cub200": "cub200",
    "load_msr_action2": "msr_action2",
    "load_specimen_clips": "clips",
    "load_specimens": "specimens",
    "load_sun09": "sun09",
    "load_sun397": "sun397",
    "load_voc2007": "voc2007",
    "load_youtube_objects": "youtube_objects",
    "load_zoo": "zoo",
    "read_coco_boxes": "boxes",
    "read_voc_boxes": "boxes",
    "read_yolo_boxes": "boxes",
    "write_coco_boxes": "boxes",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
