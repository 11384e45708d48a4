"""Explicit maps: columns whose plain scalar product is nearly an additive kernel.

A homogeneous kernel is √(xz)·K(ω) with ω = log(z/x), and K is nearly a short sum of cosines,

    K(ω) ≈ a_0 + 2 Σ_{j=1..m} a_j cos(j·L·ω),      L the step, m the order, a_j > 0,

so that a bin becomes the 2m + 1 columns √(a_0 x), √(2 a_j x)·cos(jL·log x) and
√(2 a_j x)·sin(jL·log x). Reading the a_j off the spectrum of K, a_j = L·κ(jL), is the method of
the reference and what a given ``step`` does. By default step and a_j are those of least error

    ε = max over x, z of |approximation − k(x, z)| / ((x + z)/2),

a linear programme for each step. For histograms that sum to 1, ε bounds the error of the whole
kernel. In per cent, for 1, 3, 5, 7, 9, 11 and 13 columns per bin:

    chi2             17.2   2.21   0.842  0.292  0.136  0.062  0.033
    intersection     25.0   9.35   6.50   4.82   3.95   3.36   2.94
    jensen_shannon   11.0   0.793  0.333  0.086  0.040  0.016  0.0081

The spectrum read off at its best step has 5.2 % where χ² here has 2.2, and 2.1 where it has 0.84.

Reference: A. Vedaldi, A. Zisserman, "Efficient additive kernels via explicit feature maps",
IEEE Transactions on Pattern Analysis and Machine Intelligence 34 (2012).
"""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldguide._check import check_choice, check_number
from fieldguide._saving import ROWS, Array, Number, Saved
from fieldguide.errors import InvalidArgument

# Per kernel and order: step, a_0 … a_m. tests/kernels/test_additive_map.py solves them anew.
FITTED: dict[str, tuple[tuple[float, tuple[float, ...]], ...]] = {
    "chi2": (
        (0.8284, (0.8284271,)),
        (0.6192, (0.5329316, 0.2224894)),
        (0.5199, (0.4948654, 0.202056, 0.0463049)),
        (0.4356, (0.4152758, 0.2224043, 0.0460485, 0.0224511)),
        (0.3941, (0.386611, 0.214487, 0.0659143, 0.0167662, 0.0088493)),
        (0.3579, (0.3506927, 0.2156959, 0.0710106, 0.0277183, 0.0048706, 0.0050508)),
        (0.3335, (0.330242, 0.2103463, 0.0802197, 0.0284552, 0.0110295, 0.0021282, 0.0025385)),
    ),
    "intersection": (
        (1.1781, (0.75,)),
        (1.0102, (0.4690992, 0.218734)),
        (0.9080, (0.4906006, 0.1422421, 0.0800005)),
        (0.8378, (0.4423886, 0.1755782, 0.018164, 0.0609716)),
        (0.7964, (0.4409027, 0.1599553, 0.0475886, 0.0092172, 0.0430398)),
        (0.7656, (0.4331851, 0.157706, 0.0475544, 0.023647, 0.004, 0.0337073)),
        (0.7415, (0.4069583, 0.1745009, 0.0345591, 0.0330917, 0.0085484, 0.004, 0.0271527)),
    ),
    "jensen_shannon": (
        (0.6172, (0.8904541,)),
        (0.4763, (0.5958798, 0.1980989)),
        (0.3960, (0.542383, 0.1968009, 0.030345)),
        (0.3360, (0.4625245, 0.2228029, 0.0319546, 0.013555)),
        (0.3089, (0.4354027, 0.2198775, 0.0480237, 0.0100859, 0.0041148)),
        (0.2779, (0.3928831, 0.2241102, 0.0565277, 0.0185589, 0.0016291, 0.0026527)),
        (0.2623, (0.3744346, 0.2210905, 0.065716, 0.0183531, 0.0057106, 0.000732, 0.0011403)),
    ),
}
MOST_ORDERS = 6
BATCH_VALUES = 2**18


class AdditiveKernelMap(Saved, TransformerMixin, BaseEstimator):
    """Map histograms to columns in which a linear method acts like an additive kernel.

    Parameters
    ----------
    kernel : {"chi2", "intersection", "jensen_shannon"}
    order : int
        0 to 6; every bin becomes 2·order + 1 columns.
    step : float, optional
        Sample the kernel's spectrum at multiples of this step. By default the step and the
        weights of least error, which is several times smaller; see the module's table.

    Attributes
    ----------
    step_ : float
    weights_ : ndarray of shape (order + 1,)
        The a_j of the module's formula.
    bin_of_column_ : ndarray of shape (n_columns,), n_columns = n_features_in · (2·order + 1)
        The original bin of each mapped column; columns of one bin are neighbours.

    Examples
    --------
    >>> from fieldguide.kernels import AdditiveKernelMap, chi2_kernel
    >>> X = [[0.5, 0.5, 0.0], [0.2, 0.5, 0.3]]
    >>> mapped = AdditiveKernelMap("chi2", order=2).fit(X)
    >>> Z = mapped.transform(X)
    >>> abs(Z @ Z.T - chi2_kernel(X)).max() < 0.0085
    np.True_
    >>> mapped.get_feature_names_out(["red", "green", "blue"])[:5].tolist()
    ['red', 'red_cos1', 'red_sin1', 'red_cos2', 'red_sin2']
    >>> mapped.bin_of_column_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
    """

    _fitted: ClassVar = {
        **ROWS,
        "step_": Number(above=0),
        "weights_": Array("float64", "n_weights", low=0),
        "bin_of_column_": Array("int64", "n_columns", within=(0, "n_features")),
    }

    def __init__(self, kernel: str = "chi2", order: int = 1, *, step: float | None = None) -> None:
        self.kernel = kernel
        self.order = order
        self.step = step

    def fit(self, X: Any, y: Any = None) -> "AdditiveKernelMap":
        """Check the histograms ``X`` (n, D) and choose step and weights."""
        self._check_arguments()
        X = self._check(X, is_new=True)
        if self.step is None:
            self.step_, weights = FITTED[self.kernel][self.order]
            self.weights_ = np.array(weights)
        else:
            self.step_ = float(self.step)
            frequencies = self.step_ * np.arange(self.order + 1)
            self.weights_ = self.step_ * spectrum(self.kernel, frequencies)
        self.bin_of_column_ = np.repeat(np.arange(X.shape[1]), 2 * self.order + 1)
        return self

    def transform(self, X: Any) -> Any:
        """Return the mapped columns of ``X``, shape (n, D · (2·order + 1)); sparse if ``X`` is."""
        check_is_fitted(self)
        X = self._check(X, is_new=False)
        width = 2 * len(self.weights_) - 1
        if sparse.issparse(X):
            shape = (X.shape[0], X.shape[1] * width)
            narrow = np.int32 if max(shape[1], X.nnz * width) < 2**31 else np.int64
            beside = np.arange(width, dtype=narrow)
            columns = X.indices[:, None].astype(narrow) * narrow(width) + beside
            values = np.empty((X.nnz, width), dtype=X.dtype)
            map_values(X.data, self.step_, self.weights_, values)
            parts = (values.ravel(), columns.ravel(), X.indptr.astype(narrow) * narrow(width))
            kind = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
            return kind(parts, shape=shape)
        values = np.empty((X.size, width), dtype=X.dtype)
        map_values(X.ravel(), self.step_, self.weights_, values)
        return values.reshape(X.shape[0], -1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for each column: that of the bin, then ``_cos1``, ``_sin1`` and so on."""
        check_is_fitted(self)
        names = self._input_names(input_features)
        turns = range(1, len(self.weights_))
        endings = ["", *(f"_{wave}{j}" for j in turns for wave in ("cos", "sin"))]
        return np.array([f"{name}{ending}" for name in names for ending in endings], dtype=object)

    def _input_names(self, given: Any) -> list[Any]:
        known = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{k}" for k in range(self.n_features_in_)] if known is None else list(known)
        if len(given) != self.n_features_in_:
            raise InvalidArgument(
                f"input_features of AdditiveKernelMap should have length equal to number of "
                f"features, {self.n_features_in_}; got {len(given)}."
            )
        if known is not None and list(given) != list(known):
            raise InvalidArgument(
                "input_features is not equal to feature_names_in_ of AdditiveKernelMap; "
                "pass the names that it was fitted with, or none."
            )
        return list(given)

    def _check_arguments(self) -> None:
        check_choice("AdditiveKernelMap", "kernel", self.kernel, tuple(FITTED))
        check_number("AdditiveKernelMap", "order", self.order, 0, MOST_ORDERS, integer=True)
        if self.step is not None:
            check_number("AdditiveKernelMap", "step", self.step, 1e-6, 100)

    def _check_opened(self) -> None:
        width = 2 * self.order + 1
        is_whole = len(self.bin_of_column_) == self.n_features_in_ * width
        if len(self.weights_) != self.order + 1 or not is_whole:
            raise InvalidArgument("weights_ or bin_of_column_ do not fit the order.")

    def _check(self, X: Any, *, is_new: bool) -> Any:
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=is_new
        )
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # the map of a sum is not the sum of the maps
        least = (X.data if sparse.issparse(X) else X).min(initial=0)
        if least < 0:
            raise InvalidArgument(
                f"Negative values in data passed to AdditiveKernelMap (least {least:g}); "
                "histograms have none: clip them, or use a kernel of vectors."
            )
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def spectrum(kernel: str, frequency: np.ndarray) -> np.ndarray:
    """Return the Fourier transform κ of K at the given frequencies."""
    decay: np.ndarray  # sech(πλ)
    decay = 2 * np.exp(-np.pi * frequency) / (1 + np.exp(-2 * np.pi * frequency))
    if kernel == "chi2":
        return decay
    tail = 1 / (1 + 4 * frequency**2)
    return 2 / np.pi * tail if kernel == "intersection" else decay * tail / np.log(2)


def map_values(x: np.ndarray, step: float, weights: np.ndarray, out: np.ndarray) -> None:
    """Write the columns of each value of ``x`` (n,) to ``out`` (n, 2·order + 1); 0 maps to 0."""
    for low in range(0, len(x), BATCH_VALUES):
        part, mapped = x[low : low + BATCH_VALUES].astype(np.float64), out[low : low + BATCH_VALUES]
        root = np.sqrt(part)
        angle = step * np.log(part, out=np.zeros_like(part), where=part > 0)
        mapped[:, 0] = np.sqrt(weights[0]) * root
        for j in range(1, len(weights)):
            scaled = np.sqrt(2 * weights[j]) * root
            mapped[:, 2 * j - 1] = scaled * np.cos(j * angle)
            mapped[:, 2 * j] = scaled * np.sin(j * angle)
