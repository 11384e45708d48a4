"""Every estimator of the package, found by walking it, through scikit-learn's checks.

Estimators over images cannot take the checks' arrays of numbers: they are listed here with the
test that holds them to our own contract.
"""

import importlib
import inspect
import pkgutil

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import fieldguide

OVER_IMAGES = {
    "DeepFeatures": "tests/features/test_deep.py::test_contract_of_an_estimator_over_images",
}


def find_estimators() -> list[type]:
    found = {}
    for module in pkgutil.walk_packages(fieldguide.__path__, "fieldguide."):
        if module.name == "fieldguide.__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            is_ours = inspect.isclass(value) and value.__module__.startswith("fieldguide.")
            is_ours = is_ours and not inspect.isabstract(value)
            if is_ours and issubclass(value, BaseEstimator) and not name.startswith("_"):
                found[name] = value
    return [found[name] for name in sorted(found)]


ESTIMATORS = find_estimators()


@parametrize_with_checks([e() for e in ESTIMATORS if e.__name__ not in OVER_IMAGES])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_list_of_exceptions_is_current():
    assert set(OVER_IMAGES) <= {e.__name__ for e in ESTIMATORS}
