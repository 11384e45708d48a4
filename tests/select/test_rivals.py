import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.select.problems import draw_votes

from fieldguide._stumps import bin_exactly, find_stump
from fieldguide.errors import InvalidArgument
from fieldguide.select import (
    BoostedStumpSelector,
    ConcertSelector,
    CorrelationSelector,
    ForwardBackwardSelector,
)

SELECTORS = [
    ConcertSelector(p1=1.0),
    CorrelationSelector(),
    ForwardBackwardSelector(),
    BoostedStumpSelector(n_rounds=10),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_selector_selects_and_names(selector, n_classes):
    F, index = draw_votes(200, 30, n_classes=n_classes, seed=0)
    found = selector.fit(F[:120], index[:120])
    shape = (30,) if n_classes == 2 else (n_classes, 30)
    assert found.weights_.shape == found.flips_.shape == shape
    assert (found.weights_ >= 0).all()
    expected = np.atleast_2d(found.weights_).max(axis=0) > 0
    np.testing.assert_array_equal(found.get_support(), expected)
    np.testing.assert_array_equal(found.transform(F), F[:, expected])
    assert found.score(F[120:], index[120:]) > 0.3 + 1 / n_classes


# Stumps of the same error are common, and the first feature wins: boosting is left out.
@pytest.mark.parametrize("selector", SELECTORS[:3], ids=lambda s: type(s).__name__)
def test_a_permutation_of_rows_or_features_changes_nothing_else(selector):
    F, index = draw_votes(60, 12, n_classes=3, seed=1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(60), rng.permutation(12)
    weights = selector.fit(F, index).weights_
    permuted = selector.fit(F[np.ix_(rows, columns)], index[rows]).weights_
    np.testing.assert_allclose(permuted, weights[:, columns], atol=2e-3)


def test_correlation_is_that_of_numpy():
    F, index = draw_votes(50, 20, n_classes=3, seed=2)
    F[:, 4] = 0.7  # no correlation with anything
    found = CorrelationSelector(k=6).fit(F, index)
    for c in range(3):
        r = np.zeros(20)
        for j in set(range(20)) - {4}:
            r[j] = np.corrcoef(F[:, j], index == c)[0, 1]
        best = np.argsort(-np.abs(r))[:6]
        assert set(np.flatnonzero(found.weights_[c])) == set(best)
        np.testing.assert_array_equal(found.flips_[c], r < 0)
        assert found.weights_[c].sum() == pytest.approx(1)
    flipped = np.where(found.flips_[1], 1 - F, F)
    vote = flipped @ found.weights_[1]
    own = index == 1
    middle = (vote[own].mean() + vote[~own].mean()) / 2
    spread = (((vote - middle) ** 2)[own].mean() + ((vote - middle) ** 2)[~own].mean()) / 2
    expected = (vote - middle) / np.sqrt(spread)
    np.testing.assert_allclose(found.decision_function(F)[:, 1], expected, atol=1e-9)


def test_plain_averaging_takes_all():
    F, index = draw_votes(30, 10, seed=3)
    found = CorrelationSelector(k="all").fit(F, index)
    np.testing.assert_allclose(found.weights_, 0.1)
    with pytest.raises(InvalidArgument, match=r"k of CorrelationSelector must be a whole number"):
        CorrelationSelector(k=2.5).fit(F, index)


def test_forward_steps_are_those_of_least_squares():
    F, index = draw_votes(80, 15, seed=4)
    found = ForwardBackwardSelector(k=4, nu=0.0, tol=0.0).fit(F, index)
    # Without backward steps: the residual of all taken so far chooses the next, one by one.
    A, t = F - F.mean(axis=0), index - index.mean()
    taken: list[int] = []
    for _ in range(4):
        beta = np.linalg.lstsq(A[:, taken], t, rcond=None)[0] if taken else np.zeros(0)
        residual = t - A[:, taken] @ beta
        gain = (A.T @ residual) ** 2 / (A**2).sum(axis=0)
        gain[taken] = 0
        taken.append(int(gain.argmax()))
    assert set(np.flatnonzero(found.weights_)) == set(taken)
    beta = np.linalg.lstsq(A[:, taken], t, rcond=None)[0]
    np.testing.assert_allclose(found.coef_[0, taken], beta, rtol=1e-5)
    score = A[:, taken] @ beta + index.mean() - 0.5
    np.testing.assert_allclose(found.decision_function(F), score, atol=1e-6)


def test_a_backward_step_drops_what_others_replace():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    t = a + b > 0
    # The sum with noise is best alone, and of no use once both parts are there.
    F = np.stack([a + b + 0.9 * rng.normal(size=400), a, b], axis=1)
    greedy = ForwardBackwardSelector(k=3, nu=0.0).fit(F, t)
    adaptive = ForwardBackwardSelector(k=3, nu=0.5).fit(F, t)
    assert greedy.get_support().all()
    np.testing.assert_array_equal(adaptive.get_support(), [False, True, True])


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 4))
def test_the_best_stump_is_the_best_of_all(seed, n_rows, n):
    rng = np.random.default_rng(seed)
    F = np.round(rng.uniform(size=(n_rows, n)), 1)  # ties
    sign = np.where(rng.uniform(size=n_rows) < 0.5, 1.0, -1.0)
    weight = rng.dirichlet(np.ones(n_rows))
    cuts, bins = bin_exactly(F)
    feature, cut, edge = find_stump(bins, max(map(len, cuts)), sign * weight)
    error, direction = 0.5 * (1 - abs(edge)), np.sign(edge) or 1.0
    least = min(
        weight[np.where(F[:, j] > cut, side, -side) != sign].sum()
        for j in range(n)
        for cut in [-1.0, *F[:, j]]
        for side in (1, -1)
    )
    assert error == pytest.approx(least, abs=1e-12)
    above = F[:, feature] > cuts[feature][cut]
    np.testing.assert_array_equal(above, bins[feature] > cut)
    assert weight[np.where(above, direction, -direction) != sign].sum() == pytest.approx(least)


def test_boosting_falls_and_stops():
    F, index = draw_votes(100, 10, seed=5)
    errors = [
        (BoostedStumpSelector(n_rounds=n).fit(F, index).predict(F) != index).mean()
        for n in (1, 10, 100)
    ]
    assert errors[0] > errors[1] >= errors[2]
    clear = np.array([[0.1], [0.2], [0.8], [0.9]])
    found = BoostedStumpSelector().fit(clear, ["a", "a", "b", "b"])
    assert len(found.stumps_[0].height) == 1
    assert found.predict([[0.45], [0.55]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("selector", SELECTORS[2:], ids=lambda s: type(s).__name__)
def test_threads_change_nothing(selector):
    F, index = draw_votes(60, 20, n_classes=4, seed=6)
    one = selector.set_params(n_jobs=1).fit(F, index).weights_
    np.testing.assert_array_equal(one, selector.set_params(n_jobs=3).fit(F, index).weights_)


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: type(s).__name__)
def test_one_class_is_refused(selector):
    with pytest.raises(InvalidArgument, match="at least 2 classes; y has 1 class"):
        selector.fit(np.zeros((3, 2)), ["owl"] * 3)
