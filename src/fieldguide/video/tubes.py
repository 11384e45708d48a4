"""What region scores say of a clip: which part of it, from when to when, how sure.

A tube is a box in every frame. Regions that score above a threshold and touch, in space or in time,
make one tube: in each frame the box around those of its regions that are there.
"""

from typing import NamedTuple

import numpy as np

from fieldguide.locate.finding import choose_regions, connect, score_bag
from fieldguide.video.supervoxels import Supervoxels


class TubeFinding(NamedTuple):
    """The objects found in one clip.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.video import find_tubes, to_supervoxels
    >>> regions = to_supervoxels([[[0, 0, 1]], [[0, 2, 2]]])
    >>> found = find_tubes(regions, np.array([-1.0, 2.0, -2.0]))
    >>> found.tubes.tolist()  # not there in the second frame
    [[[2, 0, 3, 1], [0, 0, 0, 0]]]
    """

    score: float  # of the clip
    region_scores: np.ndarray  # (m,)
    mask: np.ndarray  # (n_frames, height, width) bool: the regions that were found
    tubes: np.ndarray  # (n_tubes, n_frames, 4) int32: x0, y0, x1, y1; 0 in frames without it
    tube_scores: np.ndarray  # (n_tubes,), best first


def find_tubes(
    regions: Supervoxels, scores: np.ndarray, *, threshold: float = 0.0, at_least_one: bool = True
) -> TubeFinding:
    """Return mask and tubes of the regions that score above a threshold.

    Where none is above it, the best region is returned alone, with its score, unless
    ``at_least_one`` is false.

    Parameters
    ----------
    regions : Supervoxels
    scores : ndarray of shape (n_regions,)
    threshold : float
    at_least_one : bool

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.video import find_tubes, to_supervoxels
    >>> regions = to_supervoxels([[[0, 0, 1]], [[0, 2, 3]]])
    >>> found = find_tubes(regions, np.array([-1.0, 2.0, -2.0, 1.0]))
    >>> found.tubes.tolist(), found.tube_scores.round(2).tolist()
    ([[[2, 0, 3, 1], [2, 0, 3, 1]]], [1.67])
    """
    scores, is_found = choose_regions("find_tubes", regions, scores, threshold, at_least_one)
    pieces = connect(regions, is_found)
    n_frames = regions.labels.shape[0]
    tubes = np.array([join_boxes(regions.boxes[piece]) for piece in pieces], dtype=np.int32)
    tube_scores = np.array([score_bag(scores[piece]) for piece in pieces])
    order = np.argsort(-tube_scores, kind="stable")
    return TubeFinding(
        score_bag(scores),
        scores,
        is_found[regions.labels],
        tubes.reshape(-1, n_frames, 4)[order],
        tube_scores[order],
    )


def join_boxes(boxes: np.ndarray) -> np.ndarray:
    """Return the box around those of each frame, (n_frames, 4) from (k, n_frames, 4).

    >>> import numpy as np
    >>> join_boxes(np.array([[[1, 1, 3, 3], [0, 0, 0, 0]], [[2, 0, 5, 2], [4, 4, 6, 6]]])).tolist()
    [[1, 0, 5, 3], [4, 4, 6, 6]]
    """
    is_there = (boxes[..., 2] > boxes[..., 0])[..., None]
    low = np.where(is_there, boxes[..., :2], np.iinfo(boxes.dtype).max).min(axis=0)
    high = np.where(is_there, boxes[..., 2:], 0).max(axis=0)
    return np.where(is_there.any(axis=0), np.concatenate([low, high], axis=1), 0)
