"""SUN09: photographs of indoor and outdoor scenes, with the objects that are in them.

==========  ===================================================================
what        file
==========  ===================================================================
annotation  dataset/sun09_groundTruth.mat: structs Dtraining, Dtest, one
            ``annotation`` each with folder, filename and objects of a name
objects     dataset/sun09_objectCategories.mat: ``names``
pictures    Images/static_sun09_database/…, a download of its own
==========  ===================================================================

The .mat files are those of the context benchmark: 4,367 training and 4,317 test images, and the
names of the objects whose presence is an attribute. Other objects are left out.

Reference: M. J. Choi, J. J. Lim, A. Torralba, A. Willsky, "Exploiting hierarchical context on a
large database of object categories", CVPR 2010.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide._check import check_choice
from fieldguide.collection import Collection
from fieldguide.datasets._release import find_root, pack_attributes, pick_images
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "SUN09"
_TRUTH, _OBJECTS, _PICTURES = "sun09_groundTruth.mat", "sun09_objectCategories.mat", "Images"
_SPLITS = {"train": "Dtraining", "test": "Dtest"}

_DESCR = """SUN09: photographs of scenes

{n} scenes, those for {split}ing, with {n_attributes} kinds of objects.
Attributes: whether at least one object of the name was outlined in the picture.
Pictures: {pictures}.
Order: that of {source}.
"""


def load_sun09(folder: str | os.PathLike[str], split: str = "train") -> "Bunch":
    """List the scenes of SUN09 with the objects in each.

    Nothing is decoded. The pictures are optional: the annotation alone is enough for a tree.

    Parameters
    ----------
    folder : path
        The folder that holds ``sun09_groundTruth.mat``, or holds it in ``dataset``; pictures are
        looked for in ``Images`` there.
    split : {"train", "test"}

    Returns
    -------
    sklearn.utils.Bunch
        ``attributes`` : uint8 array of shape (n, n_attributes), 1 where the object is present; also
        ``data``.

        ``attribute_names`` : list of str, the objects in the order of the release.

        ``paths`` : list of str, folder and name of each picture.

        ``images`` : Collection of the n pictures, each decoded when asked for; left out where the
        release has no folder ``Images``.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout, or a listed image is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from fieldguide.datasets import load_sun09
    >>> scene = {"folder": "a", "filename": "b.jpg", "object": [{"name": "sky"}, {"name": "sea"}]}
    >>> with TemporaryDirectory() as folder:
    ...     savemat(Path(folder, "sun09_groundTruth.mat"), {"Dtraining": [{"annotation": scene}]})
    ...     names = np.array(["car", "sky"], dtype=object)
    ...     savemat(Path(folder, "sun09_objectCategories.mat"), {"names": names})
    ...     scenes = load_sun09(folder)
    >>> scenes.attribute_names, scenes.attributes.tolist(), scenes.paths
    (['car', 'sky'], [[0, 1]], ['a/b.jpg'])
    """
    check_choice("load_sun09", "split", split, tuple(_SPLITS))
    root = find_root(_RELEASE, folder, "dataset", [_TRUTH])
    names = _read_names(root / _OBJECTS)
    scenes = _as_list(_read_variable(root / _TRUTH, _SPLITS[split]))
    try:
        annotations = [scene["annotation"] for scene in scenes]
        paths = [f"{each['folder']}/{each['filename']}".lstrip("/") for each in annotations]
        present = [
            {str(o["name"]) for o in _as_list(each.get("object", []))} for each in annotations
        ]
    except (AttributeError, IndexError, KeyError, TypeError):
        raise CollectionError(
            f"{_SPLITS[split]} in {str(root / _TRUTH)!r} must hold annotations with a folder, a "
            "filename and objects of a name; unpack the release again."
        ) from None
    attributes = np.array([[name in seen for name in names] for seen in present], dtype=np.uint8)
    images = _list_pictures((root, Path(folder)), paths)
    return pack_attributes(
        attributes,
        names,
        paths=paths,
        DESCR=_DESCR.format(
            n=len(paths),
            split=split,
            n_attributes=len(names),
            pictures="not there" if images is None else "one for each scene",
            source=_TRUTH,
        ),
        **({} if images is None else {"images": images}),
    )


def _read_variable(path: Path, name: str) -> Any:
    """Return one variable of a .mat file, structs as dicts."""
    from scipy.io import loadmat

    if not path.is_file():
        raise CollectionError(
            f"There is no {path.name} in {str(path.parent)!r}; unpack the release again."
        )
    try:
        return loadmat(path, variable_names=[name], simplify_cells=True)[name]
    except KeyError:
        raise CollectionError(f"{str(path)!r} holds no {name}; unpack the release again.") from None
    except Exception as error:  # what a damaged file raises depends on where the damage is
        raise CollectionError(
            f"{str(path)!r} cannot be read ({error}); unpack the release again."
        ) from None


def _read_names(path: Path) -> list[str]:
    """Return the names of the objects, known to be different."""
    names = [str(name).strip() for name in _as_list(_read_variable(path, "names"))]
    if not names or len(set(names)) != len(names):
        raise CollectionError(
            f"{str(path)!r} must hold the names of different objects; unpack the release again."
        )
    return names


def _as_list(value: Any) -> list[Any]:
    """Return what MATLAB stores as an array; a single element is stored without one."""
    if isinstance(value, np.ndarray):
        return list(np.atleast_1d(value))
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _list_pictures(homes: tuple[Path, ...], paths: list[str]) -> Collection | None:
    """Return the pictures of the scenes, or None where the release has none."""
    for home in homes:
        if (home / _PICTURES).is_dir():
            listed = Collection.from_folder(home / _PICTURES, kinds="none")
            found = pick_images(listed, _RELEASE, _TRUTH, paths, [""] * len(paths))
            return replace(found, items=tuple(replace(item, kind=None) for item in found.items))
    return None
