"""Field marks from the network's own words: what it sees in windows of a kind's pictures.

The 1000 ImageNet outputs in six windows of a picture (:class:`~fieldguide.features.DeepFeatures`),
each column brought to [0, 1] by a :class:`~fieldguide.features.ClassifierPool`, are features that
vote in concert (:class:`~fieldguide.select.ConcertClassifier`), each kind against the rest. The
features with the largest weights are the marks of the kind: "lynx in the bottom-right, cheetah in
the centre; not german shepherd".

The concert is small (k = 8) and leans on features that correlate with the kind on their own
(p1 = 2). The classifier's own choice, about a hundred features of nearly equal weight, names
a few more specimens rightly but cannot be read.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide.chapters.marks.records import SeenMark, WindowMark
from fieldguide.features import ClassifierPool, DeepFeatures
from fieldguide.features.network import N_CLASSES, SIX, Box, find_area
from fieldguide.features.vocabulary import class_names
from fieldguide.guide.journal import pack_row, unpack_row
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.workspace import Workspace
from fieldguide.select import ConcertClassifier

WINDOWS = tuple(SIX)
MEASURED = tuple(window for window in SIX if window != "whole")  # the whole is measured already
K, P1 = 8, 2.0
N_MARKS = 8
N_SHOWN = 4  # specimens for each mark


class WindowVotes(NamedTuple):
    """How the outputs of all windows vote for each kind; columns run over windows, then words."""

    pool: ClassifierPool
    weights: np.ndarray  # (n_kinds, 6000)
    flips: np.ndarray  # (n_kinds, 6000) bool: the vote is 1 − value


def measure_windows(
    work: Workspace,
    images: Sequence[Image.Image],
    names: Sequence[str],
    known: dict[str, np.ndarray],
) -> np.ndarray:
    """Return the outputs in all windows but the whole, (n, 5000), each picture looked at once.

    ``names`` are those of the pictures, as path, NUL, stamp. What an interrupted build kept in the
    journal, or what is ``known``, is not measured again.
    """
    network, kept = work.network, work.journal.kept("windows")
    features = DeepFeatures("logits", windows=MEASURED)
    rows = known | {name: unpack_row(kept[name]) for name in kept}
    todo = [i for i, name in enumerate(names) if name not in rows]
    n, n_done = len(names), len(names) - len(todo)

    def look(i: int) -> tuple[str, np.ndarray]:
        # One picture is one batch, so that the answer does not depend on the others.
        return names[i], features.describe([images[i]], network)[0]

    work.progress("looking for marks", n_done, n)
    for name, row in map_in_order(look, todo, n_jobs=work.n_jobs):
        kept[name] = pack_row(row)
        rows[name] = row
        n_done += 1
        work.progress("looking for marks", n_done, n)
    return np.stack([rows[name] for name in names])


def fit_window_votes(
    outputs: np.ndarray, index: np.ndarray, network: str, n_jobs: int
) -> WindowVotes:
    """Fit the concert of every kind to outputs (n, 6000) of a network and the kind of each row."""
    pool = ClassifierPool("outputs", n_jobs=1).fit_outputs(outputs, network)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # kinds of one specimen
        concert = ConcertClassifier(k=K, p1=P1, refit=None, n_jobs=n_jobs).fit(
            pool.transform_outputs(outputs), index
        )
    weights, flips = concert.weights_, concert.flips_
    if weights.ndim == 1:  # of two kinds, what speaks for one speaks against the other
        weights, flips = np.stack([weights, weights]), np.stack([~flips, flips])
    return WindowVotes(pool, weights, flips)


def list_window_marks(
    votes: WindowVotes, outputs: np.ndarray, index: np.ndarray, ids: np.ndarray
) -> list[list[WindowMark]]:
    """Return the heaviest marks of each kind; ``ids`` are the specimens of the rows."""
    values = votes.pool.transform_outputs(outputs)
    listed = []
    for kind, (weights, flips) in enumerate(zip(votes.weights, votes.flips, strict=True)):
        is_kind = index == kind
        marks = []
        for columns in _group_columns(weights, flips)[:N_MARKS]:
            lacks = bool(flips[columns[0]])
            vote = _average_votes(values[:, columns], weights[columns], lacks)
            own = np.flatnonzero(is_kind)
            best = own[np.argsort(-vote[own], kind="stable")][:N_SHOWN]
            marks.append(
                WindowMark(
                    class_names()[columns[0] % N_CLASSES],
                    lacks,
                    float(weights[columns].sum()),
                    tuple((WINDOWS[j // N_CLASSES], float(weights[j])) for j in columns),
                    float(vote[is_kind].mean()),
                    float(vote[~is_kind].mean()),
                    _find_best_windows(values[best][:, columns], columns, lacks, ids[best]),
                )
            )
        listed.append(marks)
    return listed


def see_window_marks(
    marks: Sequence[WindowMark], pool: ClassifierPool, sighting: Sighting
) -> tuple[SeenMark, ...]:
    """Say how much of each mark a new picture shows."""
    looked = sorted({window for mark in marks for window, _ in mark.windows}, key=WINDOWS.index)
    if not looked:
        return ()
    outputs = np.hstack([np.asarray(seen.logits) for seen in sighting.see(*looked)])
    values = pool.transform_outputs(outputs, looked)
    place = {name: c for c, name in enumerate(class_names())}
    seen = []
    for mark in marks:
        columns = [looked.index(w) * N_CLASSES + place[mark.word] for w, _ in mark.windows]
        weights = np.array([weight for _, weight in mark.windows])
        vote = float(_average_votes(values[:, columns], weights, mark.lacks)[0])
        is_shown = vote >= (mark.typical + mark.elsewhere) / 2
        box = find_seen_box(mark.windows[0][0], *sighting.image.size)
        seen.append(SeenMark(mark, vote, is_shown, box))
    return tuple(seen)


def find_seen_box(window: str, width: int, height: int) -> Box:
    """Return what the network sees of a window, in shares of the picture's sides: a square."""
    return find_area(SIX[window], width, height)


def _group_columns(weights: np.ndarray, flips: np.ndarray) -> list[list[int]]:
    """Return the columns of each word that counts, the heaviest word and column first."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for j in np.argsort(-weights, kind="stable"):
        if weights[j] <= 0:
            break
        groups.setdefault((int(j) % N_CLASSES, bool(flips[j])), []).append(int(j))
    return sorted(groups.values(), key=lambda columns: (-weights[columns].sum(), columns))


def _find_best_windows(
    values: np.ndarray, columns: list[int], lacks: bool, ids: np.ndarray
) -> tuple[tuple[int, str], ...]:
    """Return each specimen with the window where the mark is strongest, from their values."""
    best = (values.argmin if lacks else values.argmax)(axis=1)
    return tuple((int(i), WINDOWS[columns[b] // N_CLASSES]) for i, b in zip(ids, best, strict=True))


def _average_votes(values: np.ndarray, weights: np.ndarray, lacks: bool) -> np.ndarray:
    vote = values.astype(np.float64) @ (weights / weights.sum())
    return 1 - vote if lacks else vote
