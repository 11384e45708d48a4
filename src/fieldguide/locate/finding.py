"""What region scores say of a picture: which part of it, in how many pieces, how sure.

The score of a picture, or of a piece of it, comes from those of its regions: their mean with
weights proportional to the positive part, or the largest where none is positive.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fieldguide.errors import InvalidArgument
from fieldguide.locate.contrast import stand_out
from fieldguide.locate.superpixels import Regions

CUT_OFF = 0.6  # the best of a few tried on drawn specimens


class ClipRegions(Protocol):
    """Regions of a clip, as :class:`~fieldguide.video.Supervoxels` are."""

    @property
    def n_regions(self) -> int:
        """How many regions there are."""

    @property
    def adjacency(self) -> np.ndarray:
        """Regions that touch, (n_pairs, 2)."""

    def find(self, scores: np.ndarray) -> Any:
        """Return where the regions are that score above 0."""


class Finding(NamedTuple):
    """The objects found in one picture.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import find_objects, to_regions
    >>> found = find_objects(to_regions([[0, 0, 1], [2, 2, 1]]), np.array([-1.0, 2.0, -0.5]))
    >>> found.boxes.tolist(), found.mask.astype(int).tolist()
    ([[2, 0, 3, 2]], [[0, 0, 1], [0, 0, 1]])
    """

    score: float  # of the picture
    region_scores: np.ndarray  # (m,)
    mask: np.ndarray  # (height, width) bool: the regions that were found
    boxes: np.ndarray  # (n_boxes, 4) int32: x0, y0, x1, y1, best first
    box_scores: np.ndarray  # (n_boxes,)
    pieces: tuple[np.ndarray, ...]  # of each box, its regions


def find_objects(
    regions: Regions,
    scores: np.ndarray,
    *,
    threshold: float = 0.0,
    at_least_one: bool = True,
    contrast: np.ndarray | None = None,
    cut_off: float = CUT_OFF,
) -> Finding:
    """Return mask and boxes of the regions that score above a threshold, or that stand out.

    Regions that touch make one box. Where none is above the threshold, the best region is
    returned alone, with its score, unless ``at_least_one`` is false.

    Parameters
    ----------
    regions : Regions
    scores : ndarray of shape (n_regions,)
    threshold : float
    at_least_one : bool
    contrast : ndarray of shape (n_regions,), optional
        How far each region stands out from the border, by
        :func:`~fieldguide.locate.border_contrast`. In place of the threshold it is then a share of
        the picture's best that decides, in (score − least score) × (contrast + 0.2): this is what
        a guide outlines.
    cut_off : float
        That share.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import find_objects, to_regions
    >>> regions = to_regions([[0, 0, 1, 2], [0, 0, 1, 3]])
    >>> found = find_objects(regions, np.array([-1.0, 2.0, 1.0, -3.0]))
    >>> found.boxes.tolist(), found.box_scores.tolist(), found.mask.astype(int).tolist()
    ([[2, 0, 4, 2]], [1.6666666666666667], [[0, 0, 1, 1], [0, 0, 1, 0]])
    """
    scores, is_found = choose_regions("find_objects", regions, scores, threshold, at_least_one)
    if contrast is not None:
        standing = stand_out(scores, _check_contrast(contrast, regions))
        is_found = standing >= cut_off * standing.max()
    pieces = connect(regions, is_found)
    boxes = np.array(
        [
            [*regions.boxes[piece, :2].min(axis=0), *regions.boxes[piece, 2:].max(axis=0)]
            for piece in pieces
        ],
        dtype=np.int32,
    ).reshape(-1, 4)
    box_scores = np.array([score_bag(scores[piece]) for piece in pieces])
    order = np.argsort(-box_scores, kind="stable")
    mask, ordered = is_found[regions.labels], tuple(pieces[j] for j in order)
    return Finding(score_bag(scores), scores, mask, boxes[order], box_scores[order], ordered)


def choose_regions(
    owner: str,
    regions: Regions | ClipRegions,
    scores: np.ndarray,
    threshold: float,
    at_least_one: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores, checked, and which regions are above the threshold, or the best alone."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (regions.n_regions,):
        raise InvalidArgument(
            f"scores of {owner} must have one number for each of the {regions.n_regions} "
            f"regions; got shape {scores.shape}."
        )
    is_found = scores > threshold
    if not is_found.any() and at_least_one:
        is_found = np.arange(len(scores)) == scores.argmax()
    return scores, is_found


def connect(regions: Regions | ClipRegions, is_found: np.ndarray) -> list[np.ndarray]:
    """Return the regions of each connected piece of those found."""
    a, b = regions.adjacency.T
    joined = is_found[a] & is_found[b]
    m = regions.n_regions
    graph = csr_array((np.ones(joined.sum()), (a[joined], b[joined])), shape=(m, m))
    piece = connected_components(graph, directed=False)[1]
    found = np.flatnonzero(is_found)
    return [found[piece[found] == k] for k in np.unique(piece[found])]


def score_bags(scores: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the mean of each bag's scores by their positive part; the largest where none is.

    Examples
    --------
    >>> import numpy as np
    >>> score_bags(np.array([3.0, 1.0, -5.0, -1.0, -2.0]), np.array([0, 3, 5]))
    array([ 2.5, -1. ])
    """
    positive = np.maximum(scores, 0)
    weight = np.add.reduceat(positive, start[:-1])
    total = np.add.reduceat(positive * scores, start[:-1])
    most = np.maximum.reduceat(scores, start[:-1])
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1), most)


def score_bag(scores: np.ndarray) -> float:
    """Return the score of one bag."""
    return float(score_bags(scores, np.array([0, len(scores)]))[0])


def _check_contrast(contrast: np.ndarray, regions: Regions) -> np.ndarray:
    contrast = np.asarray(contrast)
    if contrast.shape != (regions.n_regions,):
        raise InvalidArgument(
            f"contrast of find_objects must have one number for each of the {regions.n_regions} "
            f"regions; got shape {contrast.shape}."
        )
    return contrast
