"""YouTube-Objects: frames of videos of ten classes of objects, cut into shots.

==========  ===================================================================
what        file
==========  ===================================================================
frames      aeroplane/data/0001/shots/001/frame0001.jpg: class, video, shot
split       aeroplane/sets/train.txt, test.txt: a video (``0001``) in each line
masks       aeroplane/data/0001/shots/001/labels/00001.jpg, a download of its
            own: bright where the object is, of some frames
==========  ===================================================================

This is version 1.0, an archive for each class, which the authors of the first paper below offer. It
labels videos, not frames: some frames do not show the object. Its boxes
(``frame0001.jpg_sticks.mat``) are not read. The masks are those of the second paper, whose download
has their frames beside them, in ``images``: it can be read by itself. Masks of others, such as of
the 151 shots that were annotated for CRANE, are read where each has the path of its frame.

Simpler trees, ``aeroplane/001/frame0001.jpg``, are read as well; the shot is then the folder of
the frame. A split of your own is ``train.txt`` and ``test.txt`` beside the class folders, with a
video (``aeroplane/0001``) or a shot (``aeroplane/0001/002``) in each line; it goes before that of
the release.

References: A. Prest, C. Leistner, J. Civera, C. Schmid, V. Ferrari, "Learning object class
detectors from weakly annotated video", CVPR 2012. S. Jain, K. Grauman, "Supervoxel-consistent
foreground propagation in video", ECCV 2014.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide._check import check_choice, check_number
from fieldguide.collection import Collection
from fieldguide.datasets._release import check_folder, keep_items, number_kinds, read_lines
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "YouTube-Objects"
_FRAME = re.compile(
    r"(?P<kind>[^/]+)/(?:data/(?P<video>[^/]+)/shots/)?(?P<shot>[^/]+)/"
    r"(?:images/)?[^/]+\.(?:jpg|jpeg|png)",
    re.IGNORECASE,
)

_DESCR = """YouTube-Objects: frames of videos

{n} frames of {n_shots} shots in {n_classes} classes, {which} of each shot.
Labels are those of the videos: some frames do not show the object.
Order: class by class, shot by shot, by the name of the file.
"""


def load_youtube_objects(
    folder: str | os.PathLike[str],
    every: int = 1,
    *,
    split: str = "all",
    segments: str | os.PathLike[str] | None = None,
) -> "Bunch":
    """List the frames of YouTube-Objects with their classes and shots.

    Nothing is decoded.

    Parameters
    ----------
    folder : path
        The folder that holds the class folders.
    every : int
        Take the first frame of each shot and then every so many; neighbours are much alike.
    split : {"all", "train", "test"}
        The videos and shots of ``train.txt`` or ``test.txt`` in the folder, else the videos of the
        lists of that name in ``sets`` of each class.
    segments : path, optional
        A folder with masks as the download has them, or by the paths of their frames, whatever the
        endings: ``aeroplane/data/0001/shots/001/frame0001.png``.

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

        ``masks`` : Collection of the masks, and ``masked`` : int array, the frame of each, index
        into ``images``; only with ``segments``.

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
    check_choice("load_youtube_objects", "split", split, ("all", "train", "test"))
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
    if split != "all":
        shots = _pick_shots(shots, *_read_split(Path(folder), f"{split}.txt"))
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
        **({} if segments is None else _find_masks(segments, items)),
    )


def _read_split(root: Path, name: str) -> tuple[set[str], Path]:
    """Return the videos and shots of a list: that in the folder, or those of the classes."""
    own, released = root / name, sorted(root.glob(f"*/sets/{name}"))
    if own.is_file() or not released:
        return set(read_lines(own)), own
    kinds = [path.parent.parent.name for path in released]
    pairs = zip(kinds, released, strict=True)
    return {f"{kind}/{video}" for kind, path in pairs for video in read_lines(path)}, released[0]


def _pick_shots(
    shots: dict[tuple[str, str], list[Any]], named: set[str], path: Path
) -> dict[Any, list[Any]]:
    """Return the shots that a list names, or whose video it names; ``path`` is for the error."""
    kept = {
        (kind, name): frames
        for (kind, name), frames in shots.items()
        if name in named or name.rpartition("/")[0] in named
    }
    used = {name for _, name in kept} | {name.rpartition("/")[0] for _, name in kept}
    unknown = sorted(named - used)
    if unknown or not kept:
        what = f"{unknown[0]!r}, which is no video or shot" if unknown else "nothing"
        raise CollectionError(
            f"{str(path)!r} names {what} of the folder; give in each line a video or a shot, like "
            f"{next(iter(shots))[1]!r}."
        )
    return kept


def _find_masks(folder: str | os.PathLike[str], items: Sequence[Any]) -> dict[str, Any]:
    """Return the masks of a folder, in the order of the frames that they are of."""
    listed = Collection.from_folder(check_folder(f"segments of {_RELEASE}", folder), kinds="none")
    labels = [item for item in listed.items if "/labels/" in item.path]
    by_frame = {_name_frame(item.path): item for item in labels or listed.items}
    found = [
        (i, by_frame[name])
        for i, item in enumerate(items)
        if (name := _name_frame(item.path)) in by_frame
    ]
    if not found:
        raise CollectionError(
            f"{str(listed.folder)!r} holds no mask of these frames; a mask has the path of its "
            f"frame, such as {os.path.splitext(items[0].path)[0] + '.png'!r}."
        )
    masks = tuple(replace(mask, kind=items[i].kind) for i, mask in found)
    return {
        "masks": keep_items(listed, f"segments of {_RELEASE}", masks, ()),
        "masked": np.array([i for i, _ in found]),
    }


def _name_frame(path: str) -> tuple[str, str | int]:
    """Return the folder of the shot and the number of a frame or mask, or its name if it has none.

    >>> _name_frame("cat/a/images/frame0010.jpg") == _name_frame("cat/a/labels/00010.jpg")
    True
    """
    place, _, name = os.path.splitext(path)[0].rpartition("/")
    number = re.fullmatch(r"(?:frame)?(\d+)", name)
    return re.sub(r"/(?:images|labels)$", "", place), int(number[1]) if number else name
