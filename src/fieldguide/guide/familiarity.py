"""Whether a picture is of anything that a guide knows.

How familiar a picture is: the mean likeness of its row to those of its three nearest specimens.
Every specimen has such a number too, with itself left out, and copies of it (a burst of one scene
is no proof that the next scene will be as alike). A picture that is less familiar than 97 % of the
specimens is none of the kinds of the guide, or of one that looks quite unlike its specimens.

A picture may also show nothing: no subject stands out in it. How far one does is the confidence of
the finder of subjects, and a picture with less of it than 99 % of the specimens is taken for empty.

Figures, beside what the key itself knows: ``benchmarks/problems/unknown.py``, ``docs/keys.md``.
"""

import numpy as np

N_NEAREST = 3
ALARMS = 0.03  # share of the specimens that would be strangers to the others
COPY = 0.985  # likeness from which on two pictures are copies
LEAST = 20  # specimens, to say what is usual
EMPTY, LEAST_EMPTY = 0.01, 100  # share of the specimens with less of a subject; how many it takes


def measure_familiarity(likeness: np.ndarray) -> np.ndarray:
    """Return the mean of the largest three of each row of likenesses, (n, n_specimens or k)."""
    n = min(N_NEAREST, likeness.shape[1])
    return np.sort(np.partition(likeness, -n, axis=1)[:, -n:], axis=1).mean(axis=1)


def find_threshold(X: np.ndarray, near: np.ndarray) -> float | None:
    """Return how familiar a picture must be; None where there are too few specimens.

    ``near`` are the nearest specimens of each, (n, k), itself not among them.
    """
    if len(X) < LEAST or near.shape[1] < N_NEAREST:
        return None
    # One column of the nearest at a time: all at once would be k times the rows.
    columns = [np.einsum("ij,ij->i", X, X[column]) for column in near.T]
    likeness = np.stack(columns, axis=1)
    usual = np.where(likeness < COPY, likeness, -1.0)
    has_others = (usual > -1).sum(axis=1) >= N_NEAREST
    if has_others.sum() < LEAST:
        return None
    return float(np.quantile(measure_familiarity(usual[has_others]), ALARMS))


def find_least_subject(confidence: np.ndarray | None) -> float | None:
    """Return how sure the finder is of a subject at least; None where too little is known."""
    if confidence is None or len(confidence) < LEAST_EMPTY:
        return None
    return float(np.quantile(confidence, EMPTY))
