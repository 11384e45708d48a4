"""One row against many linear functions, as fast as memory allows, for serving.

The largest of w_k·x + b_k over K functions is found in two steps. Weights are kept once more as
bytes, w_k ≈ s_k q_k, and so is the row, x ≈ t p, in 16 bits; one pass over a quarter of the memory
gives every score within

    ε_k = |w_k − s_k q_k| |x| + |s_k q_k| |x − t p|        (Cauchy–Schwarz)

Only functions that can still be the largest, a_k + ε_k ≥ max (a − ε), are evaluated in full, so
the answer is that of the full product.

| symbol | meaning |
|---|---|
| q_k, s_k | rounded weights in −127 … 127, and their unit |
| p, t | rounded row, and its unit |
| a_k | s_k t (q_k·p) + b_k |
"""

from typing import Any

import numpy as np

from fieldguide._jit import inner_jit, jit
from fieldguide.errors import InvalidArgument
from fieldguide.svm._kernels import dot_single, place_largest

# Of |w| |x|: what the sums of single precision may lose.
_ROUNDING = np.float32(1e-5)
_NO_FRACTION = np.float32(1.5 * 2**23)
# Outside of these sizes squares vanish or overflow in single precision, and bounds with them: all
# functions are evaluated.
_SMALLEST, _LARGEST = np.float32(1e-12), np.float32(1e15)


class FastScorer:
    """Functions w_k·x + b_k, evaluated without any check of the input.

    Parameters
    ----------
    coef : ndarray of shape (n_classes, n_features)
    intercept : ndarray of shape (n_classes,)
    classes : ndarray of shape (n_classes,), optional
        What :meth:`predict` answers; numbers 0 to n_classes - 1 by default.

    Examples
    --------
    >>> scorer = FastScorer(np.eye(3), np.zeros(3), np.array(["ant", "bee", "cod"]))
    >>> str(scorer.predict_one(np.array([0, 2, 1], dtype=np.float32)))
    'bee'
    """

    def __init__(self, coef: Any, intercept: Any, classes: Any = None) -> None:
        self.coef = np.ascontiguousarray(coef, dtype=np.float32)
        self.intercept = np.ascontiguousarray(intercept, dtype=np.float32)
        if self.coef.ndim != 2 or self.intercept.shape != self.coef.shape[:1]:
            raise InvalidArgument(
                f"coef must be (classes, features) and intercept (classes,); got "
                f"{self.coef.shape} and {self.intercept.shape}."
            )
        if not (np.isfinite(self.coef).all() and np.isfinite(self.intercept).all()):
            raise InvalidArgument("coef or intercept holds NaN or infinity; train again.")
        self.classes = np.arange(len(self.coef)) if classes is None else np.asarray(classes)
        largest = np.abs(self.coef).max(axis=1, initial=0)
        self._unit = np.where(largest > 0, largest / 127, 1).astype(np.float32)
        self._bytes = np.rint(self.coef / self._unit[:, None]).astype(np.int8)
        rounded = self._bytes * self._unit[:, None]
        norm = np.linalg.norm(self.coef, axis=1)
        self._lost = (np.linalg.norm(self.coef - rounded, axis=1) + _ROUNDING * norm).astype("f4")
        self._kept = np.linalg.norm(rounded, axis=1).astype(np.float32)
        # The largest sum of products must fit in 32 bits.
        self._top = float(min(32767, (2**31 - 1) // (127 * max(self.coef.shape[1], 1))))
        self._arguments = (
            *(self.coef.reshape(-1), self.intercept, self._bytes, self._unit),
            *(self._lost, self._kept, self._top),
        )

    def best(self, x: np.ndarray) -> int:
        """Return the number of the largest function at one row, a float32 array (n_features,).

        ``x`` must be finite and contiguous; nothing is checked.
        """
        best: int = _best(*self._arguments, x)
        return best

    def predict_one(self, x: np.ndarray) -> Any:
        """Return the class of one row, as :meth:`best` takes it."""
        return self.classes[self.best(x)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of a float32 array (n, n_features); nothing is checked."""
        classes: np.ndarray = self.classes[(X @ self.coef.T + self.intercept).argmax(axis=1)]
        return classes


@jit
def _whole_dots(bytes_: np.ndarray, rounded: np.ndarray, out: np.ndarray) -> None:
    """Write the sums of products of bytes and 16-bit numbers to out, all in 32 bits.

    The compiler needs to see a 32-bit result, or it sums in 64 bits at a quarter of the speed.
    """
    for k in range(bytes_.shape[0]):
        row = bytes_[k]
        total = np.int32(0)
        for j in range(rounded.shape[0]):
            total += np.int32(np.int16(row[j])) * np.int32(rounded[j])
        out[k] = total


@inner_jit
def _largest_size(x: np.ndarray) -> np.floating[Any]:
    """Return max |x|. The bits of floats above 0 are ordered as whole numbers are, whose maximum
    the vector unit can take."""
    bits = x.view(np.int32)
    largest = np.int32(0)
    for j in range(bits.shape[0]):
        size = bits[j] & np.int32(0x7FFFFFFF)
        largest = size if size > largest else largest
    out = np.empty(1, dtype=np.int32)
    out[0] = largest
    largest_size: np.floating[Any] = out.view(np.float32)[0]
    return largest_size


@inner_jit(fastmath={"reassoc", "contract", "nsz"})
def _sum_squares(x: np.ndarray) -> np.floating[Any]:
    total = np.float32(0)
    for j in range(x.shape[0]):
        total += x[j] * x[j]
    return total


@inner_jit
def _round_row(
    x: np.ndarray,
    per_unit: np.floating[Any],
    unit: np.floating[Any],
    rounded: np.ndarray,
    left: np.ndarray,
) -> None:
    """Write x in whole units to ``rounded``, and what that leaves out to ``left``. O(d)."""
    for j in range(x.shape[0]):
        # Numbers this large have no digits after the point: the sum rounds, without a call.
        whole = (x[j] * per_unit + _NO_FRACTION) - _NO_FRACTION
        rounded[j] = np.int16(whole)
        left[j] = x[j] - whole * unit


@inner_jit
def _bound_scores(
    dots: np.ndarray,
    unit: np.ndarray,
    x_unit: np.floating[Any],
    intercept: np.ndarray,
    lost: np.ndarray,
    kept: np.ndarray,
    norm: np.floating[Any],
    missed: np.floating[Any],
    score: np.ndarray,
    high: np.ndarray,
) -> None:
    """Write approximate scores and upper bounds of the exact ones. O(K)."""
    for k in range(dots.shape[0]):
        value = unit[k] * x_unit * np.float32(dots[k]) + intercept[k]
        score[k] = value
        high[k] = value + (lost[k] * norm + kept[k] * missed + _ROUNDING * abs(value))


@jit
def _best(
    coef: np.ndarray,
    intercept: np.ndarray,
    bytes_: np.ndarray,
    unit: np.ndarray,
    lost: np.ndarray,
    kept: np.ndarray,
    top: float,
    x: np.ndarray,
) -> int:
    """Return argmax_k coef_k · x + intercept_k. O(K d / 4) bytes of memory read."""
    n_classes, d = bytes_.shape
    largest = _largest_size(x)
    if not _SMALLEST < largest < _LARGEST:
        best: int = _best_of_all(coef, intercept, d, x)
        return best
    x_unit = largest / np.float32(top)
    rounded, left = np.empty(d, dtype=np.int16), np.empty(d, dtype=np.float32)
    _round_row(x, np.float32(top) / largest, x_unit, rounded, left)
    # A little more than the norms: sums of single precision may be too small.
    norm = np.float32(1.0001) * np.sqrt(_sum_squares(x))
    missed = np.float32(1.0001) * np.sqrt(_sum_squares(left))
    dots = np.empty(n_classes, dtype=np.int32)
    _whole_dots(bytes_, rounded, dots)
    score = np.empty(n_classes, dtype=np.float32)
    high = np.empty(n_classes, dtype=np.float32)
    _bound_scores(dots, unit, x_unit, intercept, lost, kept, norm, missed, score, high)
    # The likeliest first: its exact score rules out nearly all others.
    winner: int = place_largest(score)
    winning = _score(coef, intercept, d, winner, x)
    for k in range(n_classes):
        if high[k] >= winning and k != winner:
            value = _score(coef, intercept, d, k, x)
            if value > winning or (value == winning and k < winner):
                winner, winning = k, value
    return winner


@inner_jit
def _score(coef: np.ndarray, intercept: np.ndarray, d: int, k: int, x: np.ndarray) -> float:
    """Return w_k·x + b_k. O(d)."""
    score: float = dot_single(coef[k * d : (k + 1) * d], x) + intercept[k]
    return score


@inner_jit
def _best_of_all(coef: np.ndarray, intercept: np.ndarray, d: int, x: np.ndarray) -> int:
    """Return the largest function by evaluating all. O(K d)."""
    winner, winning = 0, _score(coef, intercept, d, 0, x)
    for k in range(1, intercept.shape[0]):
        value = _score(coef, intercept, d, k, x)
        if value > winning:
            winner, winning = k, value
    return winner
