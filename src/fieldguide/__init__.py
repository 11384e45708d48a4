"""Fieldguide: turn many images into a field guide.

A tree of the collection in words, a key that names a new find, and a page to browse. The names
below are loaded when they are first used, so that ``import fieldguide`` is quick.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldguide.collection import Collection
    from fieldguide.describe import AgglomerativeTree, AttributeTree
    from fieldguide.features import DeepFeatures
    from fieldguide.guide import Guide
    from fieldguide.identify import AttentionTreeClassifier, OneVsAllClassifier
    from fieldguide.locate import RegionSelector
    from fieldguide.select import ConcertClassifier, ConcertSelector

_HOME = {
    "AgglomerativeTree": "fieldguide.describe",
    "AttentionTreeClassifier": "fieldguide.identify",
    "AttributeTree": "fieldguide.describe",
    "Collection": "fieldguide.collection",
    "ConcertClassifier": "fieldguide.select",
    "ConcertSelector": "fieldguide.select",
    "DeepFeatures": "fieldguide.features",
    "Guide": "fieldguide.guide",
    "OneVsAllClassifier": "fieldguide.identify",
    "RegionSelector": "fieldguide.locate",
}

__all__ = [
    "AgglomerativeTree",
    "AttentionTreeClassifier",
    "AttributeTree",
    "Collection",
    "ConcertClassifier",
    "ConcertSelector",
    "DeepFeatures",
    "Guide",
    "OneVsAllClassifier",
    "RegionSelector",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "__version__":
        return metadata.version("fieldguide")
    raise AttributeError(f"module 'fieldguide' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
