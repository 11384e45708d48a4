"""Peers: abess and Boruta choose columns.

    PYTHON benchmarks/peers/feature_selectors.py NAME N_COLUMNS FOLDER…

PYTHON is one that has the peer; it needs nothing of Fieldguide. Each FOLDER holds ``X.npy`` and
``y.npy`` of two kinds, a draw. The last line printed is JSON: for each draw the columns that were
chosen and the CPU seconds it took. abess chooses N_COLUMNS, Boruta as many as it confirms.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

PACKAGES = {"abess": "abess", "Boruta": "boruta"}


def choose_abess(X, y, n_columns):
    from abess import LogisticRegression

    model = LogisticRegression(support_size=n_columns).fit(X, y)
    return np.flatnonzero(np.ravel(model.coef_))


def choose_boruta(X, y, n_columns):
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(max_depth=5, n_jobs=1, random_state=0)
    return np.flatnonzero(BorutaPy(forest, "auto", random_state=0, max_iter=50).fit(X, y).support_)


CHOOSERS = {"abess": choose_abess, "Boruta": choose_boruta}


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
