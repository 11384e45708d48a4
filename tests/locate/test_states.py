"""A classifier of bags, saved and opened, is the same."""

import json

import numpy as np
import pytest

from fieldguide.errors import ModelError
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
    if name == "linear":
        np.testing.assert_array_equal(again.coef_, model.coef_)
        np.testing.assert_array_equal(again.intercept_, model.intercept_)


@pytest.mark.parametrize("name", ["linear", "chi2", "mapped", "milboost", "crane"])
def test_functions_that_do_not_fit_are_refused(bags, name):
    model = MODELS[name].fit(bags[0][:10], bags[1][:10])
    for key, value in (("classes_", {"str3": ["ash", "elm"]}), ("n_features_in_", 1)):
        arrays, record = model.to_state()
        record["model"]["fitted"][key] = value
        with pytest.raises(ModelError, match=f"of {type(model).__name__} "):
            type(model).from_state(arrays, record)
