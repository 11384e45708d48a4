"""Marks that have no name: small patterns, shown by windows of pictures.

A picture shows a visual word when the word has a larger share of its windows than usual: 1.25
times the mean. Whether that sets a kind apart is counted as for any other mark,
on folds that are left out. Words that are seen in the same pictures are one pattern: of those that
pass, the most telling one stands for it.

Only windows in the subject's box count, where it was found. Pictures are looked at of a sample:
the most typical of each kind, as unlike one another as these allow.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide.errors import TooFewWindows
from fieldguide.features import BagOfWords, FoundWords
from fieldguide.guide.apart import MOST_ELSEWHERE, Passed, count_shows, deal_folds, find_marks
from fieldguide.guide.summaries import choose_exemplars
from fieldguide.guide.visual_words import PATCH_PX

SAMPLE, SAMPLE_SHARE = 160, 1 / 12  # specimens: so many, or this share of the collection
LEAST_EACH, MOST_EACH = 4, 10  # of a kind
N_WORDS = 200
N_PATTERNS, N_PATCHES = 3, 5
SHOWN_ABOVE = 1.25  # times the mean share of a word over pictures
ALIKE = 0.5  # correlation over pictures, from which on two words are one pattern


def draw_sample(index: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the specimens that are looked at, kind by kind; ``index`` is −1 without a kind."""
    n_kinds = index.max(initial=-1) + 1
    budget = max(SAMPLE, int(SAMPLE_SHARE * len(index)))
    n_each = int(np.clip(budget // max(n_kinds, 1), LEAST_EACH, MOST_EACH))
    chosen = [choose_exemplars(X, np.flatnonzero(index == k), n_each) for k in range(n_kinds)]
    return np.array([i for own in chosen for i in own], dtype=np.int64)


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
    with one_blas_thread():
        pixels = (np.asarray(image) for image in images)
        return list(map_in_order(bag.find_words, pixels, n_jobs=n_jobs))


def keep_inside(found: FoundWords, box: np.ndarray) -> FoundWords:
    """Return the words of the windows whose middle is in a box, in shares of the picture."""
    x0, y0, x1, y1 = box
    inside = (found.x >= x0) & (found.x <= x1) & (found.y >= y0) & (found.y <= y1)
    return FoundWords(*(part[inside] for part in found))


def find_patterns(
    found: Sequence[FoundWords], n_words: int, index: np.ndarray, seed: int
) -> list[list[Passed]]:
    """Return the words that set each kind apart from all others, the most telling first."""
    shares = np.stack([each.histogram(n_words)[:-1] for each in found])
    shows = shares > SHOWN_ABOVE * shares.mean(axis=0)
    counts = count_shows(shows, index, deal_folds(index, seed))
    n_kinds = len(counts.n)
    patterns = []
    for k in range(n_kinds):
        others = [j for j in range(n_kinds) if j != k]
        kept: list[Passed] = []
        for each in find_marks(counts, k, others, MOST_ELSEWHERE):
            own = shows[:, each.column]
            if all(_correlate(own, shows[:, other.column]) < ALIKE for other in kept):
                kept.append(each)
        patterns.append(kept[:N_PATTERNS])
    return patterns


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


def _correlate(a: np.ndarray, b: np.ndarray) -> float:
    spread: Any = a.std() * b.std()
    return float(((a * b).mean() - a.mean() * b.mean()) / spread) if spread > 0 else 1.0
