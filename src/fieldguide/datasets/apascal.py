"""aPascal and aYahoo: objects of PASCAL VOC 2008 with their boxes and 64 annotated attributes.

One object a line: image, class, box (x0 y0 x1 y1), 64 times 0 or 1. The files are
``apascal_train.txt``, ``apascal_test.txt``, ``ayahoo_test.txt``, ``attribute_names.txt`` and
``class_names.txt``; there are no pictures. The authors offer the low-level features of the objects
(colour, texture, gradients, edges) as a download of its own; ``features`` reads them, or any
others, from a NumPy or MATLAB file with a row for each line of the list.

Reference: A. Farhadi, I. Endres, D. Hoiem, D. Forsyth, "Describing objects by their attributes",
CVPR 2009.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fieldguide._check import check_choice
from fieldguide.datasets._release import (
    damaged,
    find_root,
    pack_attributes,
    read_lines,
    read_rows,
    to_numbers,
)

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_SPLITS = {"train": "apascal_train.txt", "test": "apascal_test.txt", "yahoo": "ayahoo_test.txt"}
_ANIMALS = ("bird", "cat", "cow", "dog", "horse", "sheep")
_VEHICLES = ("aeroplane", "bicycle", "boat", "bus", "car", "motorbike", "train")
_INDOOR = ("bottle", "chair", "diningtable", "pottedplant", "sofa", "tvmonitor")
_GROUPS = {
    "pet": ("cat", "dog"),
    "vehicle": _VEHICLES,
    "alive": (*_ANIMALS, "person"),
    "animal": _ANIMALS,
}
PASCAL_CLASSES = tuple(sorted((*_ANIMALS, *_VEHICLES, *_INDOOR, "person")))

# The taxonomy of A. Binder and others (2012) is known to us from a figure only: three readings.
TAXONOMIES: dict[str, dict[str, tuple[str, ...]]] = {
    "flat": {
        **{kind: ("animal",) for kind in _ANIMALS},
        **{kind: ("vehicle",) for kind in _VEHICLES},
        **{kind: ("indoor",) for kind in _INDOOR},
        "person": (),
    },
    "alive": {
        **{kind: ("alive", "animal") for kind in _ANIMALS},
        **{kind: ("vehicle",) for kind in _VEHICLES},
        **{kind: ("indoor",) for kind in _INDOOR},
        "person": ("alive",),
    },
    "fine": {
        "bird": ("animal",),
        **{kind: ("animal", "domestic") for kind in ("cat", "dog")},
        **{kind: ("animal", "farmyard") for kind in ("cow", "horse", "sheep")},
        **{kind: ("vehicle",) for kind in ("aeroplane", "boat", "train")},
        **{kind: ("vehicle", "four wheels") for kind in ("bus", "car")},
        **{kind: ("vehicle", "two wheels") for kind in ("bicycle", "motorbike")},
        **{kind: ("household",) for kind in ("bottle", "pottedplant", "tvmonitor")},
        "diningtable": ("household", "furniture"),
        **{kind: ("household", "furniture", "seating") for kind in ("chair", "sofa")},
        "person": (),
    },
}


def load_apascal(
    folder: str | os.PathLike[str],
    split: str = "train",
    extra: bool = True,
    *,
    features: str | os.PathLike[str] | None = None,
) -> "Bunch":
    """Load the annotated objects of aPascal.

    Parameters
    ----------
    folder : path
        The folder that holds ``apascal_train.txt``.
    split : {"train", "test", "yahoo"}
    extra : bool
        Add 24 columns that follow from the class: *pet*, *vehicle*, *alive*, *animal*, and one for
        each of the 20 classes of PASCAL VOC.
    features : path, optional
        A file ``.npy``, or ``.mat`` with one such array: a row of numbers for each object, in the
        order of the list.

    Returns
    -------
    sklearn.utils.Bunch
        ``attributes`` : uint8 array of shape (n, 88), or (n, 64) without ``extra``; also ``data``.

        ``attribute_names`` : list of str.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str.

        ``boxes`` : float32 array of shape (n, 4), x0, y0, x1, y1 in pixels.

        ``paths`` : list of str, the name of the image of each object.

        ``features`` : float32 array of shape (n, n_features); only with ``features``.

        ``taxonomy`` : dict from kind to the tuple of its groups; left out for "yahoo".

        ``taxonomies`` : dict of three readings of the taxonomy: "flat" (which is ``taxonomy``),
        "alive" and "fine"; left out for "yahoo".

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = Path(folder, "attribute_names.txt").write_text("Wing\\nSaddle")
    ...     n = Path(folder, "apascal_train.txt").write_text("a.jpg horse 10 20 60 80 0 1")
    ...     found = load_apascal(folder, extra=False)
    >>> found.target_names[found.target[0]], found.boxes.tolist(), found.attributes.tolist()
    ('horse', [[10.0, 20.0, 60.0, 80.0]], [[0, 1]])
    """
    check_choice("load_apascal", "split", split, tuple(_SPLITS))
    root = find_root("aPascal", folder, "attribute_data", [_SPLITS[split]])
    names = read_lines(root / "attribute_names.txt")
    path = root / _SPLITS[split]
    words = [line.split() for line in read_lines(path)]
    if any(len(row) != 6 + len(names) for row in words):
        what = f"an image, a class, a box and {len(names)} attributes in each line"
        raise damaged(path, f"must hold {what}")
    numbers = to_numbers(path, [row[2:] for row in words], 4 + len(names))
    attributes = numbers[:, 4:].astype(np.uint8)
    if (attributes != numbers[:, 4:]).any() or attributes.max(initial=0) > 1:
        raise damaged(path, "must hold attributes of 0 or 1")
    kinds = np.array([row[1] for row in words])
    if split == "yahoo":
        target_names = sorted(set(kinds.tolist()))
        known = {}
    else:
        target_names = list(PASCAL_CLASSES)
        known = {"taxonomy": TAXONOMIES["flat"], "taxonomies": TAXONOMIES}
        unknown = sorted(set(kinds.tolist()) - set(target_names))
        if unknown:
            raise damaged(path, f"names the class {unknown[0]!r}, which PASCAL VOC does not have")
    if extra:
        columns = [np.isin(kinds, members) for members in _GROUPS.values()]
        columns += [kinds == kind for kind in PASCAL_CLASSES]
        attributes = np.column_stack([attributes, *columns]).astype(np.uint8)
        names = [*names, *_GROUPS, *PASCAL_CLASSES]
    return pack_attributes(
        attributes,
        names,
        target=np.searchsorted(target_names, kinds),
        target_names=target_names,
        boxes=numbers[:, :4],
        paths=[row[0] for row in words],
        DESCR=f"aPascal: {len(words)} objects of {path.name} with {len(names)} attributes.\n",
        **known,
        **({} if features is None else {"features": read_rows(Path(features), len(words))}),
    )
