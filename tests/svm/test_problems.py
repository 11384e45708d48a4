"""Many problems on shared rows: what their functions say of some of the rows."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from fieldguide.errors import FieldguideWarning, InvalidArgument
from fieldguide.svm import Problems, Question, warn_open_gaps


def train(X, n_functions, seed):
    rng = np.random.default_rng(seed)
    sign = np.sign(np.asarray(X[:, [0]].toarray() if hasattr(X, "toarray") else X[:, [0]]).ravel())
    chosen = [np.sort(rng.permutation(len(sign))[:30]) for _ in range(n_functions)]
    problems = Problems(X, loss="hinge")
    return problems, problems.solve([Question(rows, sign[rows]) for rows in chosen], C=1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_functions", [1, 3])
def test_values_are_products_with_the_rows(dtype, is_sparse, n_functions, seed):
    dense = np.random.default_rng(seed).normal(size=(50, 7)).astype(dtype)
    dense[:, 3] *= dense[:, 0] > 0  # something for a sparse matrix to leave out
    problems, trained = train(csr_array(dense) if is_sparse else dense, n_functions, seed)
    rows = np.array([4, 49, 4, 0, 17])
    expected = dense[rows].astype(np.float64) @ trained.coef.T.astype(np.float64)
    values = problems.evaluate(trained, rows)
    assert values.shape == (5, n_functions)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(values, expected + trained.intercept, rtol=0, atol=tolerance)
    assert problems.evaluate(trained, np.array([], dtype=np.int64)).shape == (0, n_functions)


@pytest.mark.parametrize("row", [-1, 50])
def test_rows_outside_the_matrix_are_refused(row, seed):
    problems, trained = train(np.random.default_rng(seed).normal(size=(50, 7)), 1, seed)
    with pytest.raises(InvalidArgument, match="rows must lie in 0 to 49"):
        problems.evaluate(trained, np.array([0, row]))


def test_all_rows_in_another_order_are_the_same_question():
    rng = np.random.default_rng(0)
    X, order = rng.random((30, 4)), rng.permutation(30)
    sign = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    problems = Problems(X, "intersection", loss="hinge", tol=1e-8)
    plain, mixed = (
        problems.solve([Question(rows, sign[rows])], C=10.0) for rows in (np.arange(30), order)
    )
    np.testing.assert_allclose(
        problems.evaluate(mixed, order), problems.evaluate(plain, order), atol=1e-4
    )


def test_one_warning_says_the_worst_the_wish_the_count_and_the_knob():
    def fit():
        warn_open_gaps("Key", np.array([0.5, 1e-4, 2e-3]), 1e-3, "raise max_iter (now 7)")

    with pytest.warns(FieldguideWarning) as caught:
        fit()
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "Key stopped at a relative duality gap of 0.5 where 0.001 was asked for "
        "(2 of 3 problems); raise max_iter (now 7)."
    )
    assert caught[0].filename == __file__


def test_closed_gaps_are_silent_and_nan_is_not_closed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_open_gaps("Key", np.array([1e-3, 0.0]), 1e-3, "wait")
        warn_open_gaps("Key", 1e-4, 1e-3, "wait")
        warn_open_gaps("Key", np.empty(0), 1e-3, "wait")
    with pytest.warns(FieldguideWarning, match="gap of nan where"):
        warn_open_gaps("Key", [0.0, np.nan], 1e-3, "wait")
