"""Caltech-UCSD Birds 200 (2011): photographs of 200 species with boxes and voted attributes.

Two layouts are read; which one it is follows from the list of images:

=============  ====================================  =======================================
what           original release                      smaller copy
=============  ====================================  =======================================
images         images.txt                            images.csv: path, split, x, y, width,
classes        image_class_labels.txt, classes.txt   height; classes.txt
split          train_test_split.txt                  images.csv
boxes          bounding_boxes.txt                    images.csv
attributes     attributes.txt, attributes/           attributes.txt,
               class_attribute_labels_continuous.txt class_attributes_percent.csv
pictures       images/001.Black_footed_Albatross/…   the same
=============  ====================================  =======================================

Reference: C. Wah, S. Branson, P. Welinder, P. Perona, S. Belongie, "The Caltech-UCSD Birds-200-2011
dataset", 2011.
"""

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fieldguide._check import check_choice
from fieldguide.collection import Collection
from fieldguide.datasets._release import damaged, find_root, pick_images, read_lines, to_numbers
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "CUB-200-2011"
_ORIGINAL, _SMALLER = "images.txt", "images.csv"
_COLUMNS = ("path", "split", "x", "y", "width", "height")

_DESCR = """CUB-200-2011: photographs of birds

{n} pictures of {n_classes} species, {part}.
Boxes: x0, y0, x1, y1 of the bird in pixels.
Attributes: {n_attributes} words, true of the species and not of the picture: the share of the
annotators' votes.
Taxonomy: the last word of a species' name, no more.
Order: that of {source}.
"""


class _Listing(NamedTuple):
    """The images as the release lists them."""

    paths: list[str]  # relative to images/
    target: np.ndarray  # (n,)
    is_train: np.ndarray  # (n,)
    corners_and_sides: np.ndarray  # (n, 4): x, y, width, height in pixels


def load_cub200(folder: str | os.PathLike[str], split: str | None = None) -> "Bunch":
    """List the photographs of CUB-200-2011 with what is known of them.

    Nothing is decoded.

    Parameters
    ----------
    folder : path
        The folder that holds ``images.txt`` (or ``images.csv``, for the smaller copy) and
        ``images``, or the one that holds it as ``CUB_200_2011``.
    split : {"train", "test"}, optional
        The images of the release's own split; all of them when missing.

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : Collection of the n pictures, in the order of the release; each is decoded
        when asked for.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str, the species as the release writes them, without number.

        ``boxes`` : float32 array of shape (n, 4), x0, y0, x1, y1 of the bird in pixels of the
        file, from the x, y, width and height of the release.

        ``taxonomy`` : dict from species to a tuple of one group, the last word of its name.

        ``attributes`` : float32 array of shape (n, n_attributes) in [0, 1], the share of the votes
        for the species of each picture; left out where the files are missing.

        ``class_attributes`` : float32 array of shape (n_species, n_attributes), the same by
        species; left out likewise.

        ``attribute_names`` : list of str, as the release writes them; left out likewise.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout, or a listed image is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_cub200
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "images/001.Sooty_Albatross").mkdir(parents=True)
    ...     Path(folder, "images/001.Sooty_Albatross/a.jpg").touch()
    ...     for name, text in {
    ...         "classes.txt": "1 001.Sooty_Albatross",
    ...         "images.txt": "1 001.Sooty_Albatross/a.jpg",
    ...         "image_class_labels.txt": "1 1",
    ...         "train_test_split.txt": "1 1",
    ...         "bounding_boxes.txt": "1 60.0 27.0 325.0 304.0",
    ...     }.items():
    ...         _ = Path(folder, name).write_text(text)
    ...     birds = load_cub200(folder, split="train")
    >>> birds.taxonomy, birds.boxes.tolist()
    ({'Sooty_Albatross': ('albatross',)}, [[60.0, 27.0, 385.0, 331.0]])
    """
    check_choice("load_cub200", "split", split, (None, "train", "test"))
    from sklearn.utils import Bunch

    root = find_root(_RELEASE, folder, "CUB_200_2011", (_ORIGINAL, _SMALLER))
    is_original = (root / _ORIGINAL).is_file()
    classes = _read_by_id(root / "classes.txt")
    listing = (_read_original if is_original else _read_smaller)(root, classes)
    chosen = _choose(listing, split)
    names = [name.partition(".")[2] or name for name in classes.values()]
    source = _ORIGINAL if is_original else _SMALLER
    images = pick_images(
        Collection.from_folder(root / "images", kinds="none"),
        _RELEASE,
        source,
        chosen.paths,
        [names[k] for k in chosen.target],
    )
    boxes = chosen.corners_and_sides.copy()
    boxes[:, 2:] += boxes[:, :2]
    extra = _read_attributes(root, len(names), is_original)
    if extra:
        extra["attributes"] = extra["class_attributes"][chosen.target]
    return Bunch(
        images=images,
        target=chosen.target,
        target_names=names,
        boxes=boxes,
        taxonomy={name: (name.rpartition("_")[2].lower(),) for name in names},
        DESCR=_DESCR.format(
            n=len(images),
            n_classes=len(names),
            part="all" if split is None else f"those for {split}ing",
            n_attributes=len(extra.get("attribute_names", ())),
            source=source,
        ),
        **extra,
    )


def _choose(listing: _Listing, split: str | None) -> _Listing:
    if split is None:
        return listing
    rows = np.flatnonzero(listing.is_train == (split == "train"))
    if not len(rows):
        raise CollectionError(f"{_RELEASE} lists no image for {split!r}; leave split out for all.")
    paths = [listing.paths[i] for i in rows]
    return _Listing(paths, *(column[rows] for column in listing[1:]))


def _read_original(root: Path, classes: dict[str, str]) -> _Listing:
    path_of = _read_by_id(root / _ORIGINAL)

    def column(name: str) -> list[str]:
        by_id = _read_by_id(root / name)
        if by_id.keys() != path_of.keys():
            raise CollectionError(
                f"{name} and {_ORIGINAL} in {str(root)!r} number different images; "
                "unpack the release again."
            )
        return [by_id[image] for image in path_of]

    number = {name: k for k, name in enumerate(classes)}
    target = _to_target(root / "image_class_labels.txt", column("image_class_labels.txt"), number)
    flags = [[flag] for flag in column("train_test_split.txt")]
    sides = [words.split() for words in column("bounding_boxes.txt")]
    return _Listing(
        list(path_of.values()),
        target,
        to_numbers(root / "train_test_split.txt", flags, 1)[:, 0] > 0,
        to_numbers(root / "bounding_boxes.txt", sides, 4),
    )


def _read_smaller(root: Path, classes: dict[str, str]) -> _Listing:
    table = list(csv.reader(read_lines(root / _SMALLER)))
    header, rows = tuple(table[0]) if table else (), table[1:]
    is_whole = all(len(row) == len(_COLUMNS) and row[1] in ("train", "test") for row in rows)
    if header != _COLUMNS or not rows or not is_whole:
        raise CollectionError(
            f"{str(root / _SMALLER)!r} must have the columns {', '.join(_COLUMNS)} and a row for "
            "each image, with split train or test; copy it again."
        )
    paths = [row[0] for row in rows]
    number = {name: k for k, name in enumerate(classes.values())}
    target = _to_target(root / _SMALLER, [path.partition("/")[0] for path in paths], number)
    is_train = np.array([row[1] == "train" for row in rows])
    return _Listing(
        paths, target, is_train, to_numbers(root / _SMALLER, [row[2:] for row in rows], 4)
    )


def _read_by_id(path: Path) -> dict[str, str]:
    """Return the lines of a list as number: rest, in their order."""
    rows = [line.split(maxsplit=1) for line in read_lines(path)]
    by_id = {row[0]: row[1] for row in rows if len(row) == 2}
    if not rows or len(by_id) != len(rows):
        raise damaged(path, "must hold lines of a number of their own and a value")
    return by_id


def _to_target(path: Path, labels: Sequence[str], number: dict[str, int]) -> np.ndarray:
    unknown = next((label for label in labels if label not in number), None)
    if unknown is not None:
        raise damaged(path, f"names the class {unknown!r}, which classes.txt does not")
    return np.array([number[label] for label in labels])


def _read_attributes(root: Path, n_classes: int, is_original: bool) -> dict[str, Any]:
    """Return ``attribute_names`` and ``class_attributes``, or nothing where there are none."""
    homes = [root]
    table = root / "class_attributes_percent.csv"
    if is_original:  # its archive unpacks attributes.txt beside the folder of all the rest
        homes = [root / "attributes", root, root.absolute().parent]
        table = root / "attributes" / "class_attribute_labels_continuous.txt"
    lists = [home / "attributes.txt" for home in homes if (home / "attributes.txt").is_file()]
    if not lists or not table.is_file():
        return {}
    names = [re.sub(r"^\d+\s+", "", line) for line in read_lines(lists[0])]
    rows = [line.replace(",", " ").split() for line in read_lines(table)]
    percent = to_numbers(table, rows, len(names))
    if len(percent) != n_classes or percent.min() < 0 or percent.max() > 100:
        raise damaged(table, f"must hold a row of per cents for each of {n_classes} classes")
    return {"attribute_names": names, "class_attributes": percent / np.float32(100)}
