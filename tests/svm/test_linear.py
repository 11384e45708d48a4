import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.svm.problems import draw_problem

from fieldguide._random import deal_folds
from fieldguide.errors import FieldguideWarning
from fieldguide.svm import LinearSVM, judge
from fieldguide.svm.c_path import C_GRID


@parametrize_with_checks([LinearSVM(), LinearSVM(C="cv", loss="squared_hinge")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_attributes_belong_together(seed):
    X, sign = draw_problem(seed)
    names = np.where(sign > 0, "yes", "no")
    svm = LinearSVM(C=2.0, class_weight="balanced", intercept_scaling=3.0).fit(X, names)
    assert svm.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(svm.dual_coef_ @ X, svm.coef_, atol=1e-10)
    assert svm.intercept_[0] == pytest.approx(9 * svm.dual_coef_.sum())
    alpha = svm.dual_coef_[0] * sign
    problem = {"C": 2.0, "intercept_scaling": 3.0}
    gap = judge(X, sign, svm.coef_[0], svm.intercept_[0], alpha, **problem)
    assert gap == pytest.approx(svm.duality_gap_, rel=1e-6)
    assert svm.duality_gap_ <= svm.tol
    np.testing.assert_array_equal(svm.predict(X), svm.fast_predict(X))
    np.testing.assert_array_equal(svm.predict(X), svm.predict(csr_matrix(X)))
    assert LinearSVM(fit_intercept=False).fit(X, names).intercept_[0] == 0


def test_balance_counts_both_classes_alike(seed):
    X, sign = draw_problem(seed)
    keep = (sign < 0) | (np.arange(len(X)) % 4 == 0)
    X, sign = X[keep], sign[keep]
    factor = (sign < 0).sum() / (sign > 0).sum()
    weight = np.where(sign > 0, factor, 1.0)
    balanced = LinearSVM(class_weight="balanced", tol=1e-5, max_iter=10**5).fit(X, sign)
    total = weight.sum() / len(sign)
    by_hand = LinearSVM(C=1 / total, tol=1e-5, max_iter=10**5).fit(X, sign, weight)
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=0.01)


def test_a_warm_start_goes_on_where_the_last_fit_ended(seed):
    X, sign = draw_problem(seed, n=200)
    svm = LinearSVM(warm_start=True).fit(X, sign)
    assert svm.fit(X, sign).n_iter_ == 0
    assert clone(svm).fit(X, sign).n_iter_ > 0
    assert svm.fit(X[:50], sign[:50]).n_iter_ > 0


def test_the_warning_states_gap_and_knob(seed):
    X, sign = draw_problem(seed, n=200)
    with pytest.warns(
        FieldguideWarning, match=r"gap of .* where 1e-09 was asked for; raise max_it"
    ):
        LinearSVM(C=100.0, tol=1e-9, max_iter=3).fit(X, sign)


def test_c_by_cross_validation_is_the_best_of_separate_fits(seed):
    X, sign = draw_problem(seed, n=120, noise=2.0)
    found = LinearSVM(C="cv", random_state=seed, max_iter=10**5).fit(X, sign)
    fold = deal_folds(sign, 5, seed)
    accuracy = []
    for C in C_GRID:
        answer = np.empty(120)
        for k in range(5):
            alone = LinearSVM(C=C, max_iter=10**5).fit(X[fold != k], sign[fold != k])
            answer[fold == k] = alone.predict(X[fold == k])
        accuracy.append(np.mean([(answer[sign == s] == s).mean() for s in (-1, 1)]))
    assert accuracy[C_GRID.index(found.C_)] > max(accuracy) - 0.02
    fixed = LinearSVM(C=found.C_, random_state=seed, max_iter=10**5).fit(X, sign)
    np.testing.assert_array_equal(found.coef_, fixed.coef_)


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, [0, 1, 2, 1], "y has 3 classes: use OneVsAllClassifier"),
        ({}, [1, 1, 1, 1], "needs rows of 2 classes"),
        ({"C": "best"}, [0, 1, 0, 1], 'C of LinearSVM must be a number or "cv"'),
        ({"C": -1}, [0, 1, 0, 1], "C of LinearSVM must be a number"),
        ({"loss": "l2"}, [0, 1, 0, 1], "loss of LinearSVM must be one of"),
        ({"class_weight": "even"}, [0, 1, 0, 1], "class_weight of LinearSVM must be one of"),
        ({"intercept_scaling": 0}, [0, 1, 0, 1], "intercept_scaling of LinearSVM must be"),
    ],
)
def test_bad_input_is_one_sentence(settings, y, message):
    with pytest.raises(ValueError, match=message):
        LinearSVM(**settings).fit([[0.0], [1.0], [2.0], [3.0]], y)
