"""Any binary classifier at the nodes: beside our own, in a search over its parameters, refused."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from tests.identify.test_tree_keys import blobs

from fieldguide.errors import ModelError
from fieldguide.exports.onnx_key import add_key
from fieldguide.exports.onnx_operators import Operators
from fieldguide.identify import (
    AttentionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    RelaxedHierarchyClassifier,
    contrast_classes,
    generalization_bound,
    relative_complexity,
    trace_path,
)
from fieldguide.identify.node_classifiers import EstimatorFunctions
from fieldguide.svm import LinearFunctions

KEYS = (
    AttentionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    RelaxedHierarchyClassifier,
)
LINEAR = (LogisticRegression(), LinearSVC(loss="hinge", max_iter=100_000, random_state=0))
OTHERS = (SVC(gamma=0.5), GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression()))


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize(
    ("search", "model"),
    [
        ("greedy", LINEAR[0]),
        ("shortlist", LINEAR[1]),
        ("best_first", OTHERS[0]),
        ("shortlist", OTHERS[1]),
        ("greedy", OTHERS[2]),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_key_with_every_search(kind, search, model):
    X, y = blobs(1, n=90, k=4)
    key = kind(search=search, node_classifier=model).fit(X[:60], y[:60])
    ours = kind(search=search).fit(X[:60], y[:60])
    accuracy, own = (np.mean(k.predict(X[60:]) == y[60:]) for k in (key, ours))
    assert accuracy > own - 0.2
    probability = key.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(key.classes_[probability.argmax(axis=1)], key.predict(X))
    is_linear = any(model is each for each in LINEAR)
    if is_linear:
        np.testing.assert_array_equal(key.predict(X), key.predict(csr_array(X)))
    assert isinstance(key.graph_.functions, LinearFunctions if is_linear else EstimatorFunctions)
    assert key.decision_path(X).shape == (len(X), key.graph_.n_nodes + 4)
    assert (key.evaluations(X) <= key.graph_.n_nodes + 4).all()
    rows = np.ascontiguousarray(X, dtype=np.float32)
    np.testing.assert_array_equal(key.fast_predict(rows), key.predict(rows))


@pytest.mark.parametrize("kind", [NormalizedCutTreeClassifier, DAGSVMClassifier])
def test_the_same_svm_is_the_same_key(kind):
    """scikit-learn's LinearSVC minimises what ours does, the intercept in the penalty."""
    X, y = blobs(2, n=80, k=4)
    settings = {"C": 0.5, "loss": "hinge", "tol": 1e-8, "search": "greedy"}
    svm = LinearSVC(loss="hinge", C=0.5, tol=1e-8, max_iter=1_000_000, random_state=0)
    ours, theirs = kind(**settings).fit(X, y), kind(**settings, node_classifier=svm).fit(X, y)
    np.testing.assert_array_equal(ours.graph_.left, theirs.graph_.left)
    np.testing.assert_allclose(ours.graph_.functions.coef, theirs.graph_.functions.coef, atol=2e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_function_is_the_classifier_of_its_node():
    X, y = blobs(0, n=60, k=4)
    key = DAGSVMClassifier(node_classifier=GaussianNB(), search="greedy").fit(X, y)
    colors, functions = key.graph_.colors, key.graph_.functions
    for node in range(key.graph_.n_nodes):
        rows = np.flatnonzero(np.abs(colors[node][y]) == 1)
        alone = GaussianNB().fit(X[rows], colors[node][y[rows]])
        p = alone.predict_proba(X)[:, 1]
        expected = np.log(np.clip(p, 1e-12, None) / np.clip(1 - p, 1e-12, None))
        np.testing.assert_allclose(functions.evaluate(X)[:, node], expected, rtol=1e-6, atol=1e-8)


def test_a_search_over_parameters_of_the_classifier():
    X, y = blobs(3, n=60, k=3)
    key = RelaxedHierarchyClassifier(search="greedy", node_classifier=LogisticRegression())
    grid = {
        "node_classifier__C": [1e-4, 1.0],
        "rho": [0.8, 1.5],
    }
    tried = GridSearchCV(key, grid, cv=2, error_score="raise").fit(X, y)
    assert tried.best_params_["node_classifier__C"] == 1.0
    choice = {"node_classifier": [None, LinearSVC(), LogisticRegression()]}
    tried = GridSearchCV(key, choice, cv=2, error_score="raise").fit(X, y)
    assert len(tried.cv_results_["params"]) == 3
    assert clone(key).node_classifier is not key.node_classifier


def test_threads_change_nothing():
    X, y = blobs(4, n=60, k=4)
    model = RandomForestClassifier(5, random_state=0)
    one, two = (
        RelaxedHierarchyClassifier(node_classifier=model, n_jobs=n).fit(X, y) for n in (None, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_side_without_rows_and_classes_of_one_row():
    X = np.array([[0.0, 1], [0, 1.1], [1, 0], [1.1, 0], [3, 3]])
    for model in (*LINEAR, GaussianNB()):
        key = RelaxedHierarchyClassifier(node_classifier=model, search="greedy")
        key.fit(X, ["a", "a", "b", "b", "c"])
        assert key.predict(X[[0, 2]]).tolist() == ["a", "b"]


def test_what_follows_for_linear_classifiers_and_what_is_refused():
    X, y = blobs(5, n=90, d=10, k=4)
    linear = RelaxedHierarchyClassifier(node_classifier=LogisticRegression(C=100.0)).fit(X, y)
    assert contrast_classes(linear, X[0]) is not None
    assert len(trace_path(linear, X[0])) >= 1
    assert np.isfinite(generalization_bound(linear, X, y).node_margins).all()
    add_key(Operators(), linear, "rows")
    other = RelaxedHierarchyClassifier(node_classifier=GaussianNB()).fit(X, y)
    assert len(trace_path(other, X[0])) >= 1
    assert (relative_complexity(other, X) > 0).all()
    assert contrast_classes(other, X[0]) is None
    with pytest.raises(ValueError, match="without its node_classifier"):
        generalization_bound(other, X, y)
    with pytest.raises(Exception, match="its functions are not linear"):
        add_key(Operators(), other, "rows")
    for key, name in ((linear, "LogisticRegression"), (other, "GaussianNB")):
        with pytest.raises(ModelError, match=f"node_classifier of .* is a {name}, and a file"):
            key.to_state()
    grown = AttentionTreeClassifier(node_classifier=LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="adds kinds with SVMs of its own"):
        grown.add_kind(X[:3], [7, 7, 7])


def test_bad_classifiers_are_one_sentence():
    X, y = blobs(0)
    for model in (LogisticRegression, StandardScaler(), 3):
        with pytest.raises(ValueError, match="must be a classifier with fit and decision_function"):
            RelaxedHierarchyClassifier(node_classifier=model).fit(X, y)
    with pytest.raises(ValueError, match="leave the kernel"):
        RelaxedHierarchyClassifier(node_classifier=SVC(), kernel="rbf").fit(X, y)
