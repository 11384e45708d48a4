"""Work that travels to other machines gives the answers that it gives here."""

import pickle
import threading

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from fieldguide import _cluster
from fieldguide._cluster import Cluster
from fieldguide._parallel import map_in_order, sending_to
from fieldguide.describe import AttributeDetectors, AttributeTree, BernoulliTree
from fieldguide.identify import DAGSVMClassifier
from fieldguide.select import ConcertSelector

cloudpickle = pytest.importorskip("cloudpickle", reason="needs the extra cluster")


class Copies(Cluster):
    """Machines that share no memory with this one."""

    def __init__(self):
        self.sent = 0

    def map_in_order(self, function, items):
        there = pickle.loads(cloudpickle.dumps(function))
        items = pickle.loads(cloudpickle.dumps(list(items)))
        self.sent += len(items)
        return [pickle.loads(cloudpickle.dumps(there(item))) for item in items]


def draw(n=60, d=6):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = np.clip(rng.normal(0.4, 0.15, (n, d)) + 0.3 * np.eye(d)[y], 0, 1)
    return X, y


def fit_tree(make):
    A = (draw()[0] > 0.5).astype(float)
    tree = make(n_iter=12, n_chains=3, n_jobs=2).fit(A)
    return tree.to_state()[0] | {f"{i}": c["sample.theta"] for i, c in enumerate(tree.chains_)}


def fit_detectors():
    X, y = draw()
    return AttributeDetectors(n_jobs=2).fit(X, np.eye(3)[y]).to_state()[0]


def fit_concert():
    X, y = draw()
    return ConcertSelector(n_jobs=2).fit(X, y).to_state()[0]


def fit_key():
    X, y = draw()
    key = DAGSVMClassifier(node_classifier=LinearSVC(), n_jobs=2).fit(X, y)
    return {"answers": key.predict_proba(X)}


@pytest.mark.parametrize(
    "fit",
    [
        lambda: fit_tree(AttributeTree),
        lambda: fit_tree(BernoulliTree),
        fit_detectors,
        fit_concert,
        fit_key,
    ],
    ids=["attribute tree", "bernoulli tree", "detectors", "concert", "key"],
)
def test_what_travels_gives_the_same_answers(fit):
    here, copies = fit(), Copies()
    with sending_to(copies):
        there = fit()
    assert copies.sent
    assert here.keys() == there.keys()
    for name, values in here.items():
        np.testing.assert_array_equal(there[name], values, err_msg=name)


def test_chains_come_back_in_rounds_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr("fieldguide.describe.sampled_tree._ROUND_S", 0.0)
    A = (draw()[0] > 0.5).astype(float)
    whole = AttributeTree(n_iter=5, n_chains=2, n_jobs=2).fit(A)
    told = []

    def stop(chain, n_done, log_joint):
        told.append((chain, n_done))
        return n_done == 2

    with sending_to(Copies()):
        tree = AttributeTree(n_iter=5, n_chains=2, n_jobs=2).fit(A, progress=stop)
        assert tree.n_iter_ == 2
        tree.fit(A, resume=tree.chains_, progress=lambda *now: told.append(now[:2]))
    assert told == [(c, n) for n in (1, 2, 3, 4, 5) for c in (0, 1)]
    np.testing.assert_array_equal(tree.trace_["log_joint"], whole.trace_["log_joint"])


def test_what_cannot_travel_stays(monkeypatch):
    lock, copies = threading.Lock(), Copies()

    def count(i):
        with lock:
            return i + 1

    with sending_to(copies):
        assert list(map_in_order(count, range(3), n_jobs=2, travels=True)) == [1, 2, 3]
        assert list(map_in_order(abs, range(3), n_jobs=2)) == [0, 1, 2]
        assert list(map_in_order(abs, range(3), n_jobs=1, travels=True)) == [0, 1, 2]
        monkeypatch.setattr(_cluster, "_MOST_BYTES", 7_000)
        weights = np.arange(1000.0)
        assert list(map_in_order(weights.item, range(3), n_jobs=2, travels=True)) == [0, 1, 2]
        assert copies.sent == 0
        assert list(map_in_order(abs, range(3), n_jobs=2, travels=True)) == [0, 1, 2]
    assert copies.sent == 3
    assert list(map_in_order(abs, range(3), n_jobs=2, travels=True)) == [0, 1, 2]
    assert copies.sent == 3
