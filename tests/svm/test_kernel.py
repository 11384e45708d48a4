import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from fieldguide.errors import FieldguideWarning
from fieldguide.kernels import KERNELS
from fieldguide.svm.c_path import C_GRID
from fieldguide.svm.kernel import KernelSVM


def histograms(seed, n=80, d=12):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.gamma(0.5 + 0.5 * y[:, None] * (np.arange(d) < d // 2), 1.0, size=(n, d))
    X[rng.random((n, d)) < 0.4] = 0
    X[:, 0] += 0.1
    return X / X.sum(axis=1, keepdims=True), np.array(["grebe", "heron"])[y]


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_every_kernel_gives_libsvms_classifier(kernel, seed):
    X, y = histograms(seed)
    ours = KernelSVM(C=5.0, kernel=kernel, tol=1e-9).fit(X, y)
    options = {"gamma": ours.gamma_} if ours.gamma_ is not None else {}
    peer = SVC(C=5.0, kernel="precomputed", tol=1e-9).fit(KERNELS[kernel](X, **options), y)
    T, _ = histograms(seed + 1, n=20)
    expected = peer.decision_function(KERNELS[kernel](T, X, **options))
    np.testing.assert_allclose(ours.decision_function(T), expected, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(T), peer.predict(KERNELS[kernel](T, X, **options)))


def test_precomputed_and_sparse_are_the_same_classifier(seed):
    X, y = histograms(seed)
    T, _ = histograms(seed + 1, n=20)
    dense = KernelSVM(kernel="chi2", tol=1e-8).fit(X, y)
    rows = KernelSVM(kernel="chi2", tol=1e-8).fit(sparse.csr_array(X), y)
    given = KernelSVM(kernel="precomputed", tol=1e-8).fit(KERNELS["chi2"](X), y)
    np.testing.assert_allclose(
        dense.decision_function(T), rows.decision_function(sparse.csr_array(T)), atol=1e-4
    )
    np.testing.assert_allclose(
        dense.decision_function(T), given.decision_function(KERNELS["chi2"](T, X)), atol=1e-4
    )


def test_class_balance_is_libsvms(seed):
    X, y = histograms(seed)
    keep = np.r_[np.flatnonzero(y == "grebe"), np.flatnonzero(y == "heron")[:8]]
    X, y = X[keep], y[keep]
    ours = KernelSVM(class_weight="balanced", tol=1e-9).fit(X, y)
    peer = SVC(class_weight="balanced", gamma=ours.gamma_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)


def test_a_warm_start_takes_fewer_steps(seed):
    X, y = histograms(seed, n=300)
    svm = KernelSVM(C=1.0, warm_start=True, tol=1e-6).fit(X, y)
    cold = KernelSVM(C=1.1, tol=1e-6).fit(X, y)
    warm = svm.set_params(C=1.1).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-2)


def test_running_out_of_steps_is_said(seed):
    X, y = histograms(seed)
    with pytest.warns(FieldguideWarning, match="duality gap of .* where .* was asked for; raise"):
        KernelSVM(C=100.0, max_steps=2, tol=1e-9).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_C_by_cross_validation(loss, seed):
    X, y = histograms(seed)
    found = KernelSVM(C="cv", kernel="chi2", loss=loss, random_state=3).fit(X, y)
    assert found.C_ in C_GRID
    fixed = KernelSVM(C=found.C_, kernel="chi2", loss=loss).fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), fixed.decision_function(X))
    assert fixed.C_ == found.C_


def test_the_squared_hinge_is_libsvm_with_a_ridge(seed):
    X, y = histograms(seed)
    K = KERNELS["chi2"](X)
    ours = KernelSVM(C=2.0, kernel="precomputed", loss="squared_hinge", tol=1e-9).fit(K, y)
    peer = SVC(C=1e9, kernel="precomputed", tol=1e-9).fit(K + np.eye(len(K)) / 4, y)
    margins = K[:, peer.support_] @ peer.dual_coef_[0] + peer.intercept_[0]
    np.testing.assert_allclose(ours.decision_function(K), margins, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel of KernelSVM must be one of"),
        ({"C": -1}, "C of KernelSVM must be a number"),
        ({"class_weight": "heavy"}, "class_weight of KernelSVM"),
        ({"gamma": 0}, "gamma of KernelSVM"),
        ({"C": "best"}, 'C of KernelSVM must be a number or "cv"'),
        ({"loss": "log"}, "loss of KernelSVM must be one of"),
    ],
)
def test_bad_arguments_are_clear(arguments, message, seed):
    X, y = histograms(seed)
    with pytest.raises(ValueError, match=message):
        KernelSVM(**arguments).fit(X, y)


def test_bad_data_is_clear(seed):
    X, y = histograms(seed)
    with pytest.raises(ValueError, match="KernelSVM needs 2 classes; the data has 1 class"):
        KernelSVM().fit(X, ["a"] * len(X))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        KernelSVM().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="egative"):
        KernelSVM(kernel="chi2").fit(X - 0.5, y)
