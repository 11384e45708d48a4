"""The nearest rows: all pairs where they are few, cells where they are many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.errors import InvalidArgument
from fieldguide.features import find_close, neighbours, reduce_rows
from fieldguide.features.neighbours import deal_cells


def draw_rows(n, seed, *, n_columns=24, n_groups=12):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(n_groups, n_columns))
    rows = middles[rng.integers(0, n_groups, n)] + rng.normal(0, 0.4, (n, n_columns))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def find_by_sorting(rows, k, asked=None):
    likeness = (rows if asked is None else asked).astype(float) @ rows.T.astype(float)
    np.fill_diagonal(likeness, -np.inf)
    return np.argsort(-likeness, axis=1, kind="stable")[:, :k]


@given(st.integers(2, 40), st.integers(1, 8), st.integers(0, 9))
def test_few_are_compared_with_all(n, k, seed):
    rows = draw_rows(n, seed)
    other = draw_rows(n, seed + 1)
    assert (find_close(rows, k) == find_by_sorting(rows, k)[:, : n - 1]).all()
    assert (find_close(rows, k, other) == find_by_sorting(rows, k, other)[:, : n - 1]).all()


def test_there_is_nothing_near_to_one_alone():
    assert find_close(draw_rows(1, 0), 5).shape == (1, 0)
    assert find_close(draw_rows(0, 0), 5).shape == (0, 0)


def test_rows_that_are_not_finite_are_refused():
    rows, other = draw_rows(3, 0), draw_rows(3, 1)
    other[1, 2] = np.nan
    for given_rows in ((other, 1), (rows, 1, other)):
        with pytest.raises(InvalidArgument, match="NaN or infinity"):
            find_close(*given_rows)


@pytest.fixture
def in_cells(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT", 100)
    monkeypatch.setattr(neighbours, "_BLOCK", 256)


def test_cells_find_nearly_all_of_the_nearest(in_cells):
    rows = draw_rows(2000, 3, n_groups=60)
    found, wanted = find_close(rows, 6), find_by_sorting(rows, 6)
    assert not (found == np.arange(len(rows))[:, None]).any()
    assert all(len(set(row)) == 6 for row in found.tolist())
    likeness = np.einsum("id,ijd->ij", rows, rows[found])
    assert (np.diff(likeness, axis=1) <= 1e-6).all()  # nearest first
    share = (wanted[:, :, None] == found[:, None, :]).any(axis=2).mean()
    assert share > 0.95
    assert (found[:, 0] == wanted[:, 0]).mean() > 0.98


def test_the_number_of_threads_changes_nothing(in_cells):
    rows = draw_rows(900, 5)
    mirrored = rows[:, ::-1].copy()
    for asked in (None, mirrored):
        one, two = (find_close(rows, 5, asked, n_jobs=n) for n in (1, 2))
        assert (one == two).all()
    assert (reduce_rows(rows, n_jobs=1) == reduce_rows(rows, n_jobs=2)).all()


@pytest.mark.parametrize("n_distinct", [1, 2, 150])
def test_rows_that_are_the_same_are_near_each_other(in_cells, n_distinct):
    distinct = draw_rows(n_distinct, 7)
    rows = distinct[np.arange(450) % n_distinct]
    found = find_close(rows, 2)
    assert ((found >= 0) & (found < 450)).all()
    assert not (found == np.arange(450)[:, None]).any()
    assert (found % n_distinct == np.arange(450)[:, None] % n_distinct).mean() > 0.95


def test_a_crowded_cell_is_represented(in_cells):
    rows = np.concatenate([np.repeat(draw_rows(1, 1), 3000, axis=0), draw_rows(400, 2)])
    cells, middles = deal_cells(rows)
    assert len(cells) == len(middles)
    assert max(map(len, cells)) <= neighbours._CROWDED * len(rows) / len(cells)


def test_directions_that_vary_most_by_brute_force():
    X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    centred = X - X.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    assert (find_close(reduce_rows(X), 5) == find_by_sorting(centred, 5)).all()
