"""The specimens nearest to a picture, by all rows and by candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide import Collection
from fieldguide.features import Reduction
from fieldguide.guide import Guide, nearest
from fieldguide.guide.nearest import Nearest


def draw_rows(n, d, seed):
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def find_by_sorting(X, queries, n, own, among):
    likeness = (queries @ X.T).astype(np.float64)
    barred = np.ones(len(X), dtype=bool)
    barred[np.arange(len(X)) if among is None else among] = False
    likeness[:, barred] = -np.inf
    if own is not None:
        likeness[np.arange(len(queries)), own] = -np.inf
    return np.argsort(-likeness, axis=1, kind="stable")[:, :n]


@given(
    n=st.integers(2, 40),
    k=st.integers(0, 12),
    seed=st.integers(0, 99),
    is_reduced=st.booleans(),
    is_own=st.booleans(),
    n_barred=st.integers(0, 5),
)
def test_the_nearest_are_those_of_sorting(n, k, seed, is_reduced, is_own, n_barred):
    X = draw_rows(n, 6, seed)
    rng = np.random.default_rng(seed)
    asked = rng.permutation(n)[:5]
    own = asked if is_own else None
    among = np.sort(rng.permutation(n)[n_barred:]) if 0 < n_barred < n else None
    reduction = Reduction.fit(X) if is_reduced else None
    finder = Nearest(X, reduction, reduction.apply(X) if reduction else None)
    found = finder.find(X[asked], k, own=own, among=among)
    n_known = (n if among is None else len(among)) - is_own
    assert found.shape == (len(asked), min(k, n_known))
    wanted = find_by_sorting(X, X[asked], found.shape[1], own, among)
    assert (found == wanted).all()


def test_candidates_are_compared_by_their_whole_rows(monkeypatch):
    monkeypatch.setattr(nearest, "N_CANDIDATES", 40)
    X = draw_rows(600, 12, 0)
    X[:, :4] *= 5  # most of what differs
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    whole = Reduction.fit(X)
    few = Reduction(whole.centre, np.ascontiguousarray(whole.directions[:, :6]))
    finder = Nearest(X, few, few.apply(X))
    queries = draw_rows(50, 12, 1)
    queries[:, :4] *= 5
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    found, wanted = finder.find(queries, 5), find_by_sorting(X, queries, 5, None, None)
    share = (found[:, :, None] == wanted[:, None, :]).any(axis=2).mean()
    assert share > 0.8  # of 6 directions alone it is less
    alone = few.apply(queries) @ few.apply(X).T
    by_few = np.argsort(-alone, axis=1)[:, :5]
    assert share > (by_few[:, :, None] == wanted[:, None, :]).any(axis=2).mean() + 0.2


@pytest.fixture(scope="module")
def large_guide(blobs, tmp_path_factory):
    """A guide that is built as very large ones are."""
    images, labels = blobs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "LEAST", 4)
        out = tmp_path_factory.mktemp("large") / "guide"
        collection = Collection.from_arrays(images, labels)
        guide = Guide.build(collection, out, marks=False, places=False, tree="agglomerative")
        return Guide.open(guide.folder), images


def test_a_large_guide_finds_what_comparing_all_finds(large_guide):
    guide, images = large_guide
    finder, X = guide._models.nearest, np.asarray(guide._models.rows)
    assert finder._reduction is not None
    ids = np.arange(len(X))
    assert (finder.find(X, 4, own=ids) == find_by_sorting(X, X, 4, ids, None)).all()
    sightings = [guide.look(image) for image in images[:3]]
    assert [int(each.nearest[0]) for each in sightings] == [0, 1, 2]
