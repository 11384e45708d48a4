"""The classifiers of a pool: windows, clusters of each class, principal components, SVMs.

Pictures or descriptors of their windows in, linear functions out. The map of a function's margins
to [0, 1] is fitted to margins of rows that the function was not trained on, by cross-validation:
training margins are larger than those of any new picture.

Both sides of every SVM have the same total weight, in training and in the map: a cluster is a
fiftieth of the pool, and would else be outvoted.

Reference for the start of k-means: D. Arthur, S. Vassilvitskii, "k-means++: the advantages of
careful seeding", SODA 2007.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from scipy.sparse import csr_array

from fieldguide._parallel import map_in_order
from fieldguide._random import deal_folds, spawn_generators
from fieldguide.features.codebook import assign_rows, move_middles
from fieldguide.features.components import find_components
from fieldguide.features.hog import hog
from fieldguide.features.network import SIX, Box, Network
from fieldguide.features.pool_maps import MonotoneMaps, fit_maps
from fieldguide.svm import Rows, share_rows, solve_linear, train_one_vs_all

ELEVEN: dict[str, Box] = {
    **SIX,
    "left half": (0.0, 0.0, 0.5, 1.0),
    "right half": (0.5, 0.0, 1.0, 1.0),
    "top half": (0.0, 0.0, 1.0, 0.5),
    "bottom half": (0.0, 0.5, 1.0, 1.0),
    "very centre": (0.3, 0.3, 0.7, 0.7),
}
# HOG of a window: cells per side, pixels per side of a cell, and columns (blocks, cells, bins).
_N_CELLS, _CELL_PX = 6, 8
HOG_COLUMNS = (_N_CELLS - 1) ** 2 * 4 * 9


class Sight(NamedTuple):
    """What is described of a picture: a row is the HOG of windows, then outputs of windows."""

    hog_windows: tuple[str, ...]
    output_windows: tuple[str, ...]
    network: Network | None

    def describe(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Return a row for each image, float32."""
        parts = []
        if self.hog_windows:
            boxes = [ELEVEN[window] for window in self.hog_windows]
            parts.append(np.stack([_describe_windows(image, boxes) for image in images]))
        if self.network is not None:
            boxes = [ELEVEN[window] for window in self.output_windows]
            logits = self.network.see(images, boxes).logits
            parts.append(np.asarray(logits, dtype=np.float32).reshape(len(images), -1))
        return np.concatenate(parts, axis=1)

    def hog(self, rows: np.ndarray, window: str) -> np.ndarray:
        """Return the HOG of a window, (n, d) and contiguous."""
        start = self.hog_windows.index(window) * HOG_COLUMNS
        return np.ascontiguousarray(rows[:, start : start + HOG_COLUMNS])

    def outputs(self, rows: np.ndarray) -> np.ndarray:
        """Return the outputs of all their windows, (n, n_windows * 1000)."""
        return rows[:, len(self.hog_windows) * HOG_COLUMNS :]


def _describe_windows(image: Image.Image, boxes: Sequence[Box]) -> np.ndarray:
    """Return the HOG of windows of a picture, one after the other, each scaled to a square."""
    width, height = image.size
    side_px = _N_CELLS * _CELL_PX
    parts = []
    for x0, y0, x1, y1 in boxes:
        window = image.resize(
            (side_px, side_px),
            Image.Resampling.BILINEAR,
            box=(x0 * width, y0 * height, x1 * width, y1 * height),
            reducing_gap=2.0,
        )
        parts.append(hog(np.asarray(window), n_cells=(_N_CELLS, _N_CELLS), cell_px=_CELL_PX))
    # Each block has length 1: rows of about length 1 give C the same meaning for every grid.
    return np.concatenate(parts) / np.float32(_N_CELLS - 1)


# Five folds, or a relative duality gap of 1e-3, move a learner's accuracy on CIFAR-10 by about 0.01
# either way and take up to twice as long.
_N_FOLDS = 3
_TOL = 1e-2
_N_STARTS = 3
_MAX_ROUNDS = 100


class LinearFunctions(NamedTuple):
    """Margins ``coef @ x + intercept`` of k classifiers, and the maps of those margins."""

    coef: np.ndarray  # (k, d) float32
    intercept: np.ndarray  # (k,) float32
    maps: MonotoneMaps


def train_on_clusters(
    X: np.ndarray,
    index: np.ndarray,
    n_classes: int,
    n_clusters: int,
    *,
    C: float,
    n_jobs: int | None,
    seed: int,
) -> tuple[list[int], LinearFunctions]:
    """Train a function for each cluster of each class against the other classes.

    Returns the number of clusters of each class and the functions, class by class. Rows of the
    other clusters of the class belong to neither side.
    """

    def split(task: tuple[int, np.random.Generator]) -> list[np.ndarray]:
        own = np.flatnonzero(index == task[0])
        label = group_rows(X[own], n_clusters, task[1])
        return [own[label == k] for k in range(label.max() + 1)]

    generators = enumerate(spawn_generators(seed, n_classes))
    clusters = list(map_in_order(split, generators, n_jobs=n_jobs))
    matrix = share_rows(X)

    def train(task: tuple[int, np.ndarray]) -> tuple[np.ndarray, float, MonotoneMaps]:
        own_class, positive = task
        return _train_cluster(matrix, positive, np.flatnonzero(index != own_class), C, seed)

    tasks = ((c, rows) for c, parts in enumerate(clusters) for rows in parts)
    done = list(map_in_order(train, tasks, n_jobs=n_jobs))
    functions = LinearFunctions(
        np.stack([w for w, _, _ in done]).astype(np.float32),
        np.array([b for _, b, _ in done], dtype=np.float32),
        join_maps([maps for _, _, maps in done]),
    )
    return [len(parts) for parts in clusters], functions


def train_on_window(
    X: np.ndarray, index: np.ndarray, n_classes: int, n_components: int, *, C: float, seed: int
) -> LinearFunctions:
    """Train every class against the rest on the first principal components of the rows."""
    mean, axes = find_components(X, n_components)
    matrix = share_rows(np.ascontiguousarray((X - mean.astype(np.float32)) @ axes.T))
    margins = np.zeros((len(X), n_classes))
    fold = deal_folds(index, min(_N_FOLDS, len(X)), seed)
    settings: dict[str, Any] = {"C": C, "class_weight": "balanced", "loss": "hinge"}
    settings |= {"tol": _TOL, "seed": seed}
    whole = train_one_vs_all(matrix, index, n_classes, **settings)
    for k in range(fold.max() + 1):
        part = train_one_vs_all(
            *(matrix, index, n_classes),
            sample_weight=(fold != k).astype(np.float64),
            alpha0=csr_array(whole.alpha),
            **settings,
        )
        held_out = matrix.data.reshape(matrix.shape)[fold == k]
        margins[fold == k] = held_out @ part.coef.T + part.intercept
    # Axes and weights are both linear: one product per function instead of one per axis.
    coef = whole.coef.astype(np.float64) @ axes
    is_own = index[:, None] == np.arange(n_classes)
    return LinearFunctions(
        coef.astype(np.float32),
        (whole.intercept - coef @ mean).astype(np.float32),
        fit_maps(margins, balance(is_own)),
    )


def group_rows(X: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return a cluster for each row, numbered without gaps from the largest cluster on.

    k-means, the best of a few k-means++ starts. There are fewer clusters where the rows have fewer
    different values.
    """
    X = np.asarray(X, dtype=np.float64)
    best, least = np.zeros(len(X), dtype=np.int64), np.inf
    for _ in range(_N_STARTS):
        start = _spread_middles(X, min(n_clusters, len(X)), rng)
        # A middle that has lost all its rows is not missed: another start may use it better.
        middles = move_middles(X, start, _MAX_ROUNDS, keep_all=False)
        label = assign_rows(X, middles)[0]
        inertia = float(_square_distances(X, middles[label]).sum())
        if inertia < least:
            best, least = label, inertia
    sizes = np.bincount(best)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[order] = np.arange(len(sizes))
    return rank[best]


def balance(is_own: np.ndarray) -> np.ndarray:
    """Return weights (n, k) that give the own rows of a column half of its total, n."""
    n, own = len(is_own), is_own.sum(axis=0)
    share = np.where(is_own, np.maximum(own, 1), np.maximum(n - own, 1))
    weights: np.ndarray = n / (2 * share)
    return weights


def join_maps(maps: list[MonotoneMaps]) -> MonotoneMaps:
    """Return the maps of several groups of columns as one."""
    return MonotoneMaps(*(np.concatenate(fields) for fields in zip(*maps, strict=True)))


def _train_cluster(
    matrix: Rows, positive: np.ndarray, negative: np.ndarray, C: float, seed: int
) -> tuple[np.ndarray, float, MonotoneMaps]:
    """Train one cluster against the rows of other classes, and map its held-out margins."""
    rows = np.concatenate([positive, negative])
    sign = np.repeat([1.0, -1.0], [len(positive), len(negative)])
    weight = balance(sign[:, None] > 0)[:, 0]
    margins = np.zeros(len(rows))
    fold = deal_folds(sign, min(_N_FOLDS, len(rows)), seed)
    whole = solve_linear(matrix, sign, rows=rows, C=C, sample_weight=weight, tol=_TOL, seed=seed)
    for k in range(fold.max() + 1):
        train = fold != k
        part = solve_linear(
            matrix,
            sign[train],
            rows=rows[train],
            C=C,
            sample_weight=weight[train],
            tol=_TOL,
            alpha0=whole.alpha[train],
            seed=seed,
        )
        margins[~train] = matrix.data.reshape(matrix.shape)[rows[~train]] @ part.w + part.b
    return whole.w, whole.b, fit_maps(margins[:, None], weight)


def _spread_middles(X: np.ndarray, n_middles: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows as first middles, each with odds of its squared distance to those drawn before."""
    chosen = [int(rng.integers(len(X)))]
    nearest = _square_distances(X, X[chosen[0]])
    while len(chosen) < n_middles and nearest.sum() > 0:
        chosen.append(int(rng.choice(len(X), p=nearest / nearest.sum())))
        np.minimum(nearest, _square_distances(X, X[chosen[-1]]), out=nearest)
    return X[chosen]


def _square_distances(X: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return |x − o|² of each row and its other, exactly 0 where they are equal."""
    apart = X - others
    squares: np.ndarray = np.einsum("ij,ij->i", apart, apart)
    return squares
