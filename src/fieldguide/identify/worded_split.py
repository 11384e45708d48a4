"""Splits of classes that a single word tells apart.

``words[k, j]`` is how often class k shows word j. Two sides are as far apart in words as the word
that differs most between them:

    max_j | mean of words[k, j] over the right side − mean over the left side |

Each class weighs the same, and those that go both ways are on no side.
"""

from typing import Any

import numpy as np

from fieldguide.errors import InvalidArgument

_LEAST_SHARE = 0.25  # of the classes, in the smaller group that a word makes


def check_words(owner: str, words: Any, n_classes: int | None = None) -> np.ndarray:
    """Return the shares as an array; they must be those of ``n_classes``, where that is known."""
    try:
        shares = np.asarray(words, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    is_table = shares.ndim == 2 and shares.size > 0
    if not is_table or (n_classes is not None and len(shares) != n_classes):
        rows = "n_classes" if n_classes is None else n_classes
        raise InvalidArgument(
            f"words of {owner} must be numbers of shape ({rows}, n_words), a row for each class in "
            f"the order of np.unique(y); got shape {np.shape(words)}."
        )
    if not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidArgument(f"words of {owner} must be shares from 0 to 1; got others.")
    return shares


def measure_apart(words: np.ndarray, colors: np.ndarray) -> float:
    """Return how far apart the two sides of some classes are in words.

    Parameters
    ----------
    words : array of shape (n_classes, n_words)
    colors : array of shape (n_classes,)
        −1, 0 or +1; there is a class on each side.

    Examples
    --------
    >>> measure_apart(np.array([[1.0, 0.2], [0.8, 0.6], [0.0, 0.4]]), np.array([1, 1, -1]))
    0.9
    """
    right, left = (words[colors == side].mean(axis=0) for side in (1, -1))
    return float(np.abs(right - left).max())


def color_by_words(words: np.ndarray, n: int) -> list[np.ndarray]:
    """Return up to ``n`` different colourings, each by a word: most show it, or most do not.

    Those come first whose two groups the word tells apart best. Groups that are too uneven, with
    less than a quarter of the classes, are left out.
    """
    colors = np.sign(words - 0.5).astype(np.int8).T
    sizes = np.stack([(colors == side).sum(axis=1) for side in (1, -1)])
    is_even = sizes.min(axis=0) >= max(1.0, _LEAST_SHARE * len(words))
    apart = np.full(len(colors), -np.inf)
    for j in np.flatnonzero(is_even):
        apart[j] = words[colors[j] > 0, j].mean() - words[colors[j] < 0, j].mean()
    found: dict[bytes, np.ndarray] = {}
    for j in np.argsort(-apart, kind="stable"):
        if len(found) == n or not is_even[j]:
            break
        # The opposite of a word gives the same two groups.
        sign = 1 if colors[j, np.flatnonzero(colors[j])[0]] > 0 else -1
        found.setdefault((sign * colors[j]).tobytes(), colors[j])
    return list(found.values())
