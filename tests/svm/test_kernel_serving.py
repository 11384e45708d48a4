import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.svm.test_kernel import histograms

from fieldguide.kernels import KERNELS
from fieldguide.svm import FastKernelScorer, KernelSVM, train_one_vs_all_gram


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    kernel=st.sampled_from(sorted(KERNELS)),
    m=st.integers(1, 20),
    d=st.integers(1, 40),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_values_and_scores_are_those_of_the_exact_kernels(seed, kernel, m, d, scale):
    rng = np.random.default_rng(seed)
    pool, X = (scale * rng.gamma(0.5, size=(n, d)).astype(np.float32) for n in (m, 5))
    pool[rng.random((m, d)) < 0.4], X[rng.random((5, d)) < 0.4] = 0, 0
    X[0], X[1] = pool[0], 0
    options = {"gamma": 0.3 / scale} if kernel in ("rbf", "exponential_chi2") else {}
    if kernel == "rbf":
        options["gamma"] /= scale
        pool, X = pool - scale, X - scale
    coef, intercept = rng.normal(size=(3, m)), rng.normal(size=3)
    coef[:, rng.random(m) < 0.3] = 0
    scorer = FastKernelScorer(kernel, options.get("gamma"), pool, coef, intercept)
    expected = KERNELS[kernel](X, pool, dtype=np.float64, **options)
    size = max(float(abs(expected).max()), 1e-30)
    for x, row in zip(X, expected, strict=True):
        np.testing.assert_allclose(scorer.values(x), row[coef.any(axis=0)], atol=3e-6 * size)
        reach = abs(coef) @ abs(row) + abs(intercept)
        np.testing.assert_allclose(
            scorer.scores(x), coef @ row + intercept, atol=1e-5 * reach.max()
        )


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_two_classes_are_those_of_the_estimator(kernel, seed):
    X, y = histograms(seed)
    svm = KernelSVM(C=5.0, kernel=kernel).fit(X, y)
    scorer = FastKernelScorer(
        *(kernel, svm.gamma_, svm.support_vectors_, svm.dual_coef_, svm.intercept_, svm.classes_)
    )
    T = histograms(seed + 1, n=40)[0]
    clear = abs(svm.decision_function(T)) > 1e-4
    assert clear.sum() > 30
    answers = np.array([scorer.predict_one(x) for x in T.astype(np.float32)])
    np.testing.assert_array_equal(answers[clear], svm.predict(T)[clear])


def test_many_classes_share_the_pool(seed):
    X, _ = histograms(seed, n=90)
    index = np.arange(90) % 3
    K = KERNELS["chi2"](X)
    found = train_one_vs_all_gram(K, index, 3, C=10.0)
    names = np.array(["ant", "bee", "cod"])
    scorer = FastKernelScorer("chi2", None, X, found.beta.toarray(), found.intercept, names)
    assert scorer.n_pool == len(np.unique(found.beta.indices))
    scores = K @ found.beta.T + found.intercept
    top = np.sort(scores, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-4
    answers = np.array([scorer.predict_one(x) for x in X.astype(np.float32)])
    np.testing.assert_array_equal(answers[clear], names[scores.argmax(axis=1)][clear])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel of FastKernelScorer must be one of"),
        ({"kernel": "rbf", "gamma": None}, "gamma of FastKernelScorer must be a number"),
        ({"coef": np.ones((2, 4))}, "pool must be"),
        ({"intercept": np.ones(3)}, "pool must be"),
        ({"pool": np.full((3, 2), np.nan)}, "holds NaN or infinity"),
        ({"pool": -np.ones((3, 2))}, "must not be negative for the chi2 kernel"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    sound = {"kernel": "chi2", "gamma": None, "pool": np.ones((3, 2))}
    sound |= {"coef": np.ones((2, 3)), "intercept": np.zeros(2)}
    with pytest.raises(ValueError, match=message):
        FastKernelScorer(**{**sound, **change})
