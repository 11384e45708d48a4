"""Sums over rows from which a concert can be fitted, whatever the number of rows was.

For n features and K classes they hold the number of rows of each class, the sum of each column in
each class, its range, and FᵀF, of all rows or of each class. Sums of parts of the rows, computed
anywhere, add up to the sums of all: flips, ranges, bias, balance and calibration are algebra on
them.
"""

from typing import Any

import numpy as np

from fieldguide._check import check_choice
from fieldguide._saving import Array, OneOf, Part
from fieldguide.errors import InvalidArgument
from fieldguide.select.objective import read_matrix

_ROWS_PER_BLOCK = 4096
GRAMS = ("whole", "per_class", None)
# With more rows than that for each feature, Gram matrices are smaller and quicker than rows, and
# with more classes than that for each feature one Gram matrix is quicker than as many looks at
# the rows …
_ROWS_PER_FEATURE = 2
_FEATURES_PER_CLASS = 24
# … unless they are one for each class and larger than this.
_LARGEST_GRAMS_BYTES = 2**30


def plan_sums(shape: tuple[int, ...], n_classes: int, balance: bool) -> str | None:
    """Return which Gram matrices to make of rows of a ``shape``, None to work on the rows."""
    n_rows, n = shape
    is_small = (n_classes if balance else 1) * n * n * 8 <= _LARGEST_GRAMS_BYTES
    is_quick = not balance and n <= _FEATURES_PER_CLASS * n_classes
    if not is_small or not (is_quick or n_rows > _ROWS_PER_FEATURE * n):
        return None
    return "per_class" if balance else "whole"


def sum_rows(
    F: np.ndarray, index: np.ndarray, n_classes: int, *, balance: bool
) -> tuple["FeatureSums", dict[str, Any]]:
    """Return the sums of rows, and the rows F and index by name where the sums are not enough."""
    gram = plan_sums(F.shape, n_classes, balance)
    sums = FeatureSums(n_classes, F.shape[1], gram=gram).add(F, index)
    return sums, {} if gram else {"F": F, "index": index}


class FeatureSums:
    """Counts, sums and Gram matrices of the rows of each class.

    Parameters
    ----------
    n_classes, n_features : int
    gram : {"whole", "per_class", None}
        One Gram matrix of all rows, one for each class (the balance of classes needs them), or
        none (rows are at hand).

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
    totals : ndarray of shape (n_classes, n_features)
    squares : ndarray of shape (n_features,)
        Sum of the squares of each column.
    grams : ndarray of shape (n_grams, n_features, n_features)
    low, high : ndarray of shape (n_features,)
        Least and largest value of each column.

    Examples
    --------
    >>> here = FeatureSums(2, 3).add(np.array([[0.1, 0.2, 0.3]]), [0])
    >>> there = FeatureSums(2, 3).add(np.array([[0.9, 0.8, 0.7]]), [1])
    >>> (here + there).counts.tolist()
    [1.0, 1.0]
    """

    def __init__(self, n_classes: int, n_features: int, *, gram: str | None = "whole") -> None:
        check_choice("FeatureSums", "gram", gram, GRAMS)
        self.gram = gram
        self.counts = np.zeros(n_classes)
        self.totals = np.zeros((n_classes, n_features))
        self.squares = np.zeros(n_features)
        n_grams = {"whole": 1, "per_class": n_classes, None: 0}[gram]
        self.grams = np.zeros((n_grams, n_features, n_features))
        self.low = np.full(n_features, np.inf)
        self.high = np.full(n_features, -np.inf)

    def add(self, F: np.ndarray, index: Any) -> "FeatureSums":
        """Add rows with the class numbers ``index`` in place, a block at a time.

        F may be memory-mapped: a few thousand rows are in memory at once.
        """
        F, index = read_matrix(F), np.asarray(index)
        if F.shape[1] != self.totals.shape[1] or index.shape != (len(F),):
            raise InvalidArgument(
                f"FeatureSums of {self.totals.shape[1]} features cannot take {F.shape[0]} rows of "
                f"{F.shape[1]} with {index.size} classes; give one class for each row."
            )
        for first in range(0, len(F), _ROWS_PER_BLOCK):
            rows = F[first : first + _ROWS_PER_BLOCK].astype(np.float64)
            self._add_block(rows, index[first : first + _ROWS_PER_BLOCK])
        return self

    def __add__(self, other: "FeatureSums") -> "FeatureSums":
        """Return the sums of the rows of both."""
        if self.totals.shape != other.totals.shape or self.gram != other.gram:
            raise InvalidArgument(
                f"FeatureSums can only be added to those of the same classes and features; got "
                f"{self.totals.shape}, {self.gram!r} and {other.totals.shape}, {other.gram!r}."
            )
        both = FeatureSums(*self.totals.shape, gram=self.gram)
        for name in ("counts", "totals", "squares", "grams"):
            setattr(both, name, getattr(self, name) + getattr(other, name))
        both.low = np.minimum(self.low, other.low)
        both.high = np.maximum(self.high, other.high)
        return both

    def whole_gram(self) -> np.ndarray | None:
        """Return FᵀF of all rows, if it is known."""
        if self.gram is None:
            return None
        gram: np.ndarray = self.grams[0] if self.gram == "whole" else self.grams.sum(axis=0)
        return gram

    def _add_block(self, rows: np.ndarray, index: np.ndarray) -> None:
        self.low = np.minimum(self.low, rows.min(axis=0))
        self.high = np.maximum(self.high, rows.max(axis=0))
        self.squares += np.einsum("ij,ij->j", rows, rows)
        self.counts += np.bincount(index, minlength=len(self.counts))
        for k in np.unique(index):
            own = rows[index == k]
            self.totals[k] += own.sum(axis=0)
            if self.gram == "per_class":
                self.grams[k] += own.T @ own
        if self.gram == "whole":
            self.grams[0] += rows.T @ rows


def _check_sums(**parts: Any) -> FeatureSums:
    made = FeatureSums(*parts["totals"].shape, gram=None)
    vars(made).update(parts)
    if len(made.grams) != {"whole": 1, "per_class": len(made.counts), None: 0}[made.gram]:
        raise InvalidArgument(f"grams do not fit gram={made.gram!r}.")
    return made


_COLUMNS = Array("float64", "n_features", finite=False)
SUMS = Part(
    FeatureSums,
    {
        "gram": OneOf(*GRAMS),
        "counts": Array("float64", "n_classes", low=0),
        "totals": Array("float64", "n_classes", "n_features"),
        "squares": Array("float64", "n_features"),
        "grams": Array("float64", "n_grams", "n_features", "n_features"),
        "low": _COLUMNS,
        "high": _COLUMNS,
    },
    _check_sums,
    apart=True,
)
