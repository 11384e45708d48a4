"""Find the subject of pictures that nobody has labelled, from the cells of a network's last map.

People put what they photograph in the middle. Over a whole collection this tells subject from
surroundings: with M(u) the cells and μ their mean, Fisher's discriminant between the cells of the
middle and those of the border,

    v = (Σ + λ tr(Σ)/d · I)⁻¹ (mean of the middle − mean of the border),

is a direction of "being the subject", and the score of a cell is z(u) = max(0, v·(M(u) − μ)). It
knows nothing of where a cell is: a subject at the border is found by what it looks like. What was
found then takes the place of the middle, and the rest that of the border, in two more rounds: the
middle holds a good deal of surroundings, what was found holds less.

The subject is where z, enlarged between the cells, is at least a share of its largest value. Its
pieces are ordered by how much of z they hold.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import ndimage
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_number
from fieldguide._saving import Array, Number, Saved
from fieldguide.errors import InvalidArgument
from fieldguide.features.network import Box

_MIDDLE = 3 / 7  # of each side: the cells that are taken for the subject at first
_SHRINK_FIRST, _SHRINK = 3.0, 1.0  # λ of the first round and of the others
_CUT_FIT = 0.25  # of the largest score of a picture: the cells found, between two rounds
FINER = 6  # pixels of a mask for each cell
_LEAST_PIECE = 0.25  # of what the strongest piece holds: smaller ones are no second subject
_MOST_PIECES = 4
_POINT = 0.8  # of a cell: how far the scores are smoothed to find the strongest point
_LEAST_SPREAD = 1e-6  # of the cells' length: less than that is one colour


class Subject(NamedTuple):
    """The subject of one picture.

    Examples
    --------
    >>> scores, box = np.array([[0.0, 1.0]]), (0.5, 0.0, 1.0, 1.0)
    >>> subject = Subject(scores, scores > 0.5, box, (0.75, 0.5), 0.9, (box,))
    >>> subject.box, subject.confidence
    ((0.5, 0.0, 1.0, 1.0), 0.9)
    """

    scores: np.ndarray  # (rows, columns) ≥ 0, how much each cell looks like a subject
    mask: np.ndarray  # bool, finer than the cells: the strongest piece
    box: Box  # around it, in shares of the picture's sides
    point: tuple[float, float]  # where it is strongest, in the same shares
    confidence: float  # 0 to 1
    boxes: tuple[Box, ...]  # of all pieces that may be subjects, the strongest first


class SubjectFinder(Saved, BaseEstimator):
    """Finds the subject of each picture of a collection, without labels.

    Parameters
    ----------
    cut : float
        A cell is part of the subject if its score is at least this share of the largest score of
        its picture.
    n_rounds : int
        Number of rounds after the first, which takes the middle of each picture for its subject;
        each starts from the subjects that were found before.

    Attributes
    ----------
    mean_ : ndarray of shape (n_channels,)
        Of the cells.
    coef_ : ndarray of shape (n_channels,)
        The direction; scaled so that the largest scores of the pictures are 1 on average.
    usual_contrast_ : float
        Mean over pictures of how far the subject's scores lie above the others.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimens
    >>> from fieldguide.features import picture_cells
    >>> from fieldguide.features.network import Network
    >>> from fieldguide.locate import SubjectFinder
    >>> network, images = Network(), load_specimens(n_per_kind=1, size_px=96).images[:6]
    >>> maps = [picture_cells(image, network) for image in images]
    >>> SubjectFinder().fit(maps).predict(maps).shape
    (6, 4)
    """

    _fitted: ClassVar = {
        "mean_": Array("float32", "n_channels"),
        "coef_": Array("float32", "n_channels"),
        "usual_contrast_": Number(low=0),
    }

    mean_: np.ndarray
    coef_: np.ndarray
    usual_contrast_: float

    def __init__(self, cut: float = 0.2, *, n_rounds: int = 2) -> None:
        self.cut = cut
        self.n_rounds = n_rounds

    def fit(self, X: Sequence[np.ndarray], y: Any = None) -> Self:
        """Learn what subjects look like from the maps of some pictures; ``y`` is not looked at.

        Parameters
        ----------
        X : sequence of arrays of shape (rows, columns, n_channels)
            A few hundred are enough. Rows and columns may differ, channels not.
        """
        self._check_opened()
        maps = [_check_map(each) for each in X]
        if not maps:
            raise InvalidArgument("X of SubjectFinder must hold the map of at least one picture.")
        if len({each.shape[2] for each in maps}) > 1:
            raise InvalidArgument("The maps of SubjectFinder must have the same channels.")
        cells = np.concatenate([each.reshape(-1, each.shape[2]) for each in maps])
        ends = np.cumsum([each.shape[0] * each.shape[1] for each in maps])[:-1]
        mean = cells.mean(axis=0, dtype=np.float64).astype(np.float32)
        cells -= mean
        covariance = (cells.T @ cells).astype(np.float64) / len(cells)
        spread = np.trace(covariance) / len(mean)
        is_middle, is_border = _find_middle([each.shape[:2] for each in maps])
        rise = cells[is_middle].mean(axis=0) - cells[is_border].mean(axis=0)
        coef = _solve(covariance, _SHRINK_FIRST * spread, rise)
        for _ in range(self.n_rounds):
            scores = np.split(np.maximum(cells @ coef, 0), ends)
            found = np.concatenate([s >= _CUT_FIT * max(float(s.max()), 1e-12) for s in scores])
            target = found.astype(np.float32) - np.float32(found.mean())
            coef = _solve(covariance, _SHRINK * spread, cells.T @ target / len(cells))
        scores = np.split(np.maximum(cells @ coef, 0), ends)
        size = float(np.mean([s.max() for s in scores]))
        is_flat = spread <= (_LEAST_SPREAD * np.linalg.norm(mean)) ** 2 or size <= 0
        self.mean_ = mean
        self.coef_ = np.zeros_like(mean) if is_flat else (coef / size).astype(np.float32)
        self.usual_contrast_ = 0.0
        if not is_flat:
            grids = [s.reshape(m.shape[:2]) / size for s, m in zip(scores, maps, strict=True)]
            self.usual_contrast_ = float(np.mean([self._contrast(grid) for grid in grids]))
        return self

    def find(self, cells: np.ndarray) -> Subject:
        """Return the subject of one picture from its map, (rows, columns, n_channels).

        Where nothing looks like a subject, the box is the whole picture and ``confidence`` 0.
        """
        scores = self.score_cells(cells)
        if not 0 < scores.max() < np.inf:
            return no_subject(*scores.shape)
        finer = enlarge(scores, FINER)
        pieces, n_pieces = ndimage.label(finer >= self.cut * finer.max())
        held = ndimage.sum_labels(finer, pieces, np.arange(1, n_pieces + 1))
        order = np.argsort(-held, kind="stable")[:_MOST_PIECES]
        kept = [k for k in order if held[k] >= _LEAST_PIECE * held.max()]
        where = ndimage.find_objects(pieces)
        boxes = tuple(_to_box(where[k], finer.shape) for k in kept)
        mask = pieces == order[0] + 1
        smooth = np.where(mask, ndimage.gaussian_filter(finer, _POINT * FINER, mode="nearest"), 0)
        y, x = np.unravel_index(smooth.argmax(), smooth.shape)
        point = (x + 0.5) / finer.shape[1], (y + 0.5) / finer.shape[0]
        ratio = self._contrast(scores) / self.usual_contrast_ if self.usual_contrast_ else 0.0
        return Subject(scores, mask, boxes[0], point, ratio / (1 + ratio), boxes)

    def predict(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Return the box of the subject of each map, (n, 4): left, top, right, bottom in shares."""
        return np.array([self.find(cells).box for cells in X]).reshape(-1, 4)

    def score_cells(self, cells: np.ndarray) -> np.ndarray:
        """Return how much each cell of a map looks like a subject, (rows, columns) ≥ 0."""
        check_is_fitted(self)
        cells = _check_map(cells)
        if cells.shape[2] != len(self.mean_):
            raise InvalidArgument(
                f"The map has {cells.shape[2]} channels and SubjectFinder was fitted on "
                f"{len(self.mean_)}; use the same network."
            )
        scores: np.ndarray = np.maximum((cells - self.mean_) @ self.coef_, 0)
        return scores

    def _check_opened(self) -> None:
        check_number("SubjectFinder", "cut", self.cut, 0, 1)
        check_number("SubjectFinder", "n_rounds", self.n_rounds, 0, 20, integer=True)

    def _contrast(self, scores: np.ndarray) -> float:
        """Return how far the scores of the subject lie above those of the other cells."""
        is_found = scores >= max(self.cut * float(scores.max()), 1e-12)
        inside = float(scores[is_found].mean()) if is_found.any() else 0.0
        return inside - (float(scores[~is_found].mean()) if not is_found.all() else inside)


def no_subject(n_rows: int, n_columns: int) -> Subject:
    """Return what is told of a picture in which nothing stands out."""
    scores = np.zeros((n_rows, n_columns), dtype=np.float32)
    mask = np.zeros((n_rows * FINER, n_columns * FINER), dtype=bool)
    return Subject(scores, mask, (0.0, 0.0, 1.0, 1.0), (0.5, 0.5), 0.0, ())


def enlarge(values: np.ndarray, factor: int) -> np.ndarray:
    """Return a grid with ``factor`` pixels for each cell and side, linear between the cells."""
    grid: np.ndarray = ndimage.zoom(values, factor, order=1, mode="nearest", grid_mode=True)
    return grid


def _check_map(cells: Any) -> np.ndarray:
    checked = np.asarray(cells, dtype=np.float32)
    if checked.ndim != 3 or 0 in checked.shape:
        raise InvalidArgument(
            f"A map of SubjectFinder must have the shape (rows, columns, channels); got "
            f"{checked.shape}."
        )
    if not np.isfinite(checked).all():
        raise InvalidArgument("A map of SubjectFinder holds numbers that are not finite.")
    return checked


def _find_middle(shapes: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return which cells of all maps are in the middle, and which at the border."""
    middle, border = [], []
    for n_rows, n_columns in shapes:
        y, x = (np.abs((np.arange(n) + 0.5) / n - 0.5) for n in (n_rows, n_columns))
        rows, columns = (d <= max(_MIDDLE / 2, float(d.min()) + 1e-9) for d in (y, x))
        middle.append((rows[:, None] & columns).ravel())
        ring = np.ones((n_rows, n_columns), dtype=bool)
        ring[1:-1, 1:-1] = False
        border.append(ring.ravel())
    return np.concatenate(middle), np.concatenate(border)


def _solve(covariance: np.ndarray, shrink: float, rise: np.ndarray) -> np.ndarray:
    ridge = covariance + max(shrink, 1e-12) * np.eye(len(covariance))
    return np.linalg.solve(ridge, rise.astype(np.float64)).astype(np.float32)


def _to_box(where: tuple[slice, slice], shape: tuple[int, ...]) -> Box:
    rows, columns = where
    height, width = shape
    return (
        columns.start / width,
        rows.start / height,
        columns.stop / width,
        rows.stop / height,
    )
