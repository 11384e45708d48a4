"""A classifier of bags, saved and opened, is the same."""

import json

import numpy as np
import pytest

from fieldguide.locate import CRANE, MISVM, MILBoost, RegionSelector

MODELS = {
    "linear": RegionSelector("linear", C=2.0, cap=0.5),
    "chi2": RegionSelector("chi2"),
    "mapped": RegionSelector("chi2", map_above=0),
    "rbf": RegionSelector("rbf"),
    "hellinger": MISVM("hellinger", map_above=0),
    "misvm": MISVM("intersection"),
    "milboost": MILBoost(n_rounds=5),
    "crane": CRANE(n_nearest=2),
}


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    made = [rng.random((rng.integers(2, 6), 5)) for _ in range(18)]
    for i, bag in enumerate(made):
        bag[0, i % 3] += 2
    return made, np.array(["ash", "elm", "oak"])[np.arange(18) % 3]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_and_opened_it_is_the_same(bags, name, n_classes):
    kept = np.flatnonzero(np.arange(18) % 3 < n_classes)
    rows, y = [bags[0][i] for i in kept], bags[1][kept]
    model = MODELS[name].fit(rows[:10], y[:10])
    arrays, settings = model.to_state()
    again = type(model).from_state(arrays, json.loads(json.dumps(settings)))
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    for one, other in zip(again.instance_scores(rows), model.instance_scores(rows), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["linear", "chi2", "milboost", "crane"])
def test_a_state_that_does_not_fit_is_refused(bags, name):
    model = MODELS[name].fit(bags[0][:10], bags[1][:10])
    arrays, settings = model.to_state()
    with pytest.raises(ValueError, match="do not fit"):
        type(model).from_state(arrays, {**settings, "classes": ["ash", "elm"]})
    with pytest.raises(ValueError, match="not fit"):
        type(model).from_state(arrays, {**settings, "n_features_in": 1})
    name = {"milboost": "height", "crane": "reach_0"}.get(name, "intercept")
    with pytest.raises(ValueError, match=r"fit together|NaN"):
        type(model).from_state({**arrays, name: arrays[name] * np.nan}, settings)
