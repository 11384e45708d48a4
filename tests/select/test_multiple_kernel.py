import numpy as np
import pytest
from tests.reference.convex_mkl import optimum

from fieldguide.kernels import chi2_kernel, rbf_kernel
from fieldguide.select import MultipleKernelClassifier
from fieldguide.select.multiple_kernel import mean_distance
from fieldguide.svm import KernelSVM

BLOCKS = {"shape": slice(0, 3), "colour": slice(3, 6), "place": [6, 7, 8]}


def draw(n=40, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = np.abs(rng.normal(size=(n, 9)))
    X[:, 3:6] += 0.8 * np.eye(3)[y]
    return X, y


def objective(model, X, y, K):
    sign = np.where(y == model.classes_[1], 1, -1)
    beta = model.dual_coef_[0]
    slack = np.maximum(0, 1 - sign * (K @ beta + model.intercept_[0]))
    return 0.5 * beta @ K @ beta + model.C * slack.sum()


@pytest.mark.parametrize("kernel", ["linear", "chi2", "rbf", "exponential_chi2"])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_optimum_is_that_of_a_convex_solver(kernel, C):
    X, y = draw(n=18)
    model = MultipleKernelClassifier(BLOCKS, kernel, C=C, tol=1e-5).fit(X, y)
    grams = [b.gram(b.rows) / v for b, v in zip(model._blocks, model.scales_, strict=True)]
    best = optimum(grams, np.where(y, 1.0, -1.0), C)
    K = np.tensordot(model.weights_, grams, axes=1)
    assert model.gap_ <= 1e-5
    assert model.weights_.sum() == pytest.approx(1)
    assert objective(model, X, y, K) == pytest.approx(best, rel=2e-5)
    np.testing.assert_allclose(
        model.decision_function(X), K @ model.dual_coef_[0] + model.intercept_[0], atol=1e-9
    )


def test_the_block_that_matters_has_the_weight():
    X, y = draw(n=120)
    model = MultipleKernelClassifier(BLOCKS, "chi2", C=0.3).fit(X, y)
    assert model.block_names_ == ["shape", "colour", "place"]
    assert model.weights_[1] > 0.8
    X_new, y_new = draw(n=200, seed=1)
    assert model.score(X_new, y_new) > 0.7


def test_renamed_blocks_and_rows_in_another_order_change_nothing():
    X, y = draw()
    model = MultipleKernelClassifier(BLOCKS, "chi2", tol=1e-6).fit(X, y)
    turned = {name: BLOCKS[name] for name in ("place", "shape", "colour")}
    order = np.random.default_rng(0).permutation(len(y))
    other = MultipleKernelClassifier(turned, "chi2", tol=1e-6).fit(X[order], y[order])
    np.testing.assert_allclose(other.weights_[[1, 2, 0]], model.weights_, atol=1e-3)


def test_one_block_is_the_svm_of_its_kernel():
    X, y = draw()
    K = chi2_kernel(X)
    scale = mean_distance(K)
    model = MultipleKernelClassifier({"all": slice(None)}, "chi2", C=0.7, tol=1e-6).fit(X, y)
    svm = KernelSVM(C=0.7, kernel="precomputed", tol=1e-8).fit(K / scale, y)
    assert model.weights_.tolist() == [1.0]
    np.testing.assert_allclose(
        model.decision_function(X), svm.decision_function(K / scale), atol=1e-3
    )


def test_the_scale_of_a_block_does_not_matter_unless_asked_for():
    X, y = draw()
    far = X * np.repeat([1.0, 1.0, 100.0], 3)
    same = [MultipleKernelClassifier(BLOCKS, "chi2", tol=1e-6).fit(rows, y) for rows in (X, far)]
    np.testing.assert_allclose(same[0].weights_, same[1].weights_, atol=1e-3)
    raw = MultipleKernelClassifier(BLOCKS, "chi2", normalize=False).fit(far, y)
    assert raw.weights_[2] > same[1].weights_[2]
    assert (raw.scales_ == 1).all()


def test_gram_matrices_may_be_given_side_by_side():
    X, y = draw()
    X_new, _ = draw(n=15, seed=1)
    kernels = {"shape": "chi2", "colour": "linear", "place": "chi2"}
    model = MultipleKernelClassifier(BLOCKS, kernels, tol=1e-6).fit(X, y)

    def side_by_side(A):
        blocks = [(A[:, where], X[:, where]) for where in BLOCKS.values()]
        named = zip(blocks, kernels.values(), strict=True)
        return np.hstack([chi2_kernel(a, b) if k == "chi2" else a @ b.T for (a, b), k in named])

    given = MultipleKernelClassifier(kernel="precomputed", tol=1e-6).fit(side_by_side(X), y)
    np.testing.assert_allclose(given.weights_, model.weights_, atol=1e-6)
    np.testing.assert_allclose(
        given.decision_function(side_by_side(X_new)), model.decision_function(X_new), atol=1e-6
    )


def test_three_classes_have_weights_of_their_own():
    X, y = draw(n=90, n_classes=3)
    model = MultipleKernelClassifier(BLOCKS, "chi2").fit(X, y)
    threads = MultipleKernelClassifier(BLOCKS, "chi2", n_jobs=2).fit(X, y)
    assert model.weights_.shape == (3, 3)
    np.testing.assert_array_equal(model.weights_, threads.weights_)
    alone = MultipleKernelClassifier(BLOCKS, "chi2").fit(X, y == 1)
    np.testing.assert_allclose(model.weights_[1], alone.weights_, atol=1e-12)
    assert model.score(X, y) > 0.7


def test_a_block_without_differences_has_no_weight():
    X, y = draw()
    X[:, :3] = 0.5
    model = MultipleKernelClassifier(BLOCKS, "rbf").fit(X, y)
    assert model.weights_[0] == 0
    assert np.isinf(model.scales_[0])
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="no block that varies"):
        MultipleKernelClassifier().fit(np.ones((6, 2)), [0, 1] * 3)


def test_mean_distance_is_over_all_pairs():
    X, _ = draw(n=7)
    K = rbf_kernel(X, gamma=0.1)
    pairs = [K[i, i] + K[j, j] - 2 * K[i, j] for i in range(7) for j in range(7)]
    assert mean_distance(K) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"kernel": "cosine"}, "kernel of 'x0' of MultipleKernelClassifier must be one of"),
        ({"blocks": {"a": slice(0, 2)}, "kernel": {"b": "rbf"}}, "kernel of 'a'"),
        ({"blocks": {"a": [99]}}, "must be columns of the 9 of X"),
        ({"blocks": {"a": slice(20, 30)}}, "must be columns of the 9 of X"),
        ({"blocks": {}}, "name one block"),
        ({"blocks": {"a": slice(0, 9)}, "kernel": "precomputed"}, "must be a Gram matrix with 40"),
        ({"C": -1.0}, "C of MultipleKernelClassifier must be a number in"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(settings, match):
    X, y = draw()
    with pytest.raises(ValueError, match=match):
        MultipleKernelClassifier(**settings).fit(X, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        MultipleKernelClassifier(BLOCKS).fit(X, np.ones(len(X)))
