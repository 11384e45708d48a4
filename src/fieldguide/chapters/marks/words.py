"""Field marks from visual words: which small patterns tell a kind, and where they are.

A picture is the histogram of its visual words. :class:`~fieldguide.select.AdditiveKernelSelector`
weighs the words of each kind against the rest, along a path of rising C: the larger C, the more
words. Two folds say how well the words of each point tell kinds apart that they were not chosen
on (the area under the ROC curve: how often a specimen of the kind scores above another). The
kind keeps the fewest words that do as well as the best point.

The weight of a word is q = a·p, its share of the kernel. Where the words of a kind are in a
picture is

    heat(place) = Σ over the windows there of  Σ over words of  share · q / r

with r the mean of the word in histograms of the kind: every word that is commoner in the kind than
elsewhere spreads its weight over the windows where it is usually found.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from fieldguide._parallel import map_in_order
from fieldguide.errors import FieldguideWarning
from fieldguide.features import BagOfWords, FoundWords, TooFewWindows
from fieldguide.guide.visual_words import PATCH_PX
from fieldguide.select import AdditiveKernelSelector

N_WORDS = 200  # of a vocabulary of our own
N_MARKS = 6
N_PATCHES = 5
N_CELLS = 16  # of the heat, along each side
C_PATH = (0.01, 0.03, 0.1, 0.3, 1.0)
AS_GOOD = 0.01  # below the best held-out score
_TOL, _MAX_ITER = 0.02, 4  # relative duality gap, and fifties of epochs that it may take


class KindWords(NamedTuple):
    """The words that were chosen for one kind."""

    weights: np.ndarray  # (n_words,) q; 0 for words that do not count
    lacks: np.ndarray  # (n_words,) bool: rarer in the kind than elsewhere
    heat: np.ndarray  # (n_words,) float32: what a window of that word adds to the heat
    path: tuple[tuple[int, float], ...]  # (words, held-out score), fewest first
    enough: int | None


def learn_vocabulary(images: Sequence[Image.Image], seed: int, n_jobs: int) -> BagOfWords | None:
    """Return a small vocabulary of some pictures; None where they have too little contrast."""
    bag = BagOfWords(
        N_WORDS,
        pyramid=((1, 1),),
        bin_sizes_px=(6, 10),
        n_images=len(images),
        n_descriptors=40_000,
        n_iter=10,
        n_examples=0,
        n_jobs=n_jobs,
        random_state=seed,
    )
    try:
        return bag.fit(images)
    except TooFewWindows:
        return None


def find_words(bag: BagOfWords, images: Sequence[Image.Image], n_jobs: int) -> list[FoundWords]:
    """Return the words of each picture, as ``bag`` counts them."""
    with threadpool_limits(1, "blas"):
        pixels = (np.asarray(image) for image in images)
        return list(map_in_order(bag.find_words, pixels, n_jobs=n_jobs))


def count_words(found: FoundWords, n_words: int) -> np.ndarray:
    """Return the histogram of a picture, (n_words − 1,); windows without contrast are left out."""
    return found.histogram(n_words)[:-1]


def choose_words(
    histograms: np.ndarray, index: np.ndarray, n_kinds: int, n_jobs: int
) -> list[KindWords] | None:
    """Choose the words of each kind; None where all histograms are the same."""
    if not np.ptp(histograms, axis=0).any():
        return None
    paths = [_weigh_words(histograms, index, n_kinds, C, n_jobs) for C in C_PATH]
    scores = _score_held_out(histograms, index, n_kinds, n_jobs)
    chosen = []
    for kind in range(n_kinds):
        is_kind = index == kind
        inside, outside = histograms[is_kind].mean(axis=0), histograms[~is_kind].mean(axis=0)
        lacks = inside < outside
        sizes = [int(np.count_nonzero(weights[kind])) for weights in paths]
        best, enough = len(C_PATH) - 1, None
        path: tuple[tuple[int, float], ...] = ()
        if np.isfinite(scores[:, kind]).all():
            good = np.flatnonzero(scores[:, kind] >= scores[:, kind].max() - AS_GOOD)
            best = min(good.tolist(), key=sizes.__getitem__)
            enough = sizes[best]
            path = tuple(sorted(zip(sizes, scores[:, kind].round(4).tolist(), strict=True)))
        weights = paths[best][kind]
        heat = np.where(lacks, 0.0, weights / np.maximum(inside, 1e-12)).astype(np.float32)
        chosen.append(KindWords(weights, lacks, heat, path, enough))
    return chosen


def spread_heat(found: FoundWords, heat: np.ndarray, n_cells: int = N_CELLS) -> np.ndarray:
    """Return where words are in a picture, (n_cells, n_cells), from what a window of each adds."""
    row = np.minimum((found.y * n_cells).astype(np.int64), n_cells - 1)
    column = np.minimum((found.x * n_cells).astype(np.int64), n_cells - 1)
    added = (np.append(heat, 0)[found.word] * found.share).sum(axis=1)
    total = np.bincount(row * n_cells + column, weights=added, minlength=n_cells**2)
    return total.reshape(n_cells, n_cells) / max(len(found.x), 1)


def cut_patches(
    images: Sequence[Image.Image], found: Sequence[FoundWords], word: int, n: int = N_PATCHES
) -> np.ndarray:
    """Return the windows that are most clearly of a word, (n or fewer, 72, 72, 3).

    At most one of each picture, of the pictures where the word is commonest.
    """
    totals = [np.where(f.word == word, f.share, 0).sum() / max(len(f.x), 1) for f in found]
    patches = []
    for i in np.argsort(-np.array(totals), kind="stable")[:n]:
        if totals[i] > 0:
            window = int(np.where(found[i].word == word, found[i].share, 0).max(axis=1).argmax())
            patches.append(_cut_window(images[i], found[i], window))
    return np.array(patches, dtype=np.uint8)


def _cut_window(image: Image.Image, found: FoundWords, window: int) -> np.ndarray:
    half = found.side[window] * image.width / 2
    x, y = found.x[window] * image.width, found.y[window] * image.height
    left, top = max(0.0, x - half), max(0.0, y - half)
    box = (left, top, min(float(image.width), x + half), min(float(image.height), y + half))
    size = (PATCH_PX, PATCH_PX)
    return np.asarray(image.resize(size, Image.Resampling.BICUBIC, box=box, reducing_gap=2.0))


def _fit_selector(
    histograms: np.ndarray, index: np.ndarray, C: float, n_jobs: int
) -> AdditiveKernelSelector:
    selector = AdditiveKernelSelector(
        "chi2", C=C, mode="large", tol=_TOL, max_iter=_MAX_ITER, n_jobs=n_jobs
    )
    with warnings.catch_warnings():
        # Where kinds are easily told apart the gap closes slowly; the words are the same by then.
        warnings.simplefilter("ignore", FieldguideWarning)
        warnings.filterwarnings("ignore", "The number of unique classes")  # kinds of one specimen
        return selector.fit(histograms, index)


def _weigh_words(
    histograms: np.ndarray, index: np.ndarray, n_kinds: int, C: float, n_jobs: int
) -> np.ndarray:
    """Return the shares of the kernel, (n_kinds, n_words)."""
    selector = _fit_selector(histograms, index, C, n_jobs)
    weights, spreads = np.atleast_2d(selector.weights_, selector.spreads_)
    shares = np.where(weights > 0, weights * np.where(weights > 0, spreads, 0.0), 0.0)
    return np.repeat(shares, 2, axis=0) if n_kinds == 2 else shares


def _score_held_out(
    histograms: np.ndarray, index: np.ndarray, n_kinds: int, n_jobs: int
) -> np.ndarray:
    """Return the area under the ROC curve, (len(C_PATH), n_kinds); NaN for kinds of one row."""
    fold = np.empty(len(index), dtype=np.int64)
    for kind in range(n_kinds):
        rows = np.flatnonzero(index == kind)
        fold[rows] = np.arange(len(rows)) % 2
    scores = np.full((2, len(C_PATH), n_kinds), np.nan)
    for k in range(2):
        train, test = fold != k, fold == k
        trained = np.unique(index[train])
        if len(trained) < 2 or not test.any() or not np.ptp(histograms[train], axis=0).any():
            continue
        for c, C in enumerate(C_PATH):
            selector = _fit_selector(histograms[train], index[train], C, n_jobs)
            margins = selector.decision_function(histograms[test])
            margins = np.column_stack([-margins, margins]) if margins.ndim == 1 else margins
            for column, kind in enumerate(trained):
                is_kind = index[test] == kind
                if is_kind.any() and not is_kind.all():
                    scores[k, c, kind] = roc_auc_score(is_kind, margins[:, column])
    return scores.mean(axis=0)  # a kind that is missing from a fold has no score
