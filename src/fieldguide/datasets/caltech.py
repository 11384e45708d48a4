"""Caltech-101 and Caltech-256: photographs of objects in a folder per class.

===========  =====================================  =================
release      an image                               background
===========  =====================================  =================
Caltech-101  101_ObjectCategories/ant/image_0001    BACKGROUND_Google
Caltech-256  256_ObjectCategories/001.ak47/001_0001 257.clutter
===========  =====================================  =================

References: L. Fei-Fei, R. Fergus, P. Perona, "Learning generative visual models from few training
examples", 2004; G. Griffin, A. Holub, P. Perona, "Caltech-256 object category dataset", 2007.
"""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fieldguide._check import check_choice
from fieldguide.collection import Collection
from fieldguide.datasets._release import check_folder, damaged, keep_items, number_kinds
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASES = "Caltech-101 or Caltech-256"
_INNER = ("101_ObjectCategories", "256_ObjectCategories")
# Both releases hold files that are no images of theirs (tmp, RENAME2, 056.dog/greg/…).
_IMAGE = {
    "Caltech-101": re.compile(r"([^/]+)/image_\d{4}\.(?:jpg|jpeg|png)", re.IGNORECASE),
    "Caltech-256": re.compile(r"\d{3}\.([^/]+)/\d{3}_\d{4}\.(?:jpg|jpeg|png)", re.IGNORECASE),
}
_BACKGROUND = {"Caltech-101": "BACKGROUND_Google", "Caltech-256": "clutter"}

_DESCR = """{release}: photographs of objects

{n} pictures of {n_classes} classes, the background {background}.
Order: class by class, by the name of the file.
The release has no split: draw the same number of pictures of every class for training.
"""


def load_caltech(folder: str | os.PathLike[str], background: bool = False) -> "Bunch":
    """List the photographs of Caltech-101 or Caltech-256.

    Which of the two it is follows from the names of the files. Nothing is decoded.

    Parameters
    ----------
    folder : path
        The folder that holds the class folders, or the one that holds ``101_ObjectCategories`` or
        ``256_ObjectCategories``.
    background : bool, default False
        Whether to take the class of other things (``BACKGROUND_Google``, ``clutter``) too. It is
        the last class, so that the others keep their numbers.

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : Collection of the n pictures, class by class; each is decoded when asked for.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str, the classes as the release writes them, without number.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_caltech
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("ant", "bass", "BACKGROUND_Google"):
    ...         Path(folder, name).mkdir()
    ...         Path(folder, name, "image_0001.jpg").touch()
    ...     caltech = load_caltech(folder)
    >>> caltech.target_names, caltech.target.tolist()
    (['ant', 'bass'], [0, 1])
    """
    check_choice("load_caltech", "background", background, (False, True))
    from sklearn.utils import Bunch

    listed = Collection.from_folder(_find_classes(check_folder(_RELEASES, folder)), kinds="none")
    release, kind_of = _match_names(listed)
    last = _BACKGROUND[release]
    chosen = [
        replace(item, kind=kind_of[item.path])
        for item in listed.items
        if item.path in kind_of and (background or kind_of[item.path] != last)
    ]
    if not chosen:
        raise damaged(listed.folder, f"holds no class of {release} but the background")
    chosen.sort(key=lambda item: item.kind == last)
    others = [
        (item.path, f"not named as an image of {release}")
        for item in listed.items
        if item.path not in kind_of
    ]
    names = list(dict.fromkeys(str(item.kind) for item in chosen))
    return Bunch(
        images=keep_items(listed, release, chosen, others),
        target=number_kinds(chosen, names),
        target_names=names,
        DESCR=_DESCR.format(
            release=release,
            n=len(chosen),
            n_classes=len(names),
            background="included" if last in names else "left out",
        ),
    )


def _find_classes(given: Path) -> Path:
    """Return the folder of the class folders."""
    inner = [given / name for name in _INNER if (given / name).is_dir()]
    if len(inner) > 1:
        raise CollectionError(
            f"{str(given)!r} holds both {_INNER[0]} and {_INNER[1]}; give one of these two folders."
        )
    return inner[0] if inner else given


def _match_names(listed: Collection) -> tuple[str, dict[str, str]]:
    """Return which release it is, and the kind of each of its images by path."""
    for release, image in _IMAGE.items():
        matches = {item.path: image.fullmatch(item.path) for item in listed.items}
        kind_of = {path: match[1] for path, match in matches.items() if match}
        if kind_of:
            return release, kind_of
    raise CollectionError(
        f"{str(listed.folder)!r} is not {_RELEASES}: it holds neither files like "
        "'ant/image_0001.jpg' nor like '001.ak47/001_0001.jpg'; "
        "give the folder that holds the class folders."
    )
