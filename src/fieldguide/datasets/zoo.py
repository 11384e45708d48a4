"""The zoo of the UCI repository: 101 animals, 15 yes-or-no attributes, a number of legs, a type.

File ``zoo.data``, comma-separated, with or without a line of names; R. Forsyth, 1990.
"""

import os
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.datasets._release import find_root, pack_attributes, read_lines, to_numbers
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_NAMES = (
    *("hair", "feathers", "eggs", "milk", "airborne", "aquatic", "predator", "toothed"),
    *("backbone", "breathes", "venomous", "fins", "legs", "tail", "domestic", "catsize"),
)
_TYPES = ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "other invertebrate")
_LEGS = (0, 2, 4, 5, 6, 8)


def load_zoo(folder: str | os.PathLike[str]) -> "Bunch":
    """Load the zoo; the number of legs becomes one yes-or-no attribute for each number.

    Parameters
    ----------
    folder : path
        The folder that holds ``zoo.data``.

    Returns
    -------
    sklearn.utils.Bunch
        ``attributes`` : uint8 array of shape (n, 21); also ``data``.

        ``attribute_names`` : list of str.

        ``target`` : int array of shape (n,), index into ``target_names``, the seven types.

        ``names`` : list of str, the animals.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = "crow,0,1,1,0,1,0,1,0,1,1,0,0,2,1,0,0,2"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = Path(folder, "zoo.data").write_text(row)
    ...     zoo = load_zoo(folder)
    >>> zoo.names, [zoo.target_names[k] for k in zoo.target], zoo.attributes.shape
    (['crow'], ['bird'], (1, 21))
    """
    root = find_root("the UCI zoo", folder, "zoo", ["zoo.data"])
    path = root / "zoo.data"
    rows = [line.split(",") for line in read_lines(path)]
    if rows and rows[0][1:2] == [_NAMES[0]]:
        rows = rows[1:]
    table = to_numbers(path, [row[1:] for row in rows], len(_NAMES) + 1)
    legs = table[:, _NAMES.index("legs")]
    others = np.delete(table[:, :-1], _NAMES.index("legs"), axis=1)
    kinds = table[:, -1]
    is_good = np.isin(others, (0, 1)).all() and np.isin(legs, _LEGS).all()
    if not is_good or not np.isin(kinds, np.arange(1, 8)).all():
        raise CollectionError(
            f"{str(path)!r} must hold attributes of 0 or 1, legs of {_LEGS} and types of 1 to 7; "
            "fetch the file again."
        )
    leg_names = ["no legs", *(f"{n} legs" for n in _LEGS[1:])]
    attributes = np.column_stack([others, *(legs == n for n in _LEGS)]).astype(np.uint8)
    return pack_attributes(
        attributes,
        [*(name for name in _NAMES if name != "legs"), *leg_names],
        target=kinds.astype(np.int64) - 1,
        target_names=list(_TYPES),
        names=[row[0] for row in rows],
        DESCR=f"The UCI zoo: {len(rows)} animals of {len(_TYPES)} types.\n",
    )
