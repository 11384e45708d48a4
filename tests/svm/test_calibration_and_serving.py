import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from tests.svm.problems import draw_problem
from tests.svm.test_kernel import histograms

from fieldguide.kernels import KERNELS
from fieldguide.svm import (
    FastKernelScorer,
    FastScorer,
    KernelSVM,
    calibrate,
    calibrate_margins,
    train_one_vs_all_gram,
)


def test_the_sigmoid_is_platts(seed):
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=4000) * 3
    sign = np.where(rng.random(4000) < expit(1.7 * margins - 0.6), 1, -1)
    found = calibrate_margins(margins, sign)
    assert (found.slope, found.offset) == pytest.approx((1.7, -0.6), abs=0.25)
    peer = LogisticRegression(C=1e6, tol=1e-8).fit(margins[:, None], sign)
    np.testing.assert_allclose(
        found.probability(margins), peer.predict_proba(margins[:, None])[:, 1], atol=0.01
    )
    without = calibrate_margins(margins, sign, fit_offset=False)
    assert without.offset == 0
    assert without.probability(0.0) == 0.5


def test_the_fit_is_the_least_cross_entropy(seed):
    rng = np.random.default_rng(seed)
    margins, weight = rng.normal(size=50), rng.uniform(0, 2, 50)
    sign = np.where(margins + rng.normal(size=50) > 0, 1, -1)
    up, down = weight[sign > 0].sum(), weight[sign < 0].sum()
    target = np.where(sign > 0, (up + 1) / (up + 2), 1 / (down + 2))

    def loss(theta):
        z = theta[0] * margins + theta[1]
        return weight @ (np.logaddexp(0, z) - target * z)

    found = calibrate_margins(margins, sign, weight)
    best = minimize(loss, [0, 0], tol=1e-12)
    np.testing.assert_allclose([found.slope, found.offset], best.x, atol=1e-4)


@settings(max_examples=50)
@given(
    margins=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    ups=st.integers(0, 2**20 - 1),
)
def test_probabilities_rise_with_the_margin(margins, ups):
    margins = np.sort(np.array(margins))
    sign = np.where((ups >> np.arange(len(margins))) & 1, 1, -1)
    found = calibrate_margins(margins, sign)
    assert found.slope >= 0
    probability = found.probability(margins)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert (np.diff(probability) >= 0).all()


def test_cross_validated_margins_are_calibrated(seed):
    X, sign = draw_problem(seed, n=600, noise=2.0)
    found = calibrate(X[:300], sign[:300], C=0.1)
    assert 0.1 < found.slope < 20
    assert found == calibrate(X[:300], sign[:300], C=0.1, n_jobs=2)
    with pytest.raises(ValueError, match="margins hold NaN"):
        calibrate_margins(np.array([np.nan, 1.0]), np.array([-1, 1]))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(1, 40),
    d=st.integers(1, 70),
    scale=st.sampled_from([0.0, 1e-30, 1e-18, 1e-6, 1.0, 1e6, 1e18, 1e25]),
    twins=st.booleans(),
)
def test_the_fast_answer_is_the_largest_score(seed, n_classes, d, scale, twins):
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=(n_classes, d)) * rng.lognormal(size=(n_classes, 1))
    if twins:
        coef[1:] = coef[0] + 1e-3 * coef[1:]
    intercept = rng.normal(size=n_classes)
    scorer = FastScorer(coef, intercept)
    X = (scale * rng.standard_t(2, size=(20, d))).astype(np.float32)
    for x in X:
        scores = scorer.coef.astype(np.float64) @ x + scorer.intercept
        size = np.abs(scorer.coef.astype(np.float64)) @ np.abs(x) + np.abs(scorer.intercept)
        assert scores[scorer.best(x)] >= scores.max() - 1e-5 * size.max()


def test_ties_go_to_the_first_and_one_weight_may_dwarf_the_rest(seed):
    rng = np.random.default_rng(seed)
    coef = np.repeat(rng.normal(size=(6, 33)), 3, axis=0)
    scorer = FastScorer(coef, np.zeros(18))
    for x in rng.normal(size=(50, 33)).astype(np.float32):
        assert scorer.best(x) % 3 == 0
    # All but the first column are lost in the rounding to bytes, and decide all the same.
    coef[:, 0] = 1e5
    scorer = FastScorer(coef, np.zeros(18))
    X = rng.normal(size=(50, 33)).astype(np.float32)
    X[:, 0] = 0
    exact = (X.astype(np.float64) @ scorer.coef.T).round(5).argmax(axis=1)
    np.testing.assert_array_equal([scorer.best(x) for x in X], exact)


def test_classes_and_batches(seed):
    rng = np.random.default_rng(seed)
    names = np.array(["ant", "bee", "cod"])
    scorer = FastScorer(rng.normal(size=(3, 8)), np.zeros(3), names)
    X = rng.normal(size=(30, 8)).astype(np.float32)
    assert [scorer.predict_one(x) for x in X] == scorer.predict(X).tolist()
    with pytest.raises(ValueError, match="coef must be"):
        FastScorer(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="holds NaN or infinity"):
        FastScorer(np.full((3, 2), np.nan), np.zeros(3))


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
