"""From which margin on an attribute is said of kinds that nobody has annotated."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.describe.group_cuts import RIGHT, cut_margins, find_agreeing


def draw_margins(seed, n_groups=20, n_rows=8, n_attributes=12):
    """Margins that rank groups well: 0.4 for groups that show an attribute, −0.8 for others."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows)
    shows = rng.random((n_groups, n_attributes)) < 0.25
    levels = np.where(shows, 0.4, -0.8) + 0.2 * rng.normal(size=shows.shape)
    margins = levels[groups] + 0.3 * rng.normal(size=(len(groups), n_attributes))
    return margins, shows[groups].astype(float), groups


def test_new_groups_are_told_by_the_cuts_of_others():
    margins, A, groups = draw_margins(0)
    cuts = cut_margins(margins, A, groups)
    new, truth, of = draw_margins(1)
    said = cuts.score(new) >= 0.5
    is_most = np.array([said[of == k].mean(axis=0) >= 0.6 for k in range(20)])
    is_true = np.array([truth[of == k].mean(axis=0) >= 0.6 for k in range(20)])
    believed = np.isfinite(cuts.cut)
    assert believed.sum() >= 10
    assert (is_most == is_true)[:, believed].mean() > 0.97
    assert not said[:, ~believed].any()


def test_margins_that_say_nothing_are_not_believed():
    rng = np.random.default_rng(0)
    _, A, groups = draw_margins(0)
    margins = rng.normal(size=A.shape) - 2
    cuts = cut_margins(margins, A, groups)
    assert (cuts.score(margins) >= 0.5).mean() < 0.02


def test_about_as_much_is_right_of_new_groups_as_of_held_out_ones():
    """Margins that overlap: of groups that show an attribute 0, of others −1, both ± 0.5."""
    said_right = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        groups, shows = np.repeat(np.arange(40), 4), rng.random((40, 30)) < 0.3
        levels = np.where(shows, 0.0, -1.0) + 0.5 * rng.normal(size=shows.shape)
        learnt, new = groups < 20, groups >= 20
        cuts = cut_margins(levels[groups][learnt], shows[groups][learnt] * 1.0, groups[learnt])
        said = cuts.score(levels[groups][new]) >= 0.5
        said_right.append((said & shows[groups][new]).sum() / said.sum())
        assert said.sum() > 0.2 * shows[groups][new].sum()
    assert abs(np.mean(said_right) - RIGHT) < 0.05


def test_a_measure_that_annotated_groups_contradict_is_not_said():
    groups = np.repeat(np.arange(8), 5)
    shows = np.stack([groups < 3, groups < 4, groups < 0], axis=1)
    scores = np.where(groups[:, None] < 4, 0.9, 0.1) * np.array([1, 1, 0.5])
    assert find_agreeing(scores, shows * 1.0, groups).tolist() == [True, True, True]
    shows[groups == 2] = False
    assert find_agreeing(scores, shows * 1.0, groups).tolist() == [False, True, True]
    unknown = np.where(groups[:, None] < 4, np.nan, shows)
    assert find_agreeing(scores, unknown, groups).all()


def test_an_attribute_of_one_group_is_said_of_no_other():
    margins, A, groups = draw_margins(0)
    A[:, 0] = groups == 3
    A[:, 1] = (groups == 3) | (groups == 4)
    A[:, 2] = groups != 3
    cut = cut_margins(margins, A, groups).cut
    assert np.isinf(cut[[0, 2]]).all()
    assert np.isfinite(cut[1])
    few = cut_margins(margins[:8], A[:8], groups[:8])
    assert np.isinf(few.cut).all()
    assert (few.score(margins) == 0).all()


def test_rows_without_an_annotation_take_no_part():
    margins, A, groups = draw_margins(0)
    whole = cut_margins(margins, A, groups)
    more = np.vstack([margins, np.full((5, 12), np.nan)])
    again = cut_margins(more, np.vstack([A, np.full((5, 12), np.nan)]), np.r_[groups, [99] * 5])
    np.testing.assert_array_equal(again.cut, whole.cut)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(0.1, 10), shift=st.floats(-2, 2))
def test_the_order_of_rows_and_names_of_groups_do_not_matter_and_cuts_follow_margins(
    seed, scale, shift
):
    margins, A, groups = draw_margins(seed, n_groups=10, n_rows=3, n_attributes=4)
    before = cut_margins(margins, A, groups)
    order = np.random.default_rng(seed).permutation(len(A))
    renamed = np.array(list("jihgfedcba"))[groups]
    after = cut_margins(scale * margins[order] + shift, A[order], renamed[order])
    np.testing.assert_allclose(after.cut, scale * before.cut + shift, rtol=1e-3, atol=1e-3 * scale)
