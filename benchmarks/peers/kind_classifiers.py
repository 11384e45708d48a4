"""Peers: scikit-learn, hiclass, LightGBM, usearch, napkinXC and omikuji name the kinds of rows.

    PYTHON benchmarks/peers/kind_classifiers.py NAME FOLDER…

PYTHON is one that has the peer; it needs nothing of Fieldguide. Each FOLDER holds the arrays of
``label_trees.PARTS``, a draw. The last line printed is JSON, a row for each draw. All have one
thread and their own settings; hiclass, which must be given a hierarchy, gets groups of kinds whose
means are near each other, and logistic regressions for its nodes. A model is as large as its
pickle, text, index or folder; omikuji's is not written.
"""

import json
import pickle
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import label_trees

PACKAGES = {
    "scikit-learn, LinearSVC": "sklearn",
    "scikit-learn, LogisticRegression": "sklearn",
    "hiclass, a classifier for each parent": "hiclass",
    "LightGBM": "lightgbm",
    "usearch, 5 nearest rows": "usearch",
    "napkinXC PLT": "napkinxc",
    "omikuji, 1 tree": "omikuji",
}


def make_linear_svc(X, y):
    from sklearn.svm import LinearSVC

    model = LinearSVC().fit(X, y)
    return model.predict, len(pickle.dumps(model))


def make_logistic(X, y):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(X, y)
    return model.predict, len(pickle.dumps(model))


def make_hiclass(X, y):
    from hiclass import LocalClassifierPerParentNode
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.linear_model import LogisticRegression

    means = np.stack([X[y == k].mean(axis=0) for k in np.unique(y)])
    groups = AgglomerativeClustering(max(2, round(len(means) ** 0.5))).fit_predict(means)
    levels = np.stack([[f"group {groups[k]}" for k in y], [f"kind {k}" for k in y]], axis=1)
    model = LocalClassifierPerParentNode(LogisticRegression(max_iter=1000))
    model.fit(X, levels)

    def predict(rows):
        return np.array([int(k.split()[1]) for k in model.predict(rows)[:, 1]])

    return predict, len(pickle.dumps(model))


def make_lightgbm(X, y):
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, random_state=0, verbosity=-1).fit(X, y)
    return model.predict, len(model.booster_.model_to_string())


def make_usearch(X, y):
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="cos", dtype="f32")
    index.add(np.arange(len(X)), X, threads=1)
    n_kinds = int(y.max()) + 1

    def predict(rows):
        found = y[index.search(rows, 5, threads=1).keys.reshape(len(rows), -1).astype(np.int64)]
        return np.array([np.bincount(each, minlength=n_kinds).argmax() for each in found])

    return predict, int(index.serialized_length) + y.nbytes


MAKERS = {
    "scikit-learn, LinearSVC": make_linear_svc,
    "scikit-learn, LogisticRegression": make_logistic,
    "hiclass, a classifier for each parent": make_hiclass,
    "LightGBM": make_lightgbm,
    "usearch, 5 nearest rows": make_usearch,
}


def measure(name, folder):
    X, y, X_test, y_test = (np.load(folder / part) for part in label_trees.PARTS)
    if name not in MAKERS:
        label_trees.N_THREADS = 1
        is_napkin = PACKAGES[name] == "napkinxc"
        fit = label_trees.fit_napkinxc if is_napkin else label_trees.fit_omikuji
        row = fit(name, folder, X, y, X_test, y_test)[0]
        single = row["batch_us"] if row["batch_us"] is not None else row["single_us"]
        files = (folder / "model").rglob("*") if is_napkin else ()
        size = sum(path.stat().st_size for path in files if path.is_file()) / 1e3 or None
        found = {"accuracy": row["accuracy"], "fit_s": row["fit_cpu_s"], "row_us": single}
        return found | {"model_kb": size}
    started = time.process_time()
    predict, n_bytes = MAKERS[name](X, y)
    fit_s = time.process_time() - started
    return {
        "accuracy": float((predict(X_test) == y_test).mean()),
        "fit_s": fit_s,
        "row_us": label_trees.least_seconds(lambda: predict(X_test)) / len(X_test) * 1e6,
        "model_kb": n_bytes / 1e3,
    }


def main():
    name, folders = sys.argv[1], [Path(folder) for folder in sys.argv[2:]]
    measure(name, folders[0])  # compiled and loaded before it is timed
    print("\n" + json.dumps([measure(name, folder) for folder in folders]))


if __name__ == "__main__":
    main()
