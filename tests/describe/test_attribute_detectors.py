"""Attribute detectors against scikit-learn, soft and missing annotations, groups, bad input."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fieldguide.describe import AttributeDetectors
from fieldguide.describe.attribute_detectors import deal_groups, judge, split_soft
from fieldguide.errors import FieldguideError, FieldguideWarning


def draw(n=300, d=8, n_attributes=4, seed=0, noise=1.0):
    """Rows, and noisy linear attributes of them, the later ones rarer."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=(d, n_attributes))
    score = X @ w + noise * np.abs(w).sum(axis=0) * rng.normal(size=(n, n_attributes)) / 2
    return X, (score > np.arange(n_attributes)).astype(float)


class Scaled(AttributeDetectors):
    """Detectors that take any finite targets, for scikit-learn's checks."""

    def fit(self, X, y=None, groups=None):
        if y is None:
            return super().fit(X, y, groups)
        y = np.asarray(y)
        if y.dtype.kind != "c":
            y = y.astype(float)
            y = (y - y.min()) / max(np.ptp(y), 1)
        return super().fit(X, y, groups)


NOT_FOR_DETECTORS = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "probabilities have a column for each attribute, not for each class",
)


@parametrize_with_checks([Scaled(C=0.01)], expected_failed_checks=lambda _: NOT_FOR_DETECTORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_contract_of_detectors():
    X, A = draw()
    A[::7, 1] = np.nan
    detectors = AttributeDetectors()
    assert clone(detectors).get_params() == detectors.get_params()
    fitted = detectors.fit(X, A)
    p = fitted.predict_proba(X)
    for other in (
        clone(fitted).fit(X, A),
        clone(fitted).set_params(n_jobs=2).fit(X, A),
        clone(fitted).set_params(n_jobs=3).fit(X, A),
        pickle.loads(pickle.dumps(fitted)),
    ):
        np.testing.assert_array_equal(other.predict_proba(X), p)
        np.testing.assert_array_equal(other.held_out_.log_loss, fitted.held_out_.log_loss)
    np.testing.assert_array_equal(fitted.predict(X), p >= 0.5)
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(
        clone(fitted).fit(csr_array(X), A).predict_proba(csr_array(X)), p, atol=0.02
    )


def test_a_seed_moves_the_folds_and_little_else():
    X, A = draw()
    p = [AttributeDetectors(random_state=s).fit(X, A).predict_proba(X) for s in (0, 1)]
    assert (p[0] != p[1]).any()
    assert np.abs(p[0] - p[1]).max() < 0.1


def test_new_rows_are_scored_as_by_scikit_learn():
    X, A = draw(1200)
    X_new, A_new, X, A = X[600:], A[600:], X[:600], A[:600]
    p = AttributeDetectors().fit(X, A).predict_proba(X_new)
    for d in range(A.shape[1]):
        svm = CalibratedClassifierCV(
            LinearSVC(),
            method="sigmoid",
            ensemble=False,
            cv=StratifiedKFold(5, shuffle=True, random_state=0),
        ).fit(X, A[:, d])
        logistic = LogisticRegression().fit(X, A[:, d])
        for peer, tolerance in ((svm, 0.005), (logistic, 0.02)):
            q = peer.predict_proba(X_new)[:, 1]
            for measure in (average_precision_score, brier_score_loss, roc_auc_score):
                ours, theirs = measure(A_new[:, d], p[:, d]), measure(A_new[:, d], q)
                assert ours == pytest.approx(theirs, abs=tolerance), (d, measure)
        np.testing.assert_allclose(p[:, d], svm.predict_proba(X_new)[:, 1], atol=0.05)


def test_soft_annotations_minimise_the_printed_objective():
    """The function is that of a general minimiser of the objective of the module's docstring."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    a = rng.random(60)
    a[:10], a[10:20] = 0, 1

    def objective(theta):
        f = X @ theta[:-1] + theta[-1]
        loss = a * np.maximum(0, 1 - f) ** 2 + (1 - a) * np.maximum(0, 1 + f) ** 2
        return theta @ theta / 2 + 0.3 * loss.sum()

    best = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    fitted = AttributeDetectors(C=0.3, tol=1e-9).fit(X, a[:, None]).functions_
    np.testing.assert_allclose(
        np.append(fitted.coef[0], fitted.intercept[0]), best.x, rtol=1e-4, atol=1e-5
    )


def test_a_soft_annotation_is_many_hard_ones():
    """Annotations in quarters say the same as four hard rows each, held out together."""
    rng = np.random.default_rng(0)
    X, _ = draw(120)
    a = np.round(4 / (1 + np.exp(-2 * X[:, 0] - rng.normal(size=120)))) / 4
    hard = (np.arange(4) < 4 * a[:, None]).ravel().astype(float)
    soft = AttributeDetectors(C=0.4, tol=1e-6).fit(X, a[:, None])
    copies = AttributeDetectors(C=0.1, tol=1e-6).fit(
        np.repeat(X, 4, axis=0), hard[:, None], groups=np.repeat(np.arange(120), 4)
    )
    np.testing.assert_allclose(soft.functions_.coef, copies.functions_.coef, atol=1e-3)
    np.testing.assert_allclose(soft.held_out_.roc_auc, copies.held_out_.roc_auc, atol=2e-3)
    # The targets of a sigmoid are pulled towards each other by one row, here one of 4 times less.
    np.testing.assert_allclose(soft.predict_proba(X), copies.predict_proba(X), atol=0.02)


def test_soft_shares_are_predicted():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 2))
    share = 1 / (1 + np.exp(-X[:, 0]))
    p = AttributeDetectors().fit(X[:400], share[:400, None]).predict_proba(X[400:])[:, 0]
    assert np.abs(p - share[400:]).max() < 0.05


def test_probabilities_have_the_base_rate_of_new_rows():
    X, A = draw(8000, noise=2.0)
    fitted = AttributeDetectors().fit(X[:4000], A[:4000])
    p, truth = fitted.predict_proba(X[4000:]), A[4000:]
    np.testing.assert_allclose(p.mean(axis=0), truth.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(fitted.base_rate_, A[:4000].mean(axis=0), atol=1e-3)
    for d in range(A.shape[1]):
        for low in (0.0, 0.25, 0.5):
            rows = (p[:, d] >= low) & (p[:, d] < low + 0.25)
            if rows.sum() > 100:
                assert p[rows, d].mean() == pytest.approx(truth[rows, d].mean(), abs=0.07)


@given(st.permutations(range(4)))
@settings(max_examples=8, deadline=None)
def test_attributes_do_not_know_of_each_other(order):
    X, A = draw(80)
    p = AttributeDetectors().fit(X, A).predict_proba(X)
    np.testing.assert_array_equal(
        AttributeDetectors().fit(X, A[:, order]).predict_proba(X), p[:, order]
    )


@given(st.integers(0, 1000), st.floats(0.05, 0.6))
@settings(max_examples=10, deadline=None)
def test_rows_without_annotation_take_no_part(seed, share):
    X, A = draw(120, n_attributes=2)
    is_missing = np.random.default_rng(seed).random(120) < share
    A[is_missing, 0] = np.nan
    both = AttributeDetectors().fit(X, A)
    alone = AttributeDetectors().fit(X[~is_missing], A[~is_missing, :1])
    np.testing.assert_allclose(both.predict_proba(X)[:, :1], alone.predict_proba(X), atol=1e-9)
    assert both.held_out_.log_loss[0] == pytest.approx(alone.held_out_.log_loss[0], abs=1e-9)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30))
def test_every_row_is_split_into_its_two_shares(values):
    a = np.array(values)
    place, sign, weight = split_soft(a)
    assert (weight > 0).all()
    np.testing.assert_allclose(np.bincount(place[sign > 0], weight[sign > 0], len(a)), a)
    np.testing.assert_allclose(np.bincount(place[sign < 0], weight[sign < 0], len(a)), 1 - a)


@given(st.integers(2, 40), st.integers(2, 6), st.integers(0, 100))
def test_folds_keep_groups_together_and_share_the_positives(n_groups, n_folds, seed):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, n_groups)
    groups = rng.permutation(np.repeat(rng.permutation(n_groups), size))
    value = rng.integers(0, 2, n_groups).astype(float)
    fold = deal_groups(value[groups], groups, n_folds, seed)
    of_group = np.array([np.unique(fold[groups == g]) for g in range(n_groups)])
    assert of_group.shape == (n_groups, 1)
    for held in (value == 0, value == 1):
        counts = np.bincount(of_group[held, 0], minlength=n_folds)
        assert counts.max() - counts.min() <= 1


def test_groups_expose_detectors_that_only_know_their_kinds():
    """Attributes drawn at random for each kind can be told from kinds alone, not for new kinds."""
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(40), 15)
    X = rng.normal(size=(40, 30))[kind] + 0.3 * rng.normal(size=(600, 30))
    A = rng.integers(0, 2, (40, 6))[kind].astype(float)
    by_row = AttributeDetectors().fit(X, A).held_out_.roc_auc
    by_kind = AttributeDetectors().fit(X, A, groups=kind).held_out_.roc_auc
    assert by_row.min() > 0.75
    assert by_kind.mean() < 0.6
    named = AttributeDetectors().fit(X, A, groups=[f"kind {k:02d}" for k in kind])
    np.testing.assert_array_equal(named.held_out_.roc_auc, by_kind)


def test_detectors_that_do_not_work_are_told_apart():
    X, A = draw(400)
    A = np.column_stack([A, np.random.default_rng(5).integers(0, 2, 400)])
    held_out = AttributeDetectors().fit(X, A).held_out_
    assert held_out.roc_auc[:-1].min() > 0.65
    assert held_out.roc_auc[-1] < 0.58
    assert held_out.log_loss[-1] == pytest.approx(np.log(2), abs=0.02)


def test_held_out_margins_are_those_that_the_areas_were_measured_on():
    X, A = draw(120)
    A[::4, 0] = np.nan
    fitted = AttributeDetectors().fit(X, np.column_stack([A, np.ones(len(A))]))
    margins = fitted.held_out_margins_
    assert margins.shape == (120, A.shape[1] + 1)
    assert np.isnan(margins[:, -1]).all()  # constant
    for d, a in enumerate(A.T):
        is_known = ~np.isnan(a)
        np.testing.assert_array_equal(np.isfinite(margins[:, d]), is_known)
        area = judge(margins[is_known, d], a[is_known])[1]
        assert area == pytest.approx(fitted.held_out_.roc_auc[d], abs=1e-9)


def test_held_out_numbers_are_those_of_new_rows():
    X, A = draw(8000)
    fitted = AttributeDetectors().fit(X[:4000], A[:4000])
    p = fitted.predict_proba(X[4000:])
    new = np.array([judge(p[:, d], A[4000:, d]) for d in range(4)])
    np.testing.assert_allclose(fitted.held_out_.average_precision, new[:, 0], atol=0.06)
    np.testing.assert_allclose(fitted.held_out_.roc_auc, new[:, 1], atol=0.04)
    np.testing.assert_allclose(fitted.held_out_.log_loss, new[:, 2], atol=0.04)


def test_constant_and_rare_attributes_give_their_base_rate():
    X, A = draw(200)
    A[:, 0], A[:, 1], A[:, 2] = 1, 0, np.arange(200) < 4
    fitted = AttributeDetectors(min_rows=5).fit(X, A)
    assert fitted.is_constant_.tolist() == [True, True, True, False]
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p[:, :3], np.tile([200.5, 0.5, 4.5], (200, 1)) / 201)
    np.testing.assert_allclose(fitted.base_rate_[:3], p[0, :3])
    np.testing.assert_allclose(fitted.held_out_.roc_auc[:3], 0.5)
    assert not AttributeDetectors(min_rows=4).fit(X, A).is_constant_[2]


def test_an_attribute_annotated_in_one_group_is_constant():
    X, A = draw(100)
    groups = np.arange(100) // 50
    A[50:, 0] = np.nan
    fitted = AttributeDetectors().fit(X, A, groups=groups)
    assert fitted.is_constant_.tolist()[:2] == [True, False]


def test_c_by_cross_validation_is_near_the_best():
    X, A = draw(240, d=60, noise=2.0)
    X_new, X, A = X[120:], X[:120], A[:120]
    chosen = AttributeDetectors(C="cv").fit(X, A)
    other = {C: AttributeDetectors(C=C).fit(X, A) for C in (1e-3, 1.0, 100.0)}
    least = min(fitted.held_out_.log_loss.mean() for fitted in other.values())
    assert chosen.held_out_.log_loss.mean() <= 1.02 * least
    same = AttributeDetectors(C=chosen.C_).fit(X, A)
    np.testing.assert_array_equal(chosen.predict_proba(X_new), same.predict_proba(X_new))


def test_saved_and_opened_is_the_same():
    X, A = draw(100)
    A[:, 1] = 1
    fitted = AttributeDetectors().fit(X, A)
    arrays, values = fitted.to_state()
    opened = AttributeDetectors.from_state(arrays, json.loads(json.dumps(values)))
    np.testing.assert_array_equal(opened.predict_proba(X), fitted.predict_proba(X))
    for name, value in fitted.held_out_._asdict().items():
        np.testing.assert_array_equal(getattr(opened.held_out_, name), value)
    assert opened.is_constant_.tolist() == [False, True, False, False]
    assert opened.n_features_in_ == 8
    again, _ = opened.to_state()
    assert again.keys() == arrays.keys()
    for name, broken in (
        ("slope_", arrays["slope_"][:2]),
        ("offset_", np.full(4, np.nan)),
        ("functions_.coef", arrays["functions_.coef"][0]),
    ):
        with pytest.raises(FieldguideError, match=f"{name} of AttributeDetectors"):
            AttributeDetectors.from_state({**arrays, name: broken}, values)


def test_open_gaps_are_warned_of():
    X, A = draw(60)
    with pytest.warns(FieldguideWarning, match="AttributeDetectors stopped at a relative duality"):
        AttributeDetectors(C=1e6, tol=1e-12).fit(1e3 * X.astype(np.float32), A[:, :1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": np.full((20, 1), 1.5)}, r"must be in \[0, 1\], or NaN where unknown; got 1.5"),
        ({"A": np.ones((19, 1))}, "must have a row for each of the 20 rows of X; got 19"),
        ({"A": np.full((20, 1), np.nan)}, "Attribute 0 .* annotated in no row"),
        ({"A": np.ones(20)}, "2D"),
        ({"X": np.empty((0, 3)), "A": np.empty((0, 1))}, "0 sample"),
        ({"A": None}, "requires y to be passed"),
        ({"groups": np.zeros(20)}, "at least 2 groups"),
        ({"groups": np.zeros(19)}, "a group for each of the 20 rows of X; got 19"),
        ({"C": "best"}, "C of AttributeDetectors must be one of 'cv'"),
        ({"C": -1}, "C of AttributeDetectors must be a number in"),
        ({"min_rows": 0}, "min_rows of AttributeDetectors must be a number"),
        ({"n_folds": 1}, "n_folds of AttributeDetectors must be a whole number"),
        ({"tol": 2}, "tol of AttributeDetectors must be a number"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    data = {"X": np.ones((20, 3)), "A": np.ones((20, 1)), "groups": None}
    data |= {name: change[name] for name in data.keys() & change.keys()}
    options = {name: value for name, value in change.items() if name not in data}
    with pytest.raises(ValueError, match=message):
        AttributeDetectors(**options).fit(**data)
