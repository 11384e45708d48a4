"""The public face: every name of every package can be imported, is documented and has types.

A public name is one that a package of ``fieldguide`` lists in ``__all__``; errors are in
``fieldguide.errors``. What a public function or method returns is public too.
"""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import typing
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

import fieldguide
from fieldguide import chapters, errors
from tests.conftest import draw_blobs
from tests.test_estimators import ESTIMATORS

ROOT = Path(__file__).parent.parent
PACKAGES = [
    module.name
    for module in pkgutil.iter_modules(fieldguide.__path__, "fieldguide.")
    if module.ispkg
    and hasattr(importlib.import_module(module.name), "__all__")
    and not module.name.startswith("fieldguide._")
]
PUBLIC = {
    f"{package}.{name}": getattr(importlib.import_module(package), name)
    for package in PACKAGES
    for name in importlib.import_module(package).__all__
}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
METHODS = {
    f"{name}.{key}": value.fget if isinstance(value, property) else value
    for name, kind in CLASSES.items()
    for key, value in inspect.getmembers(kind)
    if not key.startswith("_")
    and key not in getattr(kind, "__dataclass_fields__", ())
    and (isinstance(value, property) or inspect.isroutine(value))
    and getattr(getattr(value, "fget", value), "__module__", None) is not None
    and getattr(value, "fget", value).__module__.startswith("fieldguide")
}


def is_record(kind):
    """Records have named fields, each with a comment or an annotation that says what it is."""
    return hasattr(kind, "_fields") or is_dataclass(kind)


def list_parameters(function):
    return [p for p in inspect.signature(function).parameters.values() if p.name != "self"]


def read_doc(value):
    """Return a docstring, and those of the public names that it refers to for its arguments."""
    text = inspect.getdoc(value) or ""
    referred = re.findall(
        r"[Aa](?:s of|re those of)\s+(?:every tree key; see )?\S*?`~?([\w.]+)", text
    )
    names = {name.rpartition(".")[2] for name in referred}
    others = [
        inspect.getdoc(other) or ""
        for name, other in PUBLIC.items()
        if name.rpartition(".")[2] in names and other is not value
    ]
    return "\n".join([text, *others])


@cache
def list_types():
    """Return classes by name, for types that are imported by type checkers alone."""
    known = {name.rpartition(".")[2]: value for name, value in CLASSES.items()}
    for chapter in chapters.OPTIONAL:
        for module in pkgutil.iter_modules(
            importlib.import_module(f"fieldguide.chapters.{chapter}").__path__,
            f"fieldguide.chapters.{chapter}.",
        ):
            own = vars(importlib.import_module(module.name))
            known |= {name: value for name, value in own.items() if inspect.isclass(value)}
    return known | {"Bunch": dict, "Callable": typing.Callable, "Starlette": object}


def read_hints(function):
    return typing.get_type_hints(function, localns=list_types())


def list_classes(hint):
    """Return the classes of ours in a type."""
    found = [hint] if inspect.isclass(hint) and hint.__module__.startswith("fieldguide") else []
    return found + [kind for part in typing.get_args(hint) for kind in list_classes(part)]


def test_there_is_no_second_way_to_a_name():
    """Each object has one name; a package may show what another made only under that name."""
    names = {}
    for name, value in PUBLIC.items():
        if inspect.isclass(value) or inspect.isfunction(value):
            names.setdefault(id(value), set()).add(name.rpartition(".")[2])
    assert [found for found in names.values() if len(found) > 1] == []
    assert len(names) > 200


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_shows_what_it_lists(package):
    module = importlib.import_module(package)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) <= set(dir(module))


EVERYTHING = {**CLASSES, **FUNCTIONS, **METHODS}


def list_made():
    """Yield every public function, and what makes each public class that is no record."""
    yield from FUNCTIONS.items()
    for name, kind in CLASSES.items():
        is_own = getattr(kind.__init__, "__module__", "").startswith("fieldguide")
        if is_own and not is_record(kind):
            yield name, kind.__init__


def test_public_names_are_documented():
    wrong = []
    for name, value in EVERYTHING.items():
        doc = (inspect.getdoc(value) or "").rstrip()
        is_made_up = doc.startswith(f"{name.rpartition('.')[2]}(")  # that a record is given
        is_sentence = bool(doc) and (doc[-1] in '.:"”`)]' or "\n" in doc)
        wrong += [] if is_sentence and not is_made_up else [name]
    assert wrong == []


def test_parameters_are_documented():
    assert [
        f"{parameter.name} of {name}"
        for name, made in list_made()
        for text in [read_doc(PUBLIC[name])]
        for parameter in list_parameters(made)
        if not re.search(rf"(?<!\w){parameter.name}(?!\w)", text)
    ] == []


# Why a public function or class, other than a record, shows no use of itself.
WITHOUT_EXAMPLE = {
    "fieldguide.features.TextTower": "reads a file that users bring",
    "fieldguide.guide.EditedCatalogue": "a guide makes it of its edits: see Edits",
    "fieldguide.identify.Key": "a base of classifiers, each with an example",
    "fieldguide.identify.TreeKey": "a base of classifiers, each with an example",
    "fieldguide.select.Objective": "a protocol: see RowsObjective and GramObjective",
    "fieldguide.select.Table": "a protocol: see RowsTable and GramTable",
    "fieldguide.site.Renderer": "create_app and export_site make it",
    "fieldguide.site.serve": "does not return before it is interrupted",
}


def test_public_names_have_an_example():
    """Examples run, in ``test_docs.py``."""
    shown = {name: kind for name, kind in CLASSES.items() if not is_record(kind)} | FUNCTIONS
    assert {name for name, value in shown.items() if ">>>" not in inspect.getdoc(value)} == {
        *WITHOUT_EXAMPLE
    }


def test_public_names_have_types():
    wrong = []
    for name, value in {**METHODS, **dict(list_made())}.items():
        hints = read_hints(value)
        for parameter in (*list_parameters(value), None):
            key = "return" if parameter is None else parameter.name
            wrong += [] if key in hints else [f"{key} of {name}"]
    assert wrong == []


def test_what_public_names_return_is_public():
    public = {id(kind) for kind in CLASSES.values()}
    assert [
        f"{kind.__module__}.{kind.__name__} of {name}"
        for name, value in {**FUNCTIONS, **METHODS}.items()
        for kind in list_classes(read_hints(value)["return"])
        if id(kind) not in public and not kind.__module__.startswith("fieldguide.chapters.")
    ] == []


def test_few_parameters_go_without_their_name():
    wrong = []
    for name, made in list_made():
        places = [p for p in list_parameters(made) if p.kind == p.POSITIONAL_OR_KEYWORD]
        optional = [p.name for p in places if p.default is not p.empty]
        wrong += [f"{optional[3:]} of {name}"] if len(optional) > 3 else []
    assert wrong == []


def test_every_error_has_one_home():
    for module in pkgutil.walk_packages(fieldguide.__path__, "fieldguide."):
        if module.name == "fieldguide.__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            is_ours = inspect.isclass(value) and issubclass(value, errors.FieldguideError)
            assert not is_ours or value is getattr(errors, name, None), f"{module.name}.{name}"
    listed = [n for n, v in vars(errors).items() if inspect.isclass(v)]
    assert all(re.search(rf"\b{name}\b", errors.__doc__) for name in listed)


# -- in a pipeline of scikit-learn, with a search over a parameter ------------------------

GRIDS = {
    "AdditiveKernelMap": {"order": [1, 2]},
    "AdditiveKernelSelector": {"C": [0.5, 1.0]},
    "AgglomerativeTree": {"n_leaves": [2, 3]},
    "AttentionTreeClassifier": {"search__tolerance": [0.5, 2.0]},
    "AttributeDetectors": {"C": [0.5, 1.0]},
    "AttributeTree": {"n_iter": [2, 3]},
    "BagOfWords": {"n_words": [4, 6]},
    "BernoulliTree": {"n_iter": [2, 3]},
    "BoostedStumpSelector": {"n_rounds": [2, 3]},
    "CRANE": {"n_nearest": [1, 2]},
    "ClassifierPool": {"n_components": [2, 3]},
    "ColorHistogram": {"levels": [(1,), (1, 2)]},
    "ConcertClassifier": {"k": [2, 3]},
    "ConcertSelector": {"k": [2, 3]},
    "ConfusionTreeClassifier": {"levels": [1, 2]},
    "CorrelationSelector": {"k": [2, 3]},
    "DAGSVMClassifier": {"search": ["greedy", "shortlist"]},
    "DeepFeatures": {"output": ["embedding", "logits"]},
    "DenseSIFT": {"step_px": [16, 32]},
    "FeatureStack": {"parts": ["color", "hog"]},
    "ForwardBackwardSelector": {"k": [2, 3]},
    "Gist": {"n_scales": [1, 2]},
    "KernelSVM": {"C": [0.5, 1.0]},
    "LinearSVM": {"C": [0.5, 1.0]},
    "LocalBinaryPatterns": {"levels": [(1,), (1, 2)]},
    "MILBoost": {"n_rounds": [2, 3]},
    "MISVM": {"C": [0.5, 1.0]},
    "MultipleKernelClassifier": {"C": [0.5, 1.0]},
    "NormalizedCutTreeClassifier": {"alpha": [0.4, 1.0]},
    "OneVsAllClassifier": {"C": [0.5, 1.0]},
    "OneVsOneClassifier": {"kernel": ["linear", "chi2"]},
    "RegionSelector": {"C": [0.5, 1.0]},
    "RelaxedHierarchyClassifier": {"rho": [0.8, 1.5]},
    "SpaceTimeWords": {"n_words": [4, 6]},
    "SpatialHOG": {"n_orientations": [4, 8]},
    "SubjectFinder": {"n_rounds": [1, 2]},
}
SMALL = {
    "BagOfWords": {"n_images": 4, "n_descriptors": 200, "n_iter": 2, "n_jobs": 1},
    "ClassifierPool": {"kind": "outputs", "n_jobs": 1},
    "DeepFeatures": {"n_jobs": 1},
    "FeatureStack": {"n_sample": 6, "n_landmarks": 4, "n_jobs": 1},
    "MultipleKernelClassifier": {"blocks": {"first": [0, 1], "last": [2, 3]}},
    "SpaceTimeWords": {"n_clips": 2, "n_descriptors": 100, "n_iter": 2},
    "AttributeTree": {"n_chains": 1},
    "BernoulliTree": {"n_chains": 1},
}


def draw_for(name):
    """Return what an estimator is fitted to: rows, attributes, images, clips, bags or maps."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = np.abs(rng.normal(size=(24, 4)) + 2 * np.eye(4)[y])
    if name in ("AttributeTree", "BernoulliTree", "AgglomerativeTree"):
        return (X > 1).astype(float), None
    if name == "AttributeDetectors":
        return X, np.stack([y, 1 - y], axis=1).astype(float)
    if name in ("CRANE", "MILBoost", "MISVM", "RegionSelector"):
        bags = np.empty(24, dtype=object)
        bags[:] = [np.abs(rng.normal(size=(3, 4)) + 2 * np.eye(4)[label]) for label in y]
        return bags, np.where(y, 1, -1)
    if name == "SubjectFinder":
        maps = np.empty(6, dtype=object)
        maps[:] = [rng.random((5, 5, 8)).astype(np.float32) for _ in range(6)]
        return maps, None
    if name == "SpaceTimeWords":
        clips = np.empty(4, dtype=object)
        clips[:] = [rng.integers(0, 255, (20, 48, 48, 3)).astype(np.uint8) for _ in range(4)]
        return clips, None
    if name in IMAGES:
        images, kinds = draw_blobs(0, n_per_kind=2)
        held = np.empty(len(images), dtype=object)
        held[:] = images
        return held, np.array(kinds)
    return X, y


IMAGES = (
    *("BagOfWords", "ClassifierPool", "ColorHistogram", "DeepFeatures", "DenseSIFT"),
    *("FeatureStack", "Gist", "LocalBinaryPatterns", "SpatialHOG"),
)


@pytest.mark.parametrize("name", sorted(kind.__name__ for kind in ESTIMATORS))
def test_every_estimator_in_a_pipeline_with_a_search(name):
    """The steps before it are those that its input allows."""
    kind = next(kind for kind in ESTIMATORS if kind.__name__ == name)
    X, y = draw_for(name)
    takes_rows = isinstance(X, np.ndarray) and X.dtype != object
    first = MinMaxScaler(clip=True) if takes_rows else FunctionTransformer(validate=False)
    estimator = kind(**SMALL.get(name, {}))
    pipeline = Pipeline([("first", first), ("last", estimator)])
    grid = {f"last__{key}": values for key, values in GRIDS[name].items()}
    scoring = None if is_classifier(estimator) or is_clusterer(estimator) else lambda *_: 0.0
    search = GridSearchCV(pipeline, grid, cv=2, scoring=scoring, error_score="raise")
    best = search.fit(X, y).best_estimator_
    ((parameter, values),) = grid.items()
    assert best.get_params()[parameter] in values
    assert len(search.cv_results_["params"]) == 2
    assert type(clone(best)[-1]) is kind


# -- what ``import fieldguide`` itself has ---------------------------------------------------


def test_exported_names_resolve_and_are_documented():
    text = "".join(
        p.read_text(encoding="utf-8") for p in [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    )
    for name in fieldguide.__all__:
        assert getattr(fieldguide, name).__doc__
        assert re.search(rf"\b{name}\b", text), f"{name} is not in README or CHANGELOG"
    assert set(fieldguide.__all__) <= set(dir(fieldguide))
    assert re.match(r"\d+\.\d+", fieldguide.__version__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = fieldguide.Nonsense


def test_import_is_light():
    code = (
        "import sys, fieldguide, fieldguide.datasets; "
        "heavy = ('numpy', 'sklearn', 'scipy', 'numba', 'onnxruntime', 'skimage', 'PIL'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_names_that_the_list_of_changes_has_are_there():
    """docs/api_changes.md lists the names of each package as of its writing: none has gone."""
    text = (ROOT / "docs" / "api_changes.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (fieldguide[\w.]*)\n", text, flags=re.MULTILINE)[1:]
    listed = [
        (package, name)
        for package, body in zip(parts[::2], parts[1::2], strict=True)
        for line in body.splitlines()
        if re.match(r"\**`\w+`\**[,.]", line)
        for name in re.findall(r"`(\w+)`", line)
    ]
    assert len(listed) > 250
    for package, name in listed:
        assert hasattr(importlib.import_module(package), name), f"{package}.{name}"
