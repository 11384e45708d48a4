"""What a benchmark calls "as printed" has the arguments of :mod:`benchmarks.printed`."""

import numpy as np
import pytest
from benchmarks import printed
from benchmarks.problems import (
    as_printed,
    clip_regions,
    concert_accuracy,
    keys,
    region_selection,
    region_specimens,
)

from fieldguide.describe import AttributeTree
from fieldguide.identify import AttentionTreeClassifier, RelaxedHierarchyClassifier
from fieldguide.locate import CRANE, RegionSelector
from fieldguide.select import ConcertClassifier

FAMILIES = {
    AttentionTreeClassifier: printed.ATTENTION,
    RelaxedHierarchyClassifier: printed.RELAXED,
    RegionSelector: printed.REGIONS,
    ConcertClassifier: printed.CONCERT,
    CRANE: printed.CRANE,
    AttributeTree: printed.TREE,
}


def list_labelled():
    """Every estimator that a table calls printed; C is that of the table's other rows."""
    for module in (region_selection, region_specimens, clip_regions):
        for name, make in module.METHODS.items():
            if name.endswith("printed"):
                yield f"{module.__name__.split('.')[-1]}: {name}", make()
    for name, make in concert_accuracy.METHODS.items():
        if "as printed" in name:
            yield f"concert: {name}", make(160)
    for name, make in keys.KEYS.items():
        if "as printed" in name:
            yield f"keys: {name}", make()
    for name, settings in as_printed.RELAXED.items():
        if "as printed" in name:
            yield name, RelaxedHierarchyClassifier(**settings)
    yield "kernel", AttentionTreeClassifier(**as_printed.ATTENTION_KERNEL["as printed"])
    yield "concert", as_printed.CONCERTS["as printed"](160)
    yield "regions", as_printed.REGIONS["as printed"]()
    yield "CRANE", as_printed.CRANES["as printed"]()
    yield "tree", AttributeTree(**as_printed.TREES["as printed"])


@pytest.mark.parametrize(("name", "model"), [*list_labelled()], ids=lambda each: str(each)[:40])
def test_what_is_called_printed_is(name, model):
    given = model.get_params(deep=False)
    asked = FAMILIES[type(model)]
    assert {key: given[key] for key in asked} == asked, name
    assert any(given[key] != type(model)().get_params()[key] for key in asked), "no difference"
    if isinstance(model, ConcertClassifier):
        assert given["k"] == 50


def test_the_printed_concert_of_fifty_classifiers_is_their_plain_average():
    """Σ w = 1 and w ≤ 1/50 leave one point: what the document's k = 50 means for its pool I."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    F = np.clip(
        0.4 + 0.2 * np.eye(3)[y].repeat(17, axis=1)[:, :50] + rng.normal(0, 0.2, (60, 50)), 0, 1
    )
    model = concert_accuracy.METHODS["Concert as printed, k = 50"](50).fit(F, y)
    np.testing.assert_allclose(model.weights_, 1 / 50, atol=1e-12)
    means = np.stack(
        [[F[(y == k) == side].mean(axis=0) for side in (False, True)] for k in range(3)]
    )
    turned = [np.where(high < low, 1 - F, F).mean(axis=1) for low, high in means]
    assert model.predict(F).tolist() == np.argmax(turned, axis=0).tolist()
