"""SUN09: photographs of indoor and outdoor scenes, with the objects that are in them.

==========  ===================================================================
what        file
==========  ===================================================================
annotation  dataset/sun09_groundTruth.mat: structs Dtraining, Dtest, one
            ``annotation`` each with folder, filename and objects of a name
objects     dataset/sun09_objectCategories.mat: ``names``
scores      dataset/sun09_detectorOutputs.mat: structs DdetectorTraining,
            DdetectorTest, whose objects have a name and a ``confidence``
pictures    Images/static_sun09_database/…, a download of its own
kinds       indoor_outdoor.txt: a picture and ``indoor`` or ``outdoor`` in each
            line; no part of the release, a list of your own
==========  ===================================================================

The .mat files are those of the context benchmark (HContext; ``datasetMat.tar``), which its authors
offer with the paper below: 4,367 training and 4,317 test images, and the names of the 111 objects
whose presence is an attribute. Other objects are left out.

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
from fieldguide.datasets._release import (
    damaged,
    find_root,
    pack_attributes,
    pick_images,
    read_lines,
)
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "SUN09"
_TRUTH, _OBJECTS, _PICTURES = "sun09_groundTruth.mat", "sun09_objectCategories.mat", "Images"
_SCORES, _KINDS = "sun09_detectorOutputs.mat", "indoor_outdoor.txt"
_SPLITS = {"train": "Dtraining", "test": "Dtest"}
_SCORED = {"train": "DdetectorTraining", "test": "DdetectorTest"}
_TARGETS = ["indoor", "outdoor"]

_DESCR = """SUN09: photographs of scenes

{n} scenes, those for {split}ing, with {n_attributes} kinds of objects.
Attributes: whether at least one object of the name was outlined in the picture.
Detector scores: {scores}. Indoor or outdoor: {kinds}.
Pictures: {pictures}.
Order: that of {source}.
"""


def load_sun09(folder: str | os.PathLike[str], split: str = "train") -> "Bunch":
    """List the scenes of SUN09 with the objects in each.

    Nothing is decoded. Scores, kinds and pictures are optional: the annotation alone is enough for
    a tree.

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

        ``scores`` : float32 array of shape (n, n_attributes), the largest confidence of a detected
        object of the name, as the release has it and not a probability; NaN where none was
        detected. Left out where there is no ``sun09_detectorOutputs.mat``.

        ``target`` : int array of shape (n,), index into ``target_names``, which are indoor and
        outdoor. Both are left out where there is no ``indoor_outdoor.txt``.

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
    fields: dict[str, Any] = {}
    if (root / _SCORES).is_file():
        fields["scores"] = _read_scores(root / _SCORES, _SCORED[split], names, len(paths))
    for home in dict.fromkeys((root, Path(folder))):
        if (home / _KINDS).is_file():
            fields |= {"target": _read_kinds(home / _KINDS, paths), "target_names": _TARGETS}
            break
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
            scores="one for each object" if "scores" in fields else "not there",
            kinds="known" if "target" in fields else "not there",
            pictures="not there" if images is None else "one for each scene",
            source=_TRUTH,
        ),
        **fields,
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
        raise damaged(path, f"holds no {name}") from None
    except Exception as error:  # what a damaged file raises depends on where the damage is
        raise damaged(path, f"cannot be read ({error})") from None


def _read_names(path: Path) -> list[str]:
    """Return the names of the objects, known to be different."""
    names = [str(name).strip() for name in _as_list(_read_variable(path, "names"))]
    if not names or len(set(names)) != len(names):
        raise damaged(path, "must hold the names of different objects")
    return names


def _read_scores(path: Path, variable: str, names: list[str], n_scenes: int) -> np.ndarray:
    """Return the largest confidence of each object in each scene; NaN where it was not detected."""
    number = {name: j for j, name in enumerate(names)}
    scenes = _as_list(_read_variable(path, variable))
    scores = np.full((n_scenes, len(names)), np.nan, dtype=np.float32)
    try:
        detected = [_as_list(scene["annotation"].get("object", [])) for scene in scenes]
        found = [
            (i, number[str(o["name"])], float(o["confidence"]))
            for i, objects in enumerate(detected)
            for o in objects
            if str(o["name"]) in number
        ]
        for i, j, confidence in found:
            scores[i, j] = np.fmax(scores[i, j], confidence)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        found = None
    if found is None or len(scenes) != n_scenes or not np.isfinite([c for *_, c in found]).all():
        raise CollectionError(
            f"{variable} in {str(path)!r} must hold an annotation for each of the {n_scenes} "
            "scenes, whose objects have a name and a confidence; unpack the release again."
        )
    return scores


def _read_kinds(path: Path, paths: list[str]) -> np.ndarray:
    """Return whether each scene is indoor (0) or outdoor (1)."""
    words = [line.rsplit(maxsplit=1) for line in read_lines(path)]
    wrong = next((pair for pair in words if len(pair) != 2 or pair[1] not in _TARGETS), None)
    if wrong is not None:
        raise CollectionError(
            f"{str(path)!r} must hold a picture and 'indoor' or 'outdoor' in each line; got "
            f"{' '.join(wrong)!r}."
        )
    known = {name: _TARGETS.index(kind) for name, kind in words}
    missing = [name for name in paths if name not in known]
    if missing:
        raise CollectionError(
            f"{str(path)!r} names {len(paths) - len(missing)} of the {len(paths)} scenes; add the "
            f"others, the first of which is {missing[0]!r}."
        )
    return np.array([known[name] for name in paths])


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
