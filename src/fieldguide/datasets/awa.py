"""Animals with Attributes: 50 kinds of animal and 85 predicates that are true of them or not.

Files ``classes.txt`` and ``predicates.txt`` (number and name) and ``predicate-matrix-binary.txt``.

Reference: C. Lampert, H. Nickisch, S. Harmeling, "Learning to detect unseen object classes by
between-class attribute transfer", CVPR 2009.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.datasets._release import damaged, find_root, pack_attributes, read_lines, to_numbers

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_TABLE = "predicate-matrix-binary.txt"


def load_awa(folder: str | os.PathLike[str]) -> "Bunch":
    """Load the table of Animals with Attributes: one row for each kind of animal.

    Parameters
    ----------
    folder : path
        The folder that holds ``predicate-matrix-binary.txt``, or the one that holds it as
        ``Animals_with_Attributes2``.

    Returns
    -------
    sklearn.utils.Bunch
        ``attributes`` : uint8 array of shape (n_kinds, n_attributes); also ``data``.

        ``attribute_names``, ``target_names`` : list of str.

        ``target`` : int array, 0 to n_kinds - 1.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> files = {"classes": "1 bat\\n2 ox", "predicates": "1 flys\\n2 big"}
    >>> files["predicate-matrix-binary"] = "1 0\\n0 1"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = [Path(folder, f"{name}.txt").write_text(text) for name, text in files.items()]
    ...     table = load_awa(folder)
    >>> table.target_names, table.attribute_names, table.attributes.tolist()
    (['bat', 'ox'], ['flys', 'big'], [[1, 0], [0, 1]])
    """
    root = find_root("Animals with Attributes", folder, "Animals_with_Attributes2", [_TABLE])
    kinds = _read_names(root / "classes.txt")
    names = _read_names(root / "predicates.txt")
    path = root / _TABLE
    table = to_numbers(path, [line.split() for line in read_lines(path)], len(names))
    if len(table) != len(kinds) or not np.isin(table, (0, 1)).all():
        raise damaged(path, f"must hold a row of 0 and 1 for each of {len(kinds)} classes")
    attributes = table.astype(np.uint8)
    return pack_attributes(
        attributes,
        names,
        target=np.arange(len(kinds)),
        target_names=kinds,
        DESCR=f"Animals with Attributes: {len(kinds)} kinds, {len(names)} predicates.\n",
    )


def _read_names(path: Path) -> list[str]:
    names = [line.split(maxsplit=1)[-1].replace("+", " ") for line in read_lines(path)]
    if len(set(names)) != len(names):
        raise damaged(path, "must hold a number and a name of its own in each line")
    return names
