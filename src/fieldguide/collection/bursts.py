"""Bursts: the pictures that one camera took in one minute, which are one specimen on wish.

Camera traps take several pictures whenever something moves. Pictures are of one burst if they lie
in one folder, have one kind, and their EXIF tells one camera (maker, model and serial number) and
one minute; a picture without a time stands by itself. A burst is seen as a clip is: by up to eight
of its pictures, evenly spread, with the seconds since the first.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath

from fieldguide._files import open_without_waiting
from fieldguide.collection.frames import N_FRAMES, Timed, make_clip, shrink_frame
from fieldguide.collection.images import Picture
from fieldguide.collection.taken import read_camera, read_taken
from fieldguide.errors import UnreadableImageError

_HEAD_BYTES = 2**19  # in which EXIF lies
_MINUTE = len("2021-05-03T14:07")


def find_bursts(
    root: Path, paths: Sequence[str], kinds: Sequence[str | None]
) -> list[tuple[int, ...]]:
    """Return the pictures of each burst by their places in ``paths``, the first taken first.

    Pictures that belong to none are bursts of one. Bursts are in the order of their first ones.
    """
    groups: dict[tuple[object, ...], list[tuple[str, int]]] = {}
    for i, path in enumerate(paths):
        taken = _read_moment(root / path)
        if taken is None:
            groups[(path,)] = [("", i)]
        else:
            key = (str(PurePosixPath(path).parent), kinds[i], taken[0][:_MINUTE], taken[1])
            groups.setdefault(key, []).append((taken[0], i))
    return sorted(tuple(i for _, i in sorted(group)) for group in groups.values())


def join_burst(paths: Sequence[str], read: Callable[[str], Picture]) -> Picture:
    """Return up to eight pictures of a burst as one; those that cannot be read are left out."""
    n = min(N_FRAMES, len(paths))
    pictures: list[Picture] = []
    failed: UnreadableImageError | None = None
    for path in dict.fromkeys(paths[(2 * k + 1) * len(paths) // (2 * n)] for k in range(n)):
        try:
            pictures.append(read(path))
        except UnreadableImageError as error:
            failed = failed or error
    if not pictures:
        assert failed is not None
        raise failed
    frames: list[Timed] = [
        (_count_seconds(pictures[0], each), shrink_frame(each.image)) for each in pictures
    ]
    clip = make_clip(frames, frames[-1][0])
    telling = pictures[clip.telling]
    words = dict.fromkeys(word for each in pictures for word in each.keywords)
    return Picture(
        telling.image, telling.width, telling.height, tuple(words), pictures[0].taken, clip
    )


def _count_seconds(first: Picture, other: Picture) -> float:
    start, at = first.taken.date, other.taken.date
    if start is None or at is None:
        return 0.0
    passed = datetime.fromisoformat(at[:19]) - datetime.fromisoformat(start[:19])
    return max(passed.total_seconds(), 0.0)


def _read_moment(path: Path) -> tuple[str, str] | None:
    """Return the time and the camera that a picture's EXIF tells; None without a time."""
    try:
        with open(path, "rb", opener=open_without_waiting) as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return None
    date = read_taken(head).date
    return None if date is None or len(date) < _MINUTE else (date, read_camera(head))
