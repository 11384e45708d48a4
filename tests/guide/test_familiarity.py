"""Whether a picture is of anything that a guide knows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.features import find_close, find_largest
from fieldguide.guide import familiarity
from fieldguide.guide.familiarity import (
    ALARMS,
    FOR_USUAL,
    Familiarity,
    learn_familiarity,
    measure_nearest,
)
from fieldguide.guide.summaries import normalise_rows

N_GROUPS = 5


def draw(seed, n=200, dim=40, spreads=(0.8,) * N_GROUPS):
    """Return rows about five middles, the i-th about middle i mod 5, and these as kinds."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % N_GROUPS
    noise = np.array(spreads)[group][:, None] * rng.normal(size=(n, dim))
    return normalise_rows(rng.normal(size=(N_GROUPS, dim))[group] + noise), [f"k{k}" for k in group]


def learn(X, kinds, answers=None):
    return learn_familiarity(X, find_close(X, 10), kinds, kinds if answers is None else answers)


def measure_all(known, X, rows, kinds):
    nearest = find_largest(rows @ X.T, 10)
    found = (
        known.measure(row[None], X, near, kind)
        for row, near, kind in zip(rows, nearest, kinds, strict=True)
    )
    return np.array(list(found))


@given(st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_the_three_nearest_that_count(seed, n_left_out):
    likeness = np.random.default_rng(seed).normal(size=(4, 9))
    likeness[:, :n_left_out] = -np.inf
    some = likeness[:, n_left_out:]
    expected = [np.mean(sorted(row)[-3:]) if len(row) else np.nan for row in some]
    np.testing.assert_allclose(measure_nearest(likeness), expected)


def test_the_threshold_is_that_of_each_specimen_left_out():
    X, kinds = draw(0)
    answers = ["k0" if i % 7 == 0 else kind for i, kind in enumerate(kinds)]  # some are wrong
    near, own, of_answer = [], [], []
    for i, row in enumerate(X):
        others = [j for j in range(len(X)) if j != i]

        def nearest(ids, row=row):
            return np.sort(X[ids] @ row)[-3:].mean()

        near.append(nearest(others))
        own.append(nearest([j for j in others if kinds[j] == kinds[i]]))
        of_answer.append(nearest([j for j in others if kinds[j] == answers[i]]))
    middle = np.mean(own)
    usual = {
        kind: (sum(of := [own[i] for i in range(len(X)) if kinds[i] == kind]) + FOR_USUAL * middle)
        / (len(of) + FOR_USUAL)
        for kind in set(kinds)
    }
    naive = [near[i] + of_answer[i] - usual[answers[i]] for i in range(len(X))]
    known = learn(X, kinds, answers)
    assert known.usual == pytest.approx(usual, abs=1e-5)
    assert known.least == pytest.approx(np.quantile(naive, ALARMS), abs=1e-5)


def test_new_ones_of_known_kinds_pass_and_strangers_do_not():
    X, kinds = draw(1, n=600)
    known = learn(X[:400], kinds[:400])
    new = measure_all(known, X[:400], X[400:], kinds[400:])
    assert (new < known.least).mean() < 0.1
    rows = normalise_rows(np.random.default_rng(9).normal(size=(100, 40)))
    strangers = measure_all(known, X[:400], rows, (["k0", "k1"] * 50))
    assert (strangers < known.least).mean() > 0.9


def test_what_is_usual_differs_between_kinds():
    """Beside a kind whose pictures are all alike, what is near for another kind is far."""
    X, kinds = draw(2, n=400, spreads=(0.1, 0.8, 0.8, 0.8, 0.8))
    known = learn(X, kinds)
    assert known.usual["k0"] > max(known.usual[f"k{k}"] for k in range(1, 5)) + 0.1
    row = X[1:2]
    nearest = find_largest(row @ X.T, 10)[0]
    swapped = known._replace(usual=known.usual | {"k1": known.usual["k0"]})
    less = known.measure(row, X, nearest, "k1") - swapped.measure(row, X, nearest, "k1")
    assert less == pytest.approx(known.usual["k0"] - known.usual["k1"])


def test_copies_do_not_make_strangers_of_the_rest():
    """Of a collection with every picture twice, the threshold is that of the pictures."""
    X, kinds = draw(3)
    once, both = learn(X, kinds), learn(np.concatenate([X, X]), kinds * 2)
    assert both.least == pytest.approx(once.least, abs=0.03)


def test_without_answers_only_the_nearest_count():
    X, kinds = draw(4)
    known = learn(X, kinds, [None] * len(X))
    assert known.members == {}
    near = measure_nearest(X @ X.T - 2 * np.eye(len(X)))
    assert known.least == pytest.approx(np.quantile(near, ALARMS), abs=1e-5)
    nearest = find_largest(X[:1] @ X.T, 10)[0]
    expected = measure_nearest(X[:1] @ X[nearest].T)[0]
    assert known.measure(X[:1], X, nearest, "k0") == pytest.approx(expected)


def test_too_few_specimens_know_nothing():
    X, kinds = draw(5, n=12)
    assert learn(X, kinds) is None
    assert learn(np.tile(X[:1], (40, 1)), ["a", "b"] * 20) is None


def test_kinds_of_one_specimen_are_compared_with_it():
    X, kinds = draw(6, n=120)
    kinds = ["alone", *kinds[1:]]
    known = learn(X, kinds)
    nearest = find_largest(X[:1] @ X.T, 10)[0]
    assert np.isfinite(known.measure(X[:1], X, nearest, "alone"))


def test_of_very_many_some_are_compared_with(monkeypatch):
    monkeypatch.setattr(familiarity, "MOST_OF_KIND", 7)
    X, kinds = draw(7)
    known = learn(X, kinds)
    assert {len(ids) for ids in known.members.values()} == {7}
    assert all(kinds[i] == kind for kind, ids in known.members.items() for i in ids)


@pytest.mark.parametrize("has_answers", [True, False])
def test_what_is_saved_is_what_was_learnt(has_answers):
    X, kinds = draw(8)
    known = learn(X, kinds, kinds if has_answers else [None] * len(X))
    arrays, settings = known.to_state()
    again = Familiarity.from_state(arrays, settings, len(X))
    assert again.least == known.least
    assert again.usual == pytest.approx(known.usual, abs=1e-6)
    assert list(again.members) == list(known.members)
    for kind, ids in known.members.items():
        np.testing.assert_array_equal(again.members[kind], ids)
    if has_answers:
        with pytest.raises(ValueError, match="of other specimens"):
            Familiarity.from_state(arrays, settings, len(X) // 2)
        with pytest.raises(ValueError, match="do not belong together"):
            Familiarity.from_state(arrays, {**settings, "kinds": ["k0"]}, len(X))
