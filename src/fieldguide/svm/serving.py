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

from fieldguide._check import InvalidArgument
from fieldguide._jit import jit
from fieldguide.svm._kernels import row_dot

# Of |w| |x|: what the sums of single precision may lose.
_ROUNDING = 1e-5


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

    def best(self, x: np.ndarray) -> int:
        """Return the number of the largest function at one row, a float32 array (n_features,).

        ``x`` must be finite and contiguous; nothing is checked.
        """
        return _best(
            *(self.coef.reshape(-1), self.intercept, self._bytes, self._unit),
            *(self._lost, self._kept, self._top, x),
        )

    def predict_one(self, x: np.ndarray) -> Any:
        """Return the class of one row, as :meth:`best` takes it."""
        return self.classes[self.best(x)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of a float32 array (n, n_features); nothing is checked."""
        return self.classes[(X @ self.coef.T + self.intercept).argmax(axis=1)]


@jit
def _whole_dots(bytes_, rounded, out):
    """Write the sums of products of bytes and 16-bit numbers to out, all in 32 bits.

    The compiler needs to see a 32-bit result, or it sums in 64 bits at a quarter of the speed.
    """
    for k in range(bytes_.shape[0]):
        row = bytes_[k]
        total = np.int32(0)
        for j in range(rounded.shape[0]):
            total += np.int32(np.int16(row[j])) * np.int32(rounded[j])
        out[k] = total


@jit
def _best(coef, intercept, bytes_, unit, lost, kept, top, x):
    """Return argmax_k coef_k · x + intercept_k. O(K d / 4) bytes of memory read."""
    n_classes, d = bytes_.shape
    largest = np.float32(0)
    for j in range(d):
        largest = max(largest, abs(x[j]))
    x_unit = largest / np.float32(top) if largest > 0 else np.float32(1)
    rounded = np.empty(d, dtype=np.int16)
    norm, missed = 0.0, 0.0
    for j in range(d):
        rounded[j] = np.int16(np.rint(x[j] / x_unit))
        norm += x[j] * x[j]
        missed += (x[j] - rounded[j] * x_unit) ** 2
    norm, missed = np.sqrt(norm), np.sqrt(missed)
    dots = np.empty(n_classes, dtype=np.int32)
    _whole_dots(bytes_, rounded, dots)
    high = np.empty(n_classes, dtype=np.float32)
    floor = -np.inf
    for k in range(n_classes):
        score = unit[k] * x_unit * np.float32(dots[k]) + intercept[k]
        error = lost[k] * norm + kept[k] * missed + _ROUNDING * abs(score)
        high[k] = score + error
        floor = max(floor, score - error)
    winner, winning = 0, -np.inf
    none, width = np.empty(0, dtype=np.uint32), d
    for k in range(n_classes):
        if high[k] >= floor:
            score = row_dot(coef, none, np.empty(0, dtype=np.int64), width, k, x) + intercept[k]
            if score > winning:
                winner, winning = k, score
    return winner
