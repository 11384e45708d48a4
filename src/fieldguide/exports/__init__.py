"""The forms in which a guide can be written: a module for each, and one list of them.

A format is a module of this package with ``write(order)``, which writes one file or folder and
returns what to open. A new format is a module and a line in ``FORMATS``.
"""

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from fieldguide.errors import FieldguideError
from fieldguide.exports.order import Order

__all__ = ["FORMATS", "SHOWN", "Format", "Order", "export_guide"]


class Format(NamedTuple):
    """A form in which a guide can be written.

    Examples
    --------
    >>> FORMATS["csv"]
    Format(module='specimens_csv', summary='a row for each specimen', suffix='.csv')
    """

    module: str
    summary: str
    suffix: str = ""  # of the file, as people name it; "" for a folder


FORMATS = {
    "site": Format("site_pages", "the pages, as plain files that open without a server"),
    "csv": Format("specimens_csv", "a row for each specimen", ".csv"),
    "parquet": Format("specimens_parquet", "the same rows, typed", ".parquet"),
    "imagefolder": Format("imagefolder", "pictures and metadata.jsonl, for Hugging Face"),
    "croissant": Format("croissant", "the imagefolder with Croissant metadata"),
    "newick": Format("newick", "the tree, with a tip for each specimen", ".nwk"),
    "nexus": Format("nexus", "the same tree with its list of taxa", ".nex"),
    "coco": Format("coco", "boxes of subjects and outlines of places", ".json"),
    "characters": Format("characters", "how many of each kind show each word", ".csv"),
    "lucid": Format("lucid_csv", "kinds and words as the Lucid Builder imports them", ".csv"),
    "sdd": Format("sdd", "the same as SDD, a standard for descriptions of kinds", ".xml"),
    "darwin-core": Format("darwin_core", "an occurrence for each specimen", ".csv"),
    "onnx": Format("onnx_model", "from a picture to its kind, with the key inside", ".onnx"),
    "book": Format("book", "a guide to print: cover, key, plates, index", ".html"),
    "camtrap-dp": Format("camtrap_dp", "observations, by people and by the key", ".csv"),
}
# To people, who need not know when and where pictures were taken.
SHOWN = ("site", "book")


def export_guide(order: Order, name: str = "site") -> Path:
    """Write a guide in one of ``FORMATS``; return what to open.

    Parameters
    ----------
    order : Order
        Which guide, and where to write it.
    name : str
        One of ``FORMATS``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fieldguide import Collection, Guide
    >>> greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 20, 30, 220, 230, 240)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     collection = Collection.from_arrays(greys, list("dddlll"))
    ...     guide = Guide.build(collection, Path(folder, "guide"))
    ...     written = export_guide(Order(guide, Path(folder, "rows.csv")), "csv")
    ...     written.name, len(written.read_text().splitlines())
    ('rows.csv', 7)
    """
    if name not in FORMATS:
        raise FieldguideError(
            f"`format` of an export must be one of {', '.join(FORMATS)}; got {name!r}."
        )
    form = FORMATS[name]
    if form.suffix:
        order.check_file()
    written: Path = import_module(f"fieldguide.exports.{form.module}").write(order)
    return written
