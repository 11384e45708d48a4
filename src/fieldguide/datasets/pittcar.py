"""PittCar: 400 photographs of streets, 200 of them with one car, whose box is known.

The pictures were made for the reference below and used in the study that region selection comes
from. We know of no public release with a layout of its own; this one is expected:

==============  ==============================================================
what            where
==============  ==============================================================
with a car      positive/*.jpg (or .png)
without         negative/*.jpg
boxes           boxes.txt, beside these folders: file, x, y, width, height
==============  ==============================================================

A row of the list names a picture of the folder ``positive``, without the folder, and its box in
pixels; commas, tabs or blanks separate. A picture without a row has no box.

Reference: M. Nguyen, L. Torresani, F. de la Torre, C. Rother, "Weakly supervised discriminative
localization and classification: a joint learning process", ICCV (2009).
"""

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.collection import Collection
from fieldguide.datasets._release import check_folder, read_lines, to_numbers
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "PittCar"
_SIDES = ("negative", "positive")

_DESCR = """PittCar: photographs of streets with and without a car

{n} pictures, {n_cars} of them with a car.
Boxes: x0, y0, x1, y1 in pixels, of the car; none in the others.
Order: the pictures with a car first, by name.
"""


def load_pittcar(folder: str | os.PathLike) -> "Bunch":
    """List the pictures of PittCar with the boxes of the cars.

    Nothing is decoded.

    Parameters
    ----------
    folder : path
        The folder that holds ``positive``, ``negative`` and ``boxes.txt``; see the module's text.

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : Collection of the n pictures; each is decoded when asked for.

        ``target`` : int array of shape (n,): 1 with a car, 0 without.

        ``target_names`` : list of str: negative, positive.

        ``boxes`` : list of n float32 arrays of shape (k, 4), x0, y0, x1, y1 in pixels.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_pittcar
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("positive/1.jpg", "negative/1.jpg"):
    ...         Path(folder, name).parent.mkdir()
    ...         Path(folder, name).touch()
    ...     _ = Path(folder, "boxes.txt").write_text("1.jpg, 10, 20, 30, 40")
    ...     cars = load_pittcar(folder)
    >>> cars.target.tolist(), [boxes.tolist() for boxes in cars.boxes]
    ([1, 0], [[[10.0, 20.0, 40.0, 60.0]], []])
    """
    from sklearn.utils import Bunch

    root = check_folder(_RELEASE, folder)
    listed = Collection.from_folder(root, kinds="none")
    sides = {
        side: [item for item in listed.items if item.path.startswith(f"{side}/")] for side in _SIDES
    }
    empty = [side for side in _SIDES if not sides[side]]
    if empty:
        raise CollectionError(
            f"{str(root)!r} is not {_RELEASE}: it holds no picture in a folder {empty[0]!r}; give "
            "the folder that holds 'positive', 'negative' and boxes.txt."
        )
    path = root / "boxes.txt"
    rows = [[word for word in re.split(r"[,\s]+", line) if word] for line in read_lines(path)]
    table = to_numbers(path, [row[1:] for row in rows], 4)
    names = [f"positive/{row[0].removeprefix('positive/')}" for row in rows]
    missing = sorted(set(names) - {item.path for item in sides["positive"]})
    if missing or (len(table) and table[:, 2:].min() <= 0):
        what = f"names {missing[0]!r}, which is not there" if missing else "holds an empty box"
        raise CollectionError(
            f"{str(path)!r} {what}; each row is the file of a picture in 'positive', x, y, width "
            "and height."
        )
    boxes = np.concatenate([table[:, :2], table[:, :2] + table[:, 2:]], axis=1)
    items = tuple(replace(item, kind=side) for side in reversed(_SIDES) for item in sides[side])
    return Bunch(
        images=replace(listed, name=_RELEASE, items=items),
        target=np.array([int(item.kind == "positive") for item in items]),
        target_names=list(_SIDES),
        boxes=[boxes[[name == item.path for name in names]] for item in items],
        DESCR=_DESCR.format(n=len(items), n_cars=len(sides["positive"])),
    )
