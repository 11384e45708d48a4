"""A search is an object or a name; its settings are parameters of the key like all others."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.identify.test_tree_keys import blobs as draw_blobs

from fieldguide.errors import GuideError, ModelError
from fieldguide.guide.key_choice import make_key
from fieldguide.guide.workspace import Settings
from fieldguide.identify import (
    AttentionTreeClassifier,
    BestFirst,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    Greedy,
    NormalizedCutTreeClassifier,
    RelaxedHierarchyClassifier,
    Search,
    Shortlist,
)
from fieldguide.identify.search import walk

NAMED = {"greedy": Greedy(), "best_first": BestFirst(), "shortlist": Shortlist()}
KEYS = (
    AttentionTreeClassifier,
    RelaxedHierarchyClassifier,
    NormalizedCutTreeClassifier,
    DAGSVMClassifier,
)


class FirstTwo(Greedy):
    """A search that somebody wrote: it names no class but the first two."""

    def find(self, graph, X, *, n_jobs=None, paths=False):
        found = walk(graph, X, n_jobs, paths=paths)
        return found._replace(answer=np.minimum(found.answer, 1))


@pytest.fixture(scope="module")
def blobs():
    return draw_blobs(0, n=60, k=5)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("kind", KEYS)
def test_a_name_is_the_object_with_its_defaults(kind, name, blobs):
    X, y = blobs
    by_name, by_object = (kind(search=s).fit(X, y) for s in (name, NAMED[name]))
    np.testing.assert_array_equal(by_name.predict_proba(X), by_object.predict_proba(X))
    assert type(by_name.search_) is type(NAMED[name])
    assert by_name.search == name  # as scikit-learn wants it: fit changes no parameter
    assert clone(by_object).search == NAMED[name]
    assert clone(by_object).search is not by_object.search


def test_settings_of_a_search_are_parameters_of_the_key(blobs):
    X, y = blobs
    key = RelaxedHierarchyClassifier(search=Shortlist(max_loss=0.1))
    assert key.get_params()["search__max_loss"] == 0.1
    assert key.set_params(search__tolerance=2.0).search == Shortlist(2.0, max_loss=0.1)
    named = RelaxedHierarchyClassifier().set_params(search__max_classes=3)
    assert named.search == Shortlist(max_classes=3)
    other = named.set_params(search="best_first", search__budget=4)
    assert other.search == BestFirst(budget=4)
    with pytest.raises(ValueError, match="Invalid parameter 'tolerance'"):
        other.set_params(search__tolerance=1)
    grid = GridSearchCV(RelaxedHierarchyClassifier(), {"search__tolerance": [0.0, 3.0]}, cv=2)
    assert grid.fit(X, y).best_params_["search__tolerance"] in (0.0, 3.0)
    assert GridSearchCV(key, {"search": [Greedy(), "shortlist"]}, cv=2).fit(X, y).best_score_ > 0.5


def test_a_fitted_key_searches_as_it_is_told(blobs):
    """What a search settles is read when a row is asked about, also by the fast path."""
    X, y = blobs
    rows = np.ascontiguousarray(X, dtype=np.float32)
    key = RelaxedHierarchyClassifier().fit(X, y)
    key.fast_predict(rows)
    for search in (Shortlist(0.0), Shortlist(30.0), Greedy(), BestFirst(), "shortlist"):
        key.set_params(search=search)
        np.testing.assert_array_equal(key.fast_predict(rows), key.predict(rows))
    assert key.search_.tolerance == key.tolerance_
    key.set_params(search__tolerance=0.0)
    few = key.evaluations(rows).sum()
    key.search.tolerance = 30.0
    assert key.evaluations(rows).sum() > few
    np.testing.assert_array_equal(key.fast_predict(rows), key.predict(rows))


def test_a_search_of_ones_own(blobs):
    X, y = blobs
    key = RelaxedHierarchyClassifier(search=FirstTwo()).fit(X, y)
    assert set(key.predict(X)) == set(key.classes_[:2])
    with pytest.raises(ModelError, match=r"search of .* is a FirstTwo, which is not one of Greedy"):
        key.to_state()
    with pytest.raises(TypeError, match="abstract"):
        Search()
    with pytest.raises(ValueError, match='is "auto", which a key replaces'):
        Shortlist().find(key.graph_, X)


def test_keys_of_earlier_versions_open(blobs):
    """They held the settings of every search beside its name."""
    X, y = blobs
    old = {"tolerance": 2.0, "max_loss": 0.01, "max_cost": None, "max_classes": 16, "budget": None}
    key = RelaxedHierarchyClassifier(search=Shortlist(2.0)).fit(X, y)
    arrays, record = key.to_state()

    def open_with(**changes):
        parameters = record["model"]["parameters"] | old | changes
        parameters = {key: value for key, value in parameters.items() if value != "gone"}
        own = {"model": record["model"] | {"parameters": parameters}}
        return RelaxedHierarchyClassifier.from_state(arrays, record | own)

    opened = open_with(search="shortlist")
    assert opened.search == key.search
    np.testing.assert_array_equal(opened.predict_proba(X), key.predict_proba(X))
    assert open_with(search="best_first", budget=3).search == BestFirst(budget=3)
    assert open_with(search="shortlist", tolerance="auto").search == "shortlist"
    with pytest.raises(ModelError, match="budget"):
        open_with(search="shortlist", budget="gone")


def test_the_confusion_tree_has_its_own(blobs):
    key = ConfusionTreeClassifier(levels=1)
    assert "search" not in key.get_params()
    assert not isinstance(key.fit(*blobs).search_, Shortlist)


def test_a_guide_gives_its_key_settings_of_the_search():
    key = make_key(Settings(key="relaxed:search__tolerance=2,search__max_classes=4"))
    assert key.search == Shortlist(2, max_classes=4)
    with pytest.raises(GuideError, match="cannot be made: Invalid parameter 'tolerance'"):
        make_key(Settings(key="relaxed:search=greedy,search__tolerance=2"))
