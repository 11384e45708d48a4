"""MSR Action Dataset II: 54 videos of crowded scenes in which people clap, wave and box.

==============  ============================================================
what            where, in the folder or any folder inside it
==============  ============================================================
videos          1.avi, 2.avi, …
actions         groundtruth.txt: video, label, X, width, Y, height, T, length
==============  ============================================================

A row of the list is one action in one video; X, Y and T are where its box begins, T in frames.
Rows may be separated by commas, tabs or blanks; a line that does not begin with the name or the
number of a video is a heading. Labels are 1 for clapping, 2 for waving, 3 for boxing.

Reference: J. Yuan, Z. Liu, Y. Wu, "Discriminative video pattern search for efficient action
detection", IEEE Transactions on Pattern Analysis and Machine Intelligence 33 (2011).
"""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.datasets._release import check_folder, damaged, read_lines, to_numbers
from fieldguide.errors import CollectionError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_RELEASE = "MSR Action Dataset II"
_LIST = "groundtruth.txt"
_NAMES = ("hand clapping", "hand waving", "boxing")
_COLUMNS = 8
_VIDEO = re.compile(r"[\w-]+(\.avi)?", re.IGNORECASE)

_DESCR = """MSR Action Dataset II: people who clap, wave and box in crowded scenes

{n} actions of {n_classes} classes in {n_videos} videos.
Boxes: x0, y0, x1, y1 in pixels, the same in all frames of an action.
Frames: the first of an action and the one after its last.
Order: that of the list.
"""


def load_msr_action2(folder: str | os.PathLike[str]) -> "Bunch":
    """List the actions of MSR Action Dataset II with their videos, boxes and frames.

    Nothing is decoded: ``read_clip(paths[i], start=frames[i, 0], stop=frames[i, 1])`` of
    :mod:`fieldguide.video` reads an action.

    Parameters
    ----------
    folder : path
        The folder of the unpacked release.

    Returns
    -------
    sklearn.utils.Bunch
        ``paths`` : list of n str, the video of each action.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str: hand clapping, hand waving, boxing.

        ``boxes`` : float32 array of shape (n, 4), x0, y0, x1, y1 in pixels.

        ``frames`` : int array of shape (n, 2), the first frame and the one after the last.

        ``groups`` : int array of shape (n,), the video of each action, index into ``group_names``:
        actions of one video belong to the same side of a split.

        ``group_names`` : list of str, the names of the videos.

        ``DESCR`` : str.

    Raises
    ------
    CollectionError
        If there is no such folder, a video is missing, or the list has another layout.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fieldguide.datasets import load_msr_action2
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "1.avi").touch()
    ...     _ = Path(folder, "groundtruth.txt").write_text("1.avi, 2, 10, 40, 20, 80, 5, 30")
    ...     actions = load_msr_action2(folder)
    >>> actions.target_names[actions.target[0]], actions.boxes.tolist(), actions.frames.tolist()
    ('hand waving', [[10.0, 20.0, 50.0, 100.0]], [[5, 35]])
    """
    from sklearn.utils import Bunch

    root = check_folder(_RELEASE, folder)
    lists = sorted(path for path in root.rglob("*") if path.name.lower() == _LIST)
    if not lists:
        raise CollectionError(
            f"{str(root)!r} is not {_RELEASE}: it holds no {_LIST}; give the folder of the "
            "unpacked release."
        )
    videos = {path.stem: path for path in sorted(root.rglob("*")) if path.suffix.lower() == ".avi"}
    rows = read_rows(lists[0])
    names = [name.removesuffix(".avi").removesuffix(".AVI") for name, _ in rows]
    missing = sorted(set(names) - set(videos))
    if missing:
        first = f"the first {missing[0] + '.avi'!r}"
        raise damaged(
            lists[0], f"names {len(missing)} videos that are not in {str(root)!r}, {first}"
        )
    table = to_numbers(lists[0], [numbers for _, numbers in rows], _COLUMNS - 1)
    label, x, width, y, height, t, length = table.T
    if not np.isin(label, (1, 2, 3)).all() or table[:, 1:].min() < 0 or table[:, 6].min() < 1:
        raise damaged(lists[0], "must hold labels from 1 to 3 and boxes that are not negative")
    groups = sorted(set(names), key=lambda name: (len(name), name))  # 9 before 10
    return Bunch(
        paths=[str(videos[name]) for name in names],
        target=label.astype(np.int64) - 1,
        target_names=list(_NAMES),
        boxes=np.stack([x, y, x + width, y + height], axis=1),
        frames=np.stack([t, t + length], axis=1).astype(np.int64),
        groups=np.array([groups.index(name) for name in names]),
        group_names=groups,
        DESCR=_DESCR.format(n=len(rows), n_classes=len(_NAMES), n_videos=len(groups)),
    )


def read_rows(path: Path) -> list[tuple[str, list[str]]]:
    """Return the video and the seven numbers of each row of the list."""
    rows = []
    for line in read_lines(path):
        words = [word.strip("'\"") for word in re.split(r"[,\s]+", line) if word]
        is_row = len(words) == _COLUMNS and _VIDEO.fullmatch(words[0])
        if is_row and words[1].replace(".", "").isdigit():
            rows.append((words[0], words[1:]))
        elif rows:
            raise CollectionError(
                f"{str(path)!r} must hold a video, a label and six numbers in each row; got "
                f"{line!r}: unpack the release again."
            )
    if not rows:
        raise damaged(path, "has no row like '1.avi, 1, X, width, Y, height, T, length'")
    return rows
