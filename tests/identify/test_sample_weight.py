"""A row of weight w is a row that is there w times, for every loss, kernel and form of the rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from tests.identify.test_tree_keys import blobs

from fieldguide.identify import OneVsAllClassifier, OneVsOneClassifier
from fieldguide.svm import KernelSVM, LinearSVM

EXACT = {"tol": 1e-10}
# Of scikit-learn, which asks for equality to seven digits, of probabilities too.
WEIGHT_CHECKS = {
    f"check_sample_weight_equivalence_on_{form}_data": "the functions are equal to the duality "
    "gap that was asked for, and probabilities are calibrated on folds of rows"
    for form in ("dense", "sparse")
}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "sparse"])
@pytest.mark.parametrize("kind", [OneVsAllClassifier, OneVsOneClassifier])
def test_weights_are_repetitions(kind, kernel, loss, seed):
    X, y = blobs(seed, n=40, k=3)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    X = csr_array(X) if kernel == "sparse" else X
    settings = {"gamma": 0.3, "loss": loss, "probability": False, **EXACT}
    name = "rbf" if kernel == "rbf" else "linear"
    weighted = kind(0.5, name, **settings).fit(X, y, weight)
    repeated = kind(0.5, name, **settings).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=2e-4
    )
    plain = kind(0.5, name, **settings).fit(X, y)
    assert abs(plain.decision_function(X) - repeated.decision_function(X)).max() > 1e-2


def test_weights_of_a_given_kernel_matrix(seed):
    X, y = blobs(seed, n=40, k=3)
    weight = np.random.default_rng(seed).integers(0, 3, len(y))
    K = rbf_kernel(X, gamma=0.3)
    given = OneVsAllClassifier(1.0, "precomputed", probability=False, **EXACT).fit(K, y, weight)
    own = OneVsAllClassifier(1.0, "rbf", gamma=0.3, probability=False, **EXACT).fit(X, y, weight)
    np.testing.assert_allclose(given.decision_function(K), own.decision_function(X), atol=1e-4)


def test_weights_leave_the_folds_what_they_are(seed):
    """Weights of one are none, with probabilities too; a row without weight is not held out."""
    X, y = blobs(seed, n=40, k=3)
    plain = OneVsAllClassifier().fit(X, y)
    ones = OneVsAllClassifier().fit(X, y, np.ones(len(y)))
    np.testing.assert_array_equal(plain.predict_proba(X), ones.predict_proba(X))
    some = OneVsAllClassifier().fit(X, y, (np.arange(len(y)) % 4 > 0).astype(float))
    np.testing.assert_array_equal(some.held_out_.rows, np.flatnonzero(np.arange(len(y)) % 4))
    with pytest.raises(ValueError, match="must not be zero for every row"):
        OneVsAllClassifier().fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="one number for each of the 40 rows"):
        OneVsAllClassifier().fit(X, y, [1.0])


@pytest.mark.parametrize("model", [LinearSVM(**EXACT), KernelSVM(gamma=0.3, tol=1e-10)])
def test_weights_of_the_svms(model, seed):
    X, y = blobs(seed, n=40, k=2)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = model.fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(
        weighted, model.fit(X[rows], y[rows]).decision_function(X), atol=2e-4
    )
