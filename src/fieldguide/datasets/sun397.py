"""SUN397: photographs of 397 scenes in nested folders, with ten partitions for comparison.

``ClassName.txt`` lists the class folders (``/a/abbey``, ``/c/church/indoor``).
``Partitions/Training_01.txt`` and ``Testing_01.txt``, up to 10, list 50 images of each class.

Reference: J. Xiao, J. Hays, K. Ehinger, A. Oliva, A. Torralba, "SUN database: large-scale scene
recognition from abbey to zoo", 2010.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fieldguide._check import check_choice, check_number
from fieldguide.collection import Collection
from fieldguide.datasets._release import damaged, find_root, pick_images, read_lines
from fieldguide.errors import CollectionError, InvalidArgument

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_LIST = {"train": "Training_{:02d}.txt", "test": "Testing_{:02d}.txt"}
_ENDINGS = (".jpg", ".jpeg", ".png")

_DESCR = """SUN397: photographs of scenes

{n} pictures of {n_classes} classes: {which}.
Order: {order}.
"""


def load_sun397(
    folder: str | os.PathLike[str], split: int | None = None, part: str = "train"
) -> "Bunch":
    """List the photographs of SUN397, all of them or one part of a partition.

    Nothing is decoded.

    Parameters
    ----------
    folder : path
        The folder that holds ``ClassName.txt`` and the folders ``a`` to ``z``, or the one that
        holds it as ``SUN397``. Partitions lie there or in ``Partitions``.
    split : int from 1 to 10, optional
        The partition; all images when missing.
    part : {"train", "test"}, default "train"
        Which images of the partition; only with ``split``.

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : Collection of the n pictures, in the order of the partition, or class by class
        and by name; each is decoded when asked for.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str, the classes in the order of ``ClassName.txt``, without the
        folder of the first letter: ``"abbey"``, ``"church/indoor"``.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout, or an image of the partition is
        missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_sun397
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "c/church/indoor").mkdir(parents=True)
    ...     Path(folder, "c/church/indoor/sun_a.jpg").touch()
    ...     _ = Path(folder, "ClassName.txt").write_text("/c/church/indoor")
    ...     scenes = load_sun397(folder)
    >>> scenes.target_names, scenes.target.tolist()
    (['church/indoor'], [0])
    """
    check_choice("load_sun397", "part", part, tuple(_LIST))
    if split is not None:
        check_number("load_sun397", "split", split, 1, 10, integer=True)
    elif part != "train":
        raise InvalidArgument(
            f"part of load_sun397 is {part!r} but split is None; give a split from 1 to 10."
        )
    from sklearn.utils import Bunch

    root = find_root("SUN397", folder, "SUN397", ["ClassName.txt"])
    classes = [line.strip("/") for line in read_lines(root / "ClassName.txt")]
    number = {name: k for k, name in enumerate(classes)}
    if split is None:
        source, paths = "ClassName.txt", None
    else:
        source = _LIST[part].format(split)
        paths = _read_partition(root, Path(folder), source, number)
    listed = Collection.from_folder(root, kinds="none")
    if paths is None:
        paths = _list_all(listed, number)
    target = np.array([number[_class_of(path)] for path in paths])
    names = [name.partition("/")[2] or name for name in classes]
    return Bunch(
        images=pick_images(listed, "SUN397", source, paths, [names[k] for k in target]),
        target=target,
        target_names=names,
        DESCR=_DESCR.format(
            n=len(paths),
            n_classes=len(names),
            which="all" if split is None else f"partition {split}, {part}",
            order="class by class, by name" if split is None else f"that of {source}",
        ),
    )


def _class_of(path: str) -> str:
    return path.rpartition("/")[0]


def _read_partition(root: Path, given: Path, name: str, number: dict[str, int]) -> list[str]:
    """Return the paths of a partition, relative to ``root``."""
    homes = (root / "Partitions", root, given / "Partitions", given)
    for home in homes:
        if (home / name).is_file():
            break
    else:
        raise CollectionError(
            f"There is no {name} in {str(root)!r} nor in its folder 'Partitions'; unpack the "
            "partitions there, or leave split out for all images."
        )
    paths = [line.lstrip("/") for line in read_lines(home / name)]
    if not paths:
        raise CollectionError(f"{str(home / name)!r} is empty; unpack the partitions again.")
    for path in paths:
        if _class_of(path) not in number:
            raise damaged(home / name, f"names {path!r}, of no class in ClassName.txt")
    return paths


def _list_all(listed: Collection, number: dict[str, int]) -> list[str]:
    """Return the paths of all images, class by class."""
    paths = [
        item.path
        for item in listed.items
        if _class_of(item.path) in number and item.path.lower().endswith(_ENDINGS)
    ]
    if not paths:
        what = "holds no image in the folders that ClassName.txt names, like 'a/abbey'"
        raise damaged(listed.folder, what)
    return sorted(paths, key=lambda path: (number[_class_of(path)], path))
