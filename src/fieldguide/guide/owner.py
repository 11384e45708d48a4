"""What the owner said of each specimen: keywords beside the images, and attributes.

A build is given both with its collection. The guide keeps them, so that specimens can be added to
it when that collection is not at hand (:mod:`fieldguide.guide.adding`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import folder as files


class Owned(NamedTuple):
    """Keywords and attributes, by the numbers of specimens."""

    keywords: list[tuple[str, ...]]
    attributes: np.ndarray | None  # (n_specimens, n_attributes) in [0, 1]; NaN where unknown
    names: tuple[str, ...]
    captions: list[str]  # beside the images; "" where there is none


def save_owned(collection: Collection, item_rows: Sequence[int], draft: files.NewFiles) -> None:
    """Write what a collection says of its items that became specimens."""
    said = [(str(i), collection.items[row]) for i, row in enumerate(item_rows)]
    arrays = {}
    if collection.attributes is not None:
        arrays["attributes"] = collection.attributes[list(item_rows)]
    settings = {
        "keywords": {i: list(item.keywords) for i, item in said if item.keywords},
        "captions": {i: item.caption for i, item in said if item.caption},
        "names": list(collection.attribute_names),
    }
    files.write_model(draft, files.OWNER, arrays, settings)


def open_owned(edition: Path, n: int) -> Owned:
    """Return what the owner of a guide with ``n`` specimens said of them."""
    if not (edition / f"{files.OWNER}.json").exists():
        raise GuideError(
            "This guide was built by an earlier version, which did not keep what its owner said of "
            "each specimen; run the same 'fieldguide build' once more, then add."
        )

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Owned:
        names = tuple(str(name) for name in settings["names"])
        attributes = arrays.get("attributes")
        if attributes is not None:
            known = attributes[~np.isnan(attributes)]
            if attributes.shape != (n, len(names)) or not ((known >= 0) & (known <= 1)).all():
                raise ValueError("its attributes do not fit the specimens")
        keywords: list[tuple[str, ...]] = [()] * n
        captions = [""] * n
        for number, said in settings["keywords"].items():
            keywords[_check_number(number, n)] = tuple(str(word) for word in said)
        for number, text in settings.get("captions", {}).items():
            captions[_check_number(number, n)] = str(text)
        return Owned(keywords, attributes, names, captions)

    return files.read_model(edition, files.OWNER, "owner's words", make)


def _check_number(number: str, n: int) -> int:
    if not 0 <= int(number) < n:
        raise ValueError(f"there is no specimen {number}")
    return int(number)
