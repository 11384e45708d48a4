import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from tests.reference.convex_concert import measure_violation
from tests.select.problems import draw_votes

from fieldguide.errors import InvalidArgument
from fieldguide.identify import OneVsAllClassifier
from fieldguide.select import (
    ConcertClassifier,
    ConcertSelector,
    FeatureSums,
    solve_concert,
    sums,
)

PRINTED = {"p1": 0.5, "bias": False, "balance": False, "calibrate": False}
PRINTED_VOTE = {**PRINTED, "refit": None}


def test_the_printed_problem():
    F, index = draw_votes(60, 40, n_classes=3, seed=0)
    y = np.array(["ash", "elm", "oak"])[index]
    found = ConcertSelector(k=8, **PRINTED, tol=1e-9).fit(F, y)
    assert found.weights_.shape == found.flips_.shape == (3, 40)
    for c in range(3):
        own = index == c
        flips = F[own].mean(axis=0) < F[~own].mean(axis=0)
        np.testing.assert_array_equal(found.flips_[c], flips)
        flipped = np.where(flips, 1 - F, F)
        expected = solve_concert(flipped, 0.5 * own, 8, tol=1e-9).w
        np.testing.assert_allclose(found.weights_[c], expected, atol=1e-5)
        vote = flipped @ found.weights_[c]
        np.testing.assert_allclose(found.decision_function(F)[:, c], vote, atol=1e-9)
    assert found.k_ == 8
    np.testing.assert_array_equal(found.get_support(), (found.weights_ > 0).any(axis=0))
    assert found.transform(F).shape == (60, found.get_support().sum())


@pytest.mark.parametrize("balance", [False, True])
def test_bias_balance_and_calibration(balance):
    F, index = draw_votes(90, 30, seed=1)
    index = np.where(np.arange(90) % 4 == 0, index, 0)  # few of the second class
    options = {"k": 5, "p1": 0.5, "bias": True, "balance": balance, "tol": 1e-10}
    found = ConcertSelector(**options, calibrate=False).fit(F, index)
    v = np.ones(90)
    if balance:
        v = np.where(index == 1, 45 / (index == 1).sum(), 45 / (index == 0).sum())
    A = np.where(found.flips_, 1 - F, F)
    t = 0.5 * index
    vote = A @ found.weights_
    bias = np.average(t - vote, weights=v)
    np.testing.assert_allclose(found.decision_function(F), vote + bias, atol=1e-9)
    root = np.sqrt(v)
    centred = root[:, None] * (A - np.average(A, axis=0, weights=v))
    target = root * (t - np.average(t, weights=v))
    infeasible, violation = measure_violation(centred, target, 5, found.weights_)
    assert infeasible < 1e-12
    assert violation < 1e-5
    z = ConcertSelector(**options, calibrate=True).fit(F, index).decision_function(F)
    assert np.average(z, weights=v) == pytest.approx(0, abs=1e-9)
    assert np.average(z**2, weights=v) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(np.corrcoef(z, vote)[0, 1], 1)


def test_a_calibrated_vote_without_bias():
    F, index = draw_votes(50, 20, seed=2)
    options = {"k": 4, "p1": 0.5, "bias": False, "balance": False, "tol": 1e-10}
    vote = ConcertSelector(**options, calibrate=False).fit(F, index).decision_function(F)
    z = ConcertSelector(**options, calibrate=True).fit(F, index).decision_function(F)
    np.testing.assert_allclose(z, (vote - vote.mean()) / vote.std(), atol=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 100), st.booleans(), st.booleans(), st.lists(st.integers(1, 99), max_size=4))
def test_parts_in_any_chunks_equal_the_whole(seed, balance, bias, cuts):
    F, index = draw_votes(100, 12, n_classes=3, seed=seed)
    F = 3 * F - 1  # outside [0, 1]: the range of the columns is only known at the end
    options = {"k": 3, "p1": 1.0, "balance": balance, "bias": bias, "tol": 1e-9}
    whole = ConcertSelector(**options).fit(F, index)
    parts = ConcertSelector(**options)
    edges = sorted({0, 100, *cuts})
    for a, b in pairwise(edges):
        parts.partial_fit(F[a:b], index[a:b], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.weights_, whole.weights_, atol=1e-4)
    np.testing.assert_allclose(
        parts.decision_function(F), whole.decision_function(F), atol=1e-3 * (1 + 9 * bias)
    )


def test_sums_computed_apart_add_up():
    F, index = draw_votes(80, 10, n_classes=4, seed=3)
    here = FeatureSums(4, 10, gram="per_class").add(F[:30], index[:30])
    there = FeatureSums(4, 10, gram="per_class").add(F[30:], index[30:])
    both = there + here
    for c in range(4):
        np.testing.assert_allclose(both.grams[c], F[index == c].T @ F[index == c])
        np.testing.assert_allclose(both.totals[c], F[index == c].sum(axis=0))
    np.testing.assert_array_equal(both.counts, np.bincount(index))
    np.testing.assert_array_equal(both.low, F.min(axis=0))
    found = ConcertSelector(k=3, balance=True).fit_sums(both, list("abcd"))
    assert found.p1_ == 2
    expected = ConcertSelector(k=3, p1=2, balance=True).fit(F, np.array(list("abcd"))[index])
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-3)
    assert (found.predict(F) == expected.predict(F)).mean() > 0.97
    with pytest.raises(InvalidArgument, match="same classes and features"):
        both + FeatureSums(4, 10)
    with pytest.raises(InvalidArgument, match="gram"):
        ConcertSelector(balance=True).fit_sums(FeatureSums(4, 10), list("abcd"))


def test_fits_from_rows_and_from_grams_agree(monkeypatch):
    F, index = draw_votes(300, 20, n_classes=3, seed=4)
    many = ConcertSelector(k=4, balance=True, tol=1e-9).fit(F, index)
    assert sums.plan_sums(F.shape, 3, True) == "per_class"
    few = ConcertSelector(k=4, balance=True, tol=1e-9)
    monkeypatch.setattr(sums, "plan_sums", lambda *_: None)
    np.testing.assert_allclose(few.fit(F, index).weights_, many.weights_, atol=1e-4)


def test_a_class_that_has_not_come_yet_is_not_named():
    F, index = draw_votes(40, 6, n_classes=3, seed=5)
    found = ConcertClassifier(k=2)
    for c in (1, 0, 2):
        found.partial_fit(F[index == c], index[index == c], classes=[0, 1, 2])
        seen = {1: {1}, 0: {0, 1}, 2: {0, 1, 2}}[c]
        assert set(found.predict(F)) <= seen
    with pytest.raises(InvalidArgument, match="not one of the classes"):
        found.partial_fit(F[:2], [0, 7])


@pytest.mark.parametrize("k", [4, "cv"])
def test_threads_change_nothing(k):
    F, index = draw_votes(60, 50, n_classes=4, seed=6, dtype=np.float32)
    one, two = (ConcertSelector(k=k, n_jobs=n_jobs).fit(F, index) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.k_ == two.k_


def test_k_by_cross_validation_finds_few_good_features():
    rng = np.random.default_rng(0)
    index = np.arange(120) % 2
    F = rng.uniform(size=(120, 60))
    F[:, :4] = np.clip(0.25 + 0.5 * index[:, None] + 0.3 * rng.normal(size=(120, 4)), 0, 1)
    found = ConcertSelector(k="cv").fit(F, index)
    assert found.k_ in (5, 10)
    assert found.weights_[:4].sum() > 0.35
    assert found.p1_ in (0.5, 1, 2)
    assert ConcertSelector(p1=0.3).fit(F, index).p1_ == 0.3
    assert ConcertSelector().fit(F, index).k_ == 8
    # One row of a class cannot be held out.
    assert ConcertSelector(k="cv").fit(F[:3], [0, 0, 1]).k_ == 8


def test_names_of_flipped_rows_are_exchanged():
    F, index = draw_votes(50, 30, seed=7)
    plain, mirrored = (ConcertSelector(k=5, p1=1, tol=1e-9).fit(A, index) for A in (F, 1 - F))
    np.testing.assert_allclose(plain.weights_, mirrored.weights_, atol=1e-5)
    np.testing.assert_array_equal(plain.flips_, ~mirrored.flips_)
    np.testing.assert_array_equal(plain.predict(F), mirrored.predict(1 - F))


def test_columns_outside_the_unit_interval():
    F, index = draw_votes(40, 6, seed=8)
    wide = F.copy()
    wide[:, 2] = 1000 * wide[:, 2] - 50
    wide[:, 3] = 7.0
    with pytest.raises(InvalidArgument, match=r"scale=False needs values in \[0, 1\]; got -1"):
        ConcertSelector(scale=False).fit(wide, index)
    found = ConcertSelector(k=2, p1=1, tol=1e-9).fit(wide, index)
    unit = F.copy()
    unit[:, 2] = (F[:, 2] - F[:, 2].min()) / np.ptp(F[:, 2])
    unit[:, 3] = 0.0
    expected = ConcertSelector(k=2, p1=1, scale=False, tol=1e-9).fit(unit, index)
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-5)
    np.testing.assert_allclose(
        found.decision_function(wide), expected.decision_function(unit), atol=1e-4
    )


def test_the_method_of_the_paper_is_near():
    F, index = draw_votes(60, 30, n_classes=3, seed=9)
    options = {**PRINTED, "k": 6}
    paper = ConcertSelector(**options, solver="frank_wolfe").fit(F, index)
    assert paper.duality_gap_ < 0.01
    exact = ConcertSelector(**options).fit(F, index)
    assert (paper.predict(F) == exact.predict(F)).mean() > 0.95


def test_probabilities_belong_to_the_answer_and_to_the_odds():
    F, index = draw_votes(400, 30, n_classes=3, seed=10)
    for refit in (None, "svm"):
        found = ConcertClassifier(k=6, probability=True, refit=refit).fit(F[:200], index[:200])
        p = found.predict_proba(F[200:])
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(found.classes_[p.argmax(axis=1)], found.predict(F[200:]))
        right = found.predict(F[200:]) == index[200:]
        assert abs(p.max(axis=1).mean() - right.mean()) < 0.1
    plain = ConcertClassifier().fit(F, index)
    with pytest.raises(AttributeError, match="predict_proba"):
        plain.predict_proba(F)
    two = ConcertClassifier(k=6, probability=True).fit(F, index > 0)
    np.testing.assert_array_equal(two.predict_proba(F)[:, 1] > 0.5, two.predict(F))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_concert_then_svm_is_the_pipeline(n_classes):
    F, index = draw_votes(90, 40, n_classes=n_classes, seed=11)
    found = ConcertClassifier(k=6, refit="svm").fit(F, index)
    svm = OneVsAllClassifier(C=found.C_, probability=False)
    pipeline = make_pipeline(ConcertSelector(k=6), svm).fit(F, index)
    assert (found.predict(F) == pipeline.predict(F)).mean() > 0.97
    assert (found.coef_[:, ~found.get_support()] == 0).all()


def test_clone_pickle_and_refit():
    F, index = draw_votes(40, 12, n_classes=3, seed=12)
    found = ConcertClassifier(k=3).fit(F, index)
    again = clone(found).fit(F, index)
    np.testing.assert_array_equal(found.weights_, again.weights_)
    opened = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(opened.predict(F), found.predict(F))
    np.testing.assert_array_equal(found.fit(F[:20], index[:20]).fit(F, index).coef_, again.coef_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, r"k of ConcertClassifier must be a number in \[1, 6\]; got 0"),
        ({"k": 7}, r"k of ConcertClassifier must be a number in \[1, 6\]; got 7"),
        ({"k": "best"}, "must be one of 'auto', 'cv'"),
        ({"p1": "best"}, "p1 of ConcertClassifier must be one of 'auto'"),
        ({"p0": 0.5, "p1": 0.5}, "p1 of ConcertClassifier must be above p0"),
        ({"solver": "simplex"}, "solver of ConcertClassifier"),
        ({"tol": 0}, "tol of ConcertClassifier"),
        ({"refit": "tree"}, "refit of ConcertClassifier"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(arguments, message):
    F, index = draw_votes(10, 6, seed=13)
    with pytest.raises(InvalidArgument, match=message):
        ConcertClassifier(**arguments).fit(F, index)


def test_what_needs_rows_takes_no_parts():
    F, index = draw_votes(10, 6, seed=14)
    given = FeatureSums(2, 6, gram="per_class").add(F, index)
    for arguments in ({"k": "cv"}, {"refit": "svm"}, {"probability": True}):
        assert not hasattr(ConcertClassifier(**arguments), "partial_fit")
        with pytest.raises(InvalidArgument, match="needs rows to hold out"):
            ConcertClassifier(**arguments).fit_sums(given, ["a", "b"])


@pytest.mark.parametrize(
    "arguments", [{"refit": "svm", "k": 1}, {"probability": True, "k": "cv"}, PRINTED_VOTE]
)
def test_scikit_learn_contract_of_other_settings(arguments):
    results = check_estimator(ConcertClassifier(**arguments), on_skip=None, on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    # As printed it is no good classifier: votes of classes are compared as they are.
    assert failed <= ({"check_classifiers_train"} if arguments is PRINTED_VOTE else set())
    assert len(results) > 50
