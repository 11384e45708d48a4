"""YouTube-Objects: frames of videos of ten classes of objects, cut into shots.

A frame of the release lies in ``aeroplane/data/0001/shots/001/frame0001.jpg``: class, video, shot.
Simpler trees, ``aeroplane/001/frame0001.jpg``, are read as well; the shot is then the folder of
the frame. The release labels videos, not frames: some frames do not show the object.

Reference: A. Prest, C. Leistner, J. Civera, C. Schmid, V. Ferrari, "Learning object class detectors
from weakly annotated video", CVPR 2012.
"""

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide._check import check_number
from fieldguide.collection import Collection
from fieldguide.datasets._release import check_folder, keep_items, number_kinds
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "YouTube-Objects"
_FRAME = re.compile(
    r"(?P<kind>[^/]+)/(?:data/(?P<video>[^/]+)/shots/)?(?P<shot>[^/]+)/[^/]+\.(?:jpg|jpeg|png)",
    re.IGNORECASE,
)

_DESCR = """YouTube-Objects: frames of videos

{n} frames of {n_shots} shots in {n_classes} classes, {which} of each shot.
Labels are those of the videos: some frames do not show the object.
Order: class by class, shot by shot, by the name of the file.
"""


def load_youtube_objects(folder: str | os.PathLike[str], every: int = 1) -> "Bunch":
    """List the frames of YouTube-Objects with their classes and shots.

    Nothing is decoded.

    Parameters
    ----------
    folder : path
        The folder that holds the class folders.
    every : int
        Take the first frame of each shot and then every so many; neighbours are much alike.

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : Collection of the n frames, class by class and shot by shot; each is decoded
        when asked for.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str, the classes, by name.

        ``groups`` : int array of shape (n,), the shot of each frame, index into ``group_names``:
        frames of one shot belong to the same side of a split.

        ``group_names`` : list of str, as ``"aeroplane/0001/001"``: class, video and shot.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, or it has another layout.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_youtube_objects
    >>> with TemporaryDirectory() as folder:
    ...     for shot in ("boat/data/0001/shots/001", "boat/data/0001/shots/002"):
    ...         Path(folder, shot).mkdir(parents=True)
    ...         Path(folder, shot, "frame0001.jpg").touch()
    ...     videos = load_youtube_objects(folder)
    >>> videos.target_names, videos.groups.tolist(), videos.group_names[1]
    (['boat'], [0, 1], 'boat/0001/002')
    """
    check_number("load_youtube_objects", "every", every, 1, 10**9, integer=True)
    from sklearn.utils import Bunch

    listed = Collection.from_folder(check_folder(_RELEASE, folder), kinds="none")
    shots: dict[tuple[str, str], list[Any]] = {}
    others = []
    for item in listed.items:
        match = _FRAME.fullmatch(item.path)
        if match is None:
            others.append((item.path, f"not a frame of {_RELEASE}"))
            continue
        kind = match["kind"]
        name = "/".join(part for part in (kind, match["video"], match["shot"]) if part)
        shots.setdefault((kind, name), []).append(replace(item, kind=kind))
    if not shots:
        raise CollectionError(
            f"{str(listed.folder)!r} is not {_RELEASE}: it holds no frame like "
            "'aeroplane/data/0001/shots/001/frame0001.jpg'; give the folder that holds the class "
            "folders."
        )
    frames = {key: shots[key][::every] for key in sorted(shots)}
    kinds = sorted({kind for kind, _ in frames})
    sizes = [len(frames[key]) for key in frames]
    items = tuple(item for shot in frames.values() for item in shot)
    return Bunch(
        images=keep_items(listed, _RELEASE, items, others),
        target=number_kinds(items, kinds),
        target_names=kinds,
        groups=np.repeat(np.arange(len(frames)), sizes),
        group_names=[name for _, name in frames],
        DESCR=_DESCR.format(
            n=len(items),
            n_shots=len(frames),
            n_classes=len(kinds),
            which="all" if every == 1 else f"one in {every}",
        ),
    )
