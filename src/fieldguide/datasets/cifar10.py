"""CIFAR-10: photographs of 32 by 32 pixels in ten classes.

Two layouts are read; which one it is follows from the files:

=======  ==========================================  =================
what     binary release                              folders of images
=======  ==========================================  =================
train    data_batch_1.bin to data_batch_5.bin        train/airplane/…
test     test_batch.bin                              test/airplane/…
classes  batches.meta.txt                            the folders
=======  ==========================================  =================

A record of a binary file is one byte for the class and 3072 for the picture: red, green and blue,
each row by row. The "python version" of the release consists of pickles, which can run any code
when they are opened; it is not read.

Reference: A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide._check import check_choice
from fieldguide.collection import Collection
from fieldguide.datasets._release import check_folder, number_kinds, read_lines
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_INNER = "cifar-10-batches-bin"
_META = "batches.meta.txt"
_BATCHES = {
    "train": tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
    "test": ("test_batch.bin",),
}
_SIDE = 32
_RECORD = 1 + 3 * _SIDE * _SIDE

_DESCR = """CIFAR-10: small photographs

{n} pictures of {n_classes} classes, those for {split}ing.
Order: {order}.
"""


def load_cifar10(folder: str | os.PathLike[str], split: str = "train") -> "Bunch":
    """Read the pictures of CIFAR-10.

    Parameters
    ----------
    folder : path
        The folder of the binary release (that holds ``data_batch_1.bin``, or holds it in
        ``cifar-10-batches-bin``), or one that holds ``train`` and ``test`` with a folder of images
        for each class.
    split : {"train", "test"}

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : uint8 array of shape (n, 32, 32, 3) from the binary release, in its order;
        from folders a Collection, class by class, each decoded when asked for.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout, or a file of it is damaged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_cifar10
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "batches.meta.txt").write_text("airplane\\nautomobile\\n")
    ...     _ = Path(folder, "test_batch.bin").write_bytes(bytes([1]) + bytes(3072))
    ...     cifar = load_cifar10(folder, split="test")
    >>> cifar.images.shape, cifar.target_names[cifar.target[0]]
    ((1, 32, 32, 3), 'automobile')
    """
    check_choice("load_cifar10", "split", split, tuple(_BATCHES))
    from sklearn.utils import Bunch

    given = check_folder("CIFAR-10", folder)
    images: np.ndarray | Collection
    for root in (given / _INNER, given):
        if (root / _META).is_file() or (root / _BATCHES[split][0]).is_file():
            images, target, names = _read_binary(root, split)
            order = "that of the release"
            break
    else:
        images, target, names = _list_folders(given, split)
        order = "class by class, by the name of the file"
    return Bunch(
        images=images,
        target=target,
        target_names=names,
        DESCR=_DESCR.format(n=len(target), n_classes=len(names), split=split, order=order),
    )


def _read_binary(root: Path, split: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return pictures, classes and the names of the classes of binary batches."""
    names = read_lines(root / _META)
    batches = [_read_batch(root / name, len(names)) for name in _BATCHES[split]]
    records = np.concatenate(batches)
    planes = records[:, 1:].reshape(-1, 3, _SIDE, _SIDE)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    return images, records[:, 0].astype(np.int64), names


def _read_batch(path: Path, n_classes: int) -> np.ndarray:
    """Return the records of one file, (n, 3073), known to have classes below ``n_classes``."""
    try:
        values = np.fromfile(path, dtype=np.uint8)
    except FileNotFoundError:
        raise CollectionError(
            f"There is no {path.name} in {str(path.parent)!r}; unpack the binary release again."
        ) from None
    except OSError as error:
        raise CollectionError(
            f"{str(path)!r} cannot be read ({error}); unpack the binary release again."
        ) from None
    if not len(values) or len(values) % _RECORD or values[::_RECORD].max() >= n_classes:
        raise CollectionError(
            f"{str(path)!r} must hold records of {_RECORD} bytes that begin with a class from 0 to "
            f"{n_classes - 1}; unpack the binary release again."
        )
    return values.reshape(-1, _RECORD)


def _list_folders(root: Path, split: str) -> tuple[Collection, np.ndarray, list[str]]:
    """Return pictures, classes and the names of the classes of folders of images."""
    if not (root / split).is_dir():
        hint = ""
        if any((place / "data_batch_1").is_file() for place in _python_homes(root)):
            hint = " (it is the python version, whose pickles are not safe to open)"
        raise CollectionError(
            f"{str(root)!r} is not CIFAR-10{hint}: it holds neither {_BATCHES[split][0]} nor a "
            f"folder {split!r}; give the folder of the unpacked binary release."
        )
    listed = Collection.from_folder(root / split, kinds="top")
    chosen: list[Any] = [item for item in listed.items if item.kind is not None]
    if not chosen:
        raise CollectionError(
            f"{str(root / split)!r} holds no image in a folder of its class, like "
            f"'{split}/airplane/0001.png'; copy it again."
        )
    chosen.sort(key=lambda item: (item.kind, item.path))
    names = sorted({item.kind for item in chosen})
    images = replace(listed, name="CIFAR-10", items=tuple(chosen))
    return images, number_kinds(chosen, names), names


def _python_homes(root: Path) -> tuple[Path, ...]:
    return root, root / "cifar-10-batches-py"
