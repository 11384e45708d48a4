import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.select.problems import draw_votes

from fieldguide._random import deal_folds
from fieldguide.identify import OneVsAllClassifier
from fieldguide.select import (
    ConcertClassifier,
    ConcertSelector,
    CorrelationSelector,
    FeatureSums,
)
from fieldguide.select.correlation import hold_out_correlation, vote_by_correlation
from fieldguide.select.k_path import default_k, root_k
from fieldguide.select.mixture import _Svm, even_columns, fit_mixture, list_pairs, share
from fieldguide.select.objective import ColumnMap
from fieldguide.select.sums import plan_sums
from fieldguide.select.votes import VoteOptions

OPTIONS = VoteOptions(bias=True, calibrate=True)


def measure_loss(b, scales, scores, index, tau=1.0):
    """The formula of the module, row by row."""
    n_classes, total = scores.shape[2], 0.0
    for i, c in enumerate(index):
        mixed = sum(b[m] * scales[m] * scores[m, i] for m in range(len(b)))
        total -= np.log(np.exp(mixed[c]) / np.exp(mixed).sum())
    return total + tau * n_classes * sum((each - 1 / len(b)) ** 2 for each in b)


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_shares_minimise_the_penalised_loss(seed):
    rng = np.random.default_rng(seed)
    index = np.arange(30) % 3
    noise = rng.normal(size=(4, 30, 3)) * np.array([0.5, 1, 2, 4])[:, None, None]
    scores = 2 * np.eye(3)[index] + noise
    scales, b = share(scores, index)
    assert (b >= 0).all()
    here = measure_loss(b, scales, scores, index)
    for m in range(4):
        for step in (-1e-3, 1e-3):
            moved = b.copy()
            moved[m] = max(0.0, moved[m] + step)
            assert measure_loss(moved, scales, scores, index) >= here - 1e-5


def test_many_rows_give_the_better_part_its_share_and_few_do_not():
    rng = np.random.default_rng(0)
    index = np.arange(400) % 4
    good = 3 * np.eye(4)[index] + rng.normal(size=(400, 4))
    useless = rng.normal(size=(400, 4))
    scales, b = share(np.array([good, useless]), index)
    many = scales * b
    assert many[1] < 0.1 * many[0]
    _, few = share(np.array([good, useless])[:, :8], index[:8])
    np.testing.assert_allclose(few, 0.5, atol=0.25)


def test_equal_parts_share_alike():
    index = np.arange(40) % 2
    margin = (index - 0.5)[:, None] + np.random.default_rng(1).normal(size=(40, 1))
    scales, b = share(np.array([margin, 10 * margin]), index)
    assert scales[0] == pytest.approx(10 * scales[1], rel=1e-3)
    assert b[0] == pytest.approx(b[1], abs=1e-3)


def test_columns_get_even_deviations():
    rng = np.random.default_rng(2)
    F = rng.uniform(size=(50, 7)) * np.linspace(0.1, 1, 7)
    columns = ColumnMap(np.linspace(1, 2, 7), np.zeros(7))
    even = even_columns(columns, FeatureSums(1, 7, gram=None).add(F, np.zeros(50, dtype=int)))
    deviation = (F * columns.slope).std(axis=0)
    middle = np.median(deviation**2)
    unit = np.sqrt(middle / ((50 * deviation**2 + 20 * middle) / 70))
    np.testing.assert_allclose(even.slope, unit * columns.slope)
    flipped = even.flipped(np.arange(7) % 2 == 0)
    expected = np.where(
        np.arange(7) % 2 == 0, unit * (1 - columns.slope * F), unit * columns.slope * F
    )
    np.testing.assert_allclose(flipped.slope * F + flipped.offset, expected)


def test_constant_columns_are_left_as_they_are():
    columns = ColumnMap.identity(3)
    sums = FeatureSums(2, 3, gram=None).add(np.full((4, 3), 0.5), [0, 1, 0, 1])
    assert even_columns(columns, sums) is columns


def test_which_votes_are_mixed():
    assert list_pairs(2000, None, None) == ((8.0, 45.0), (0.5, 250.0), (2.0, 250.0))
    assert list_pairs(2000, 50.0, None) == ((8.0, 50.0), (0.5, 50.0), (2.0, 50.0))
    assert list_pairs(2000, 50.0, 1.0) == ((1.0, 50.0),)
    assert list_pairs(160, None, None, -1.0) == ((7.0, 13.0), (-0.5, 20.0), (1.0, 20.0))
    assert (default_k(160), root_k(160)) == (20, 13)
    assert list_pairs(1, None, None) == ((8.0, 1.0), (0.5, 1.0), (2.0, 1.0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mixture_is_the_sum_of_its_parts(n_classes):
    F, index = draw_votes(90, 20, n_classes=n_classes, seed=3)
    found = fit_mixture(
        *(F, index, n_classes, list_pairs(20, 4.0, None), OPTIONS, ColumnMap.identity(20)),
        plain_k=4,
    )
    m = 1 if n_classes == 2 else 3
    assert found.coef.shape == found.weights.shape == (m, 20)
    np.testing.assert_allclose(found.shares.sum(), 1)
    assert found.shares.shape == (5,)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    assert (found.weights >= 0).all()
    votes = found.coef - _take_svm(found, F, index, n_classes)
    sign = np.where(found.flips, -1, 1)
    unit = (votes * sign).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(votes * sign / unit, found.weights, atol=1e-9)
    assert found.held_out.shape == (90, m)


def test_the_plain_vote_is_the_one_of_the_correlation_selector():
    """And what it says of a row is said without having seen it."""
    F, index = draw_votes(60, 20, n_classes=3, seed=8)
    columns = ColumnMap.identity(20)
    plain, selector = vote_by_correlation(F, index, 3, 4, columns), CorrelationSelector(k=4)
    np.testing.assert_array_equal(plain.coef, selector.fit(F, index).coef_)
    held_out = hold_out_correlation(F, index, 3, 4, columns, seed=1)
    changed = F.copy()
    changed[7] = 1 - F[7]
    again = hold_out_correlation(changed, index, 3, 4, columns, seed=1)
    in_fold = deal_folds(index, 5, 1) == deal_folds(index, 5, 1)[7]
    others = in_fold & (np.arange(60) != 7)
    np.testing.assert_array_equal(again[others], held_out[others])
    assert (again[~in_fold] != held_out[~in_fold]).any()


def test_a_given_p1_leaves_the_plain_vote_out():
    F, index = draw_votes(40, 80, n_classes=2, seed=9)
    assert ConcertClassifier(p1=1.0).fit(F, index).shares_.shape == (3,)
    assert ConcertClassifier(k=4).fit(F, index).shares_.shape == (5,)
    assert ConcertClassifier(k=4, p1=1.0).fit(F, index).shares_.shape == (2,)


def _take_svm(found, F, index, n_classes):
    """The part of the coefficients that is the SVM's."""
    svm = _Svm(F, index, n_classes, seed=0, n_jobs=1).train(found.C)[0]
    # Its factor is unknown: features without any vote have the SVM's coefficient alone.
    alone = found.weights == 0
    assert alone.sum() > 5
    factor = (found.coef[alone] @ svm[alone]) / (svm[alone] @ svm[alone])
    np.testing.assert_allclose(found.coef[alone], factor * svm[alone], rtol=1e-9)
    return factor * svm


def test_without_rows_to_hold_out_the_broadest_concert_has_two_thirds():
    F, index = draw_votes(8, 40, n_classes=8, seed=4)
    index = np.arange(8)
    model = ConcertClassifier().fit(F, index)
    np.testing.assert_allclose(model.shares_, [2 / 3, 1 / 3])
    assert (model.C_, model.k_, model.p1_) == (0.1, 5, 2)
    scores = model.decision_function(F)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-6)


def test_the_default_is_near_the_best_of_its_parts():
    accuracy = []
    for seed in range(6):
        F, index = draw_votes(260, 60, n_classes=5, seed=seed)
        F, rest, index, truth = F[:60], F[60:], index[:60], index[60:]
        models = (
            ConcertClassifier(),
            ConcertSelector(k=8, p1=2.0),
            OneVsAllClassifier(C="cv", probability=False),
        )
        accuracy.append([model.fit(F, index).score(rest, truth) for model in models])
    ours, vote, svm = np.mean(accuracy, axis=0)
    assert ours >= max(vote, svm) - 0.01


def test_sums_alone_leave_the_vote_as_it_is():
    F, index = draw_votes(120, 10, n_classes=3, seed=5)
    sums = FeatureSums(3, 10).add(F, index)
    mixed, vote = (
        ConcertClassifier(k=3, p1=1.0, refit=refit).fit_sums(sums, [0, 1, 2])
        for refit in ("mix", None)
    )
    np.testing.assert_array_equal(mixed.coef_, vote.coef_)


def test_threads_and_the_order_of_columns_change_nothing():
    F, index = draw_votes(50, 30, n_classes=3, seed=6)
    one, two = (ConcertClassifier(n_jobs=n).fit(F, index) for n in (1, 3))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    order = np.random.default_rng(0).permutation(30)
    turned = ConcertClassifier().fit(F[:, order], index)
    np.testing.assert_allclose(
        turned.coef_, one.coef_[:, order], atol=0.05 * np.abs(one.coef_).max()
    )


def test_probabilities_of_the_mixture():
    F, index = draw_votes(300, 30, n_classes=3, seed=7)
    model = ConcertClassifier(probability=True).fit(F[:90], index[:90])
    p = model.predict_proba(F[90:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(F[90:]))
    loss = -np.log(p[np.arange(210), index[90:]]).mean()
    assert loss < -np.log(1 / 3)


@pytest.mark.parametrize(
    ("n_rows", "n", "n_classes", "balance", "expected"),
    [
        (100, 160, 10, False, "whole"),  # one matrix for many classes
        (100, 2000, 10, False, None),
        (5000, 2000, 10, False, "whole"),  # many rows
        (100, 160, 10, True, None),
        (5000, 2000, 10, True, "per_class"),
        (50_000, 20_000, 2, False, None),  # too large
    ],
)
def test_when_gram_matrices_are_made(n_rows, n, n_classes, balance, expected):
    assert plan_sums((n_rows, n), n_classes, balance) == expected
