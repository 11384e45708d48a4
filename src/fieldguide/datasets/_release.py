"""What the loaders of released data sets share: find the files, read the lists, pick the images."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def check_folder(release: str, folder: str | os.PathLike[str]) -> Path:
    """Return ``folder`` as a path, or say that it is none."""
    root = Path(folder)
    if not root.is_dir():
        what = f"{str(root)!r} is a file" if root.exists() else f"There is no folder {str(root)!r}"
        raise CollectionError(f"{what}; give the folder of the unpacked {release}.")
    return root


def damaged(path: Path | None, what: str) -> CollectionError:
    """Return the error of a file or folder that is not as the release has it."""
    return CollectionError(f"{str(path)!r} {what}; unpack the release again.")


def find_root(
    release: str, folder: str | os.PathLike[str], inner: str, marks: Sequence[str]
) -> Path:
    """Return the folder that holds one of ``marks``: ``folder``, or ``inner`` in it."""
    given = check_folder(release, folder)
    for root in (given / inner, given):  # a list may have been unpacked beside the inner folder
        if any((root / mark).is_file() for mark in marks):
            return root
    raise CollectionError(
        f"{str(given)!r} is not {release}: neither it nor a folder {inner!r} in it holds "
        f"{' or '.join(marks)}; give the folder of the unpacked release."
    )


def read_lines(path: Path) -> list[str]:
    """Return the lines of a list, without the empty ones."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CollectionError(
            f"There is no {path.name} in {str(path.parent)!r}; unpack the release again."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, f"cannot be read ({error})") from None
    return [line for line in map(str.strip, text.splitlines()) if line]


def to_numbers(path: Path, rows: Sequence[Sequence[str]], n_columns: int) -> np.ndarray:
    """Return the words of a table as float32 (n_rows, n_columns); ``path`` is for the error."""
    try:
        table = np.array(rows, dtype=np.float32).reshape(-1, n_columns)
        is_good = len(table) == len(rows) and bool(np.isfinite(table).all())
    except ValueError:
        is_good = False
    if not is_good:
        raise damaged(path, f"must hold {n_columns} numbers in each row")
    return table


def read_rows(path: Path, n_rows: int) -> np.ndarray:
    """Return the numbers of a NumPy or MATLAB file with ``n_rows`` rows, as float32."""
    if not path.is_file():
        raise CollectionError(f"There is no file {str(path)!r}; give a .npy or a .mat file.")
    try:
        if path.suffix == ".npy":
            arrays = [np.load(path, allow_pickle=False)]
        else:
            from scipy.io import loadmat

            arrays = [value for name, value in loadmat(path).items() if not name.startswith("__")]
    except Exception as error:  # what a damaged file raises depends on where the damage is
        raise CollectionError(
            f"{str(path)!r} cannot be read as a .npy or .mat file ({error})."
        ) from None
    is_table = [
        isinstance(a, np.ndarray) and a.ndim == 2 and a.dtype.kind in "biuf" and len(a) == n_rows
        for a in arrays
    ]
    if sum(is_table) != 1:
        raise CollectionError(
            f"{str(path)!r} must hold one table of numbers with {n_rows} rows, one for each object "
            f"of the list; it holds {sum(is_table)}."
        )
    table = np.asarray(arrays[is_table.index(True)], dtype=np.float32)
    if not np.isfinite(table).all():
        raise CollectionError(f"{str(path)!r} must hold finite numbers; it holds NaN or infinity.")
    return table


def pick_images(
    listed: Collection, name: str, source: str, paths: Sequence[str], kinds: Sequence[str]
) -> Collection:
    """Return the named images of a listed folder, in the order of ``paths``.

    A name without a file is an error: results on a part of a release would not be comparable.
    """
    items = {item.path: item for item in listed.items}
    missing = [path for path in paths if path not in items]
    if missing:
        why = dict(listed.skipped).get(missing[0], "there is no such file")
        raise CollectionError(
            f"{source} names {len(missing)} of {len(paths)} images that cannot be used in "
            f"{str(listed.folder)!r}, the first {missing[0]!r} ({why}); unpack the release again."
        )
    chosen = tuple(replace(items[path], kind=kind) for path, kind in zip(paths, kinds, strict=True))
    return replace(listed, name=name, items=chosen)


def keep_items(
    listed: Collection, name: str, items: Iterable[Any], others: Iterable[tuple[str, str]]
) -> Collection:
    """Return the collection of some items of a listed folder, the others listed as skipped."""
    return replace(listed, name=name, items=tuple(items), skipped=(*listed.skipped, *others))


def number_kinds(items: Iterable[Any], names: Sequence[str]) -> np.ndarray:
    """Return the place of the kind of each item among ``names``, (n,)."""
    number = {name: k for k, name in enumerate(names)}
    return np.array([number[str(item.kind)] for item in items])


def pack_attributes(attributes: np.ndarray, words: Sequence[str], **fields: Any) -> "Bunch":
    """Return a release whose rows are attributes: these are its data too."""
    from sklearn.utils import Bunch

    return Bunch(data=attributes, attributes=attributes, attribute_names=list(words), **fields)
