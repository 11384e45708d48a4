"""Peer: scikit-learn's AdaBoostClassifier with trees of depth 1."""

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier


def fit(X: np.ndarray, y: np.ndarray, n_rounds: int) -> AdaBoostClassifier:
    stump = DecisionTreeClassifier(max_depth=1)
    return AdaBoostClassifier(stump, n_estimators=n_rounds, random_state=0).fit(X, y)
