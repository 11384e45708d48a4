"""Every estimator of the package, found by walking it, through scikit-learn's checks.

Estimators over images, clips or bags, or with values in [0, 1], cannot take the checks' arrays of
numbers: they are listed here with the test that holds them to our own contract.
"""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import fieldguide
from fieldguide.identify.flat import FlatKey
from tests.identify.test_flat import WEIGHT_CHECKS

ROOT = Path(__file__).parent.parent
OVER_IMAGES = {
    "BagOfWords": "tests/features/test_bag_of_words.py",
    "ClassifierPool": "tests/features/test_classifier_pool.py",
    "ColorHistogram": "tests/features/test_color_histogram.py",
    "DeepFeatures": "tests/features/test_deep.py",
    "DenseSIFT": "tests/features/test_dense_sift.py",
    "FeatureStack": "tests/features/test_stack.py",
    "Gist": "tests/features/test_gist.py",
    "LocalBinaryPatterns": "tests/features/test_local_binary_patterns.py",
    "SpatialHOG": "tests/features/test_hog.py",
}
OVER_CLIPS = {"SpaceTimeWords": "tests/video/test_space_time_words.py"}
# Attributes are in [0, 1]: the checks' normal variables are refused, as they must be.
OVER_ATTRIBUTES = {
    "AttributeTree": "tests/describe/test_sampled_trees.py",
    "BernoulliTree": "tests/describe/test_sampled_trees.py",
}
# Targets are attributes in [0, 1]: the checks run on a subclass that scales theirs.
TO_ATTRIBUTES = {"AttributeDetectors": "tests/describe/test_attribute_detectors.py"}
# A row is a bag, an array of its own: the checks give one array of numbers for all.
OVER_BAGS = {
    "CRANE": "tests/locate/test_bag_classifiers.py",
    "MILBoost": "tests/locate/test_bag_classifiers.py",
    "MISVM": "tests/locate/test_bag_classifiers.py",
    "RegionSelector": "tests/locate/test_bag_classifiers.py",
}
# A row is a map of cells, of any number of rows and columns.
OVER_MAPS = {"SubjectFinder": "tests/features/test_subject_finder.py"}
EXCEPTIONS = {*OVER_IMAGES, *OVER_CLIPS, *OVER_ATTRIBUTES, *TO_ATTRIBUTES, *OVER_BAGS, *OVER_MAPS}


def find_estimators() -> list[type]:
    found = {}
    for module in pkgutil.walk_packages(fieldguide.__path__, "fieldguide."):
        if module.name == "fieldguide.__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            is_ours = inspect.isclass(value) and value.__module__.startswith("fieldguide.")
            is_ours = is_ours and not inspect.isabstract(value)
            is_ours = is_ours and hasattr(value, "fit")  # searches have parameters alone
            if is_ours and issubclass(value, BaseEstimator) and not name.startswith("_"):
                found[name] = value
    return [found[name] for name in sorted(found)]


ESTIMATORS = find_estimators()


@parametrize_with_checks(
    [e() for e in ESTIMATORS if e.__name__ not in EXCEPTIONS],
    expected_failed_checks=lambda e: WEIGHT_CHECKS if isinstance(e, FlatKey) else {},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_list_of_exceptions_is_current():
    assert {e.__name__ for e in ESTIMATORS} >= EXCEPTIONS
    for path in OVER_IMAGES.values():
        assert "check_image_transformer(" in (ROOT / path).read_text()
    for path in OVER_CLIPS.values():
        assert "check_clip_transformer(" in (ROOT / path).read_text()
    for path in OVER_ATTRIBUTES.values():
        assert "check_attribute_tree(" in (ROOT / path).read_text()
    for path in TO_ATTRIBUTES.values():
        assert "@parametrize_with_checks(" in (ROOT / path).read_text()
    for name, path in OVER_BAGS.items():
        text = (ROOT / path).read_text()
        assert "check_bag_classifier(" in text
        assert f"{name}(" in text
    for path in OVER_MAPS.values():
        assert "check_finder(" in (ROOT / path).read_text()


def test_every_estimator_has_an_example():
    examples = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("plot_*.py")
    )
    imported = set(re.findall(r"\w+", examples))
    assert {e.__name__ for e in ESTIMATORS} <= imported
