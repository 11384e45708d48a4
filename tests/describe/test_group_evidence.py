"""What annotated kinds say of kinds that nobody annotated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.describe import fill_groups, find_agreeing
from fieldguide.describe.group_evidence import MOST, RIGHT
from fieldguide.errors import InvalidArgument


def draw_kinds(seed, n_groups=24, n_rows=6, n_attributes=10, noise=0.1):
    """Kinds with a look of their own; a column of the rows goes with each attribute, with noise."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows)
    shows = rng.random((n_groups, n_attributes)) < 0.3
    look = np.hstack([shows + noise * rng.normal(size=shows.shape), rng.normal(size=(n_groups, 8))])
    X = look[groups] + 0.2 * rng.normal(size=(len(groups), n_attributes + 8))
    return X, shows[groups].astype(float), groups


def list_said(filled, groups, which):
    return np.stack([(filled[groups == k] >= 0.5).mean(axis=0) >= MOST for k in which])


def test_new_kinds_are_judged_as_held_out_ones_were():
    """About as much of what is said is right as was asked for; and much is said."""
    n_said = n_right = n_true = 0
    for seed in range(10):
        X, shows, groups = draw_kinds(seed, n_groups=40)
        new = np.arange(20, 40)
        A = np.where(groups[:, None] >= 20, np.nan, shows)
        filled = fill_groups(X, A, groups)
        np.testing.assert_array_equal(filled[groups < 20], shows[groups < 20])
        said, truth = list_said(filled, groups, new), list_said(shows, groups, new)
        n_said, n_right = n_said + said.sum(), n_right + (said & truth).sum()
        n_true += truth.sum()
    assert abs(n_right / n_said - RIGHT) < 0.05
    assert n_right > 0.25 * n_true


def test_rows_that_say_nothing_say_nothing_of_new_kinds():
    X, shows, groups = draw_kinds(0)
    X = np.random.default_rng(1).normal(size=X.shape)
    filled = fill_groups(X, np.where(groups[:, None] >= 12, np.nan, shows), groups)
    assert (filled[groups >= 12] >= 0.5).mean() < 0.05


def test_what_an_attribute_names_can_be_measured():
    """Attributes by chance, which the rows do not show; a measure of the picture does."""
    X, _, groups = draw_kinds(0)
    shows = (np.random.default_rng(5).random((24, 10)) < 0.3)[groups].astype(float)
    A = np.where(groups[:, None] >= 12, np.nan, shows)
    rng = np.random.default_rng(2)
    measured = 0.25 * shows + 0.03 * rng.normal(size=shows.shape)
    measured[:, ::2] = np.nan  # half of the names say nothing that can be measured
    new = np.arange(12, 24)
    alone, truth = (list_said(rows, groups, new) for rows in (fill_groups(X, A, groups), shows))
    told = list_said(fill_groups(X, A, groups, measured), groups, new)
    has_teacher = list_said(shows, groups, range(12)).any(axis=0)
    odd = np.arange(10) % 2 == 1
    assert (told == truth)[:, odd & has_teacher].mean() > 0.95
    assert (told & truth)[:, odd].sum() > 2 * (alone & truth)[:, odd].sum()


def test_what_no_annotated_kind_shows_is_said_of_none():
    X, shows, groups = draw_kinds(0)
    shows[groups < 12, 3] = 0
    filled = fill_groups(X, np.where(groups[:, None] >= 12, np.nan, shows), groups)
    assert (filled[groups >= 12, 3] == 0).all()


def test_gaps_in_a_kind_that_is_annotated_in_part_remain():
    X, shows, groups = draw_kinds(0)
    A = np.where(groups[:, None] >= 20, np.nan, shows)
    A[0] = A[7, 2] = np.nan
    filled = fill_groups(X, A, groups)
    np.testing.assert_array_equal(np.isnan(filled), np.isnan(A) & (groups < 20)[:, None])


def test_too_few_kinds_teach_nothing():
    X, shows, groups = draw_kinds(0)
    A = np.where(groups[:, None] >= 1, np.nan, shows)
    assert (fill_groups(X, A, groups)[groups >= 1] == 0).all()
    A[:] = np.nan
    assert (fill_groups(X, A, groups) == 0).all()
    with pytest.raises(InvalidArgument, match="the same rows"):
        fill_groups(X[1:], A, groups)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(0.1, 10), shift=st.floats(-2, 2))
def test_order_and_names_and_the_middle_and_size_of_rows_do_not_matter(seed, scale, shift):
    X, shows, groups = draw_kinds(seed, n_groups=16, n_rows=3)
    A = np.where(groups[:, None] >= 9, np.nan, shows)
    before = fill_groups(X, A, groups)
    order = np.random.default_rng(seed).permutation(len(A))
    renamed = np.array(list("ponmlkjihgfedcba"))[groups]
    after = fill_groups(scale * X[order] + shift, A[order], renamed[order])
    np.testing.assert_allclose(after, before[order], atol=2e-3)


def test_a_measure_that_annotated_groups_contradict_is_not_said():
    groups = np.repeat(np.arange(8), 5)
    shows = np.stack([groups < 3, groups < 4, groups < 0], axis=1)
    scores = np.where(groups[:, None] < 4, 0.9, 0.1) * np.array([1, 1, 0.5])
    assert find_agreeing(scores, shows * 1.0, groups).tolist() == [True, True, True]
    shows[groups == 2] = False
    assert find_agreeing(scores, shows * 1.0, groups).tolist() == [False, True, True]
    unknown = np.where(groups[:, None] < 4, np.nan, shows)
    assert find_agreeing(scores, unknown, groups).all()
