"""Random problems for the concert, easy and odd."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def concert_problems(draw, max_rows=12, max_features=5):
    """F in [0, 1], targets and k: whole or not, 1, n; with copies, constants, few rows."""
    n_rows = draw(st.integers(1, max_rows))
    n = draw(st.integers(1, max_features))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    F = rng.uniform(size=(n_rows, n))
    if draw(st.booleans()) and n > 1:
        F[:, -1] = F[:, 0]
    if draw(st.booleans()):
        F[:, rng.integers(n)] = draw(st.sampled_from([0.0, 0.3, 1.0]))
    if draw(st.booleans()):
        F = np.round(F)
    k = draw(st.one_of(st.just(1.0), st.just(float(n)), st.floats(1.0, float(n))))
    t = draw(st.sampled_from([0.5, 1.0])) * (rng.uniform(size=n_rows) < 0.4)
    return F, t, k


def draw_votes(n_rows, n, n_classes=2, seed=0, dtype=np.float64):
    """Outputs of features in [0, 1] that know a little of the classes, in groups that agree."""
    rng = np.random.default_rng(seed)
    index = rng.permutation(np.arange(n_rows) % n_classes)
    known = rng.normal(size=(n_classes, n))
    shared = rng.normal(size=(n_rows, 5)) @ rng.normal(size=(5, n))
    F = 1 / (1 + np.exp(-(0.7 * known[index] + 0.5 * shared + rng.normal(size=(n_rows, n)))))
    return F.astype(dtype), index
