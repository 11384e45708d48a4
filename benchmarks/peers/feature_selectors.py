"""Peers: abess, Boruta, scikit-learn's L1 and greedy mRMR choose columns.

    PYTHON benchmarks/peers/feature_selectors.py NAME N_COLUMNS FOLDER…

PYTHON is one that has the peer; it needs nothing of Fieldguide. Each FOLDER holds ``X.npy`` and
``y.npy`` of two kinds, a draw. The last line printed is JSON: for each draw the columns that were
chosen and the CPU seconds it took. abess and mRMR choose N_COLUMNS, Boruta as many as it confirms,
and L1 (a logistic regression, its C by five folds) those with a weight. mRMR takes the column with
the largest F statistic over the mean correlation with those it has, one after the other (FCQ).
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

PACKAGES = {"abess": "abess", "Boruta": "boruta", "L1": "sklearn", "mRMR": "sklearn"}


def choose_abess(X, y, n_columns):
    from abess import LogisticRegression

    model = LogisticRegression(support_size=n_columns).fit(X, y)
    return np.flatnonzero(np.ravel(model.coef_))


def choose_boruta(X, y, n_columns):
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(max_depth=5, n_jobs=1, random_state=0)
    return np.flatnonzero(BorutaPy(forest, "auto", random_state=0, max_iter=50).fit(X, y).support_)


def choose_l1(X, y, n_columns):
    from sklearn.linear_model import LogisticRegressionCV

    model = LogisticRegressionCV(
        Cs=10, cv=5, l1_ratios=(1.0,), solver="liblinear", use_legacy_attributes=True
    )
    return np.flatnonzero(np.ravel(model.fit(X, y).coef_))


def choose_mrmr(X, y, n_columns):
    from sklearn.feature_selection import f_classif

    relevance = f_classif(X, y)[0]
    alike = np.abs(np.corrcoef(X.T))
    chosen = [int(relevance.argmax())]
    while len(chosen) < n_columns:
        score = relevance / np.maximum(alike[:, chosen].mean(axis=1), 1e-3)
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
    return np.sort(chosen)


CHOOSERS = {"abess": choose_abess, "Boruta": choose_boruta, "L1": choose_l1, "mRMR": choose_mrmr}


def main():
    name, n_columns, folders = sys.argv[1], int(sys.argv[2]), [*map(Path, sys.argv[3:])]
    rng = np.random.default_rng(0)  # loaded before it is timed
    CHOOSERS[name](rng.normal(size=(40, n_columns + 2)), np.arange(40) % 2, n_columns)
    rows = []
    for folder in folders:
        X, y = np.load(folder / "X.npy").astype(float), np.load(folder / "y.npy")
        started = time.process_time()
        chosen = CHOOSERS[name](X, y, n_columns)
        rows.append({"columns": chosen.tolist(), "fit_s": time.process_time() - started})
    print("\n" + json.dumps(rows))


if __name__ == "__main__":
    main()
