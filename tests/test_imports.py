"""A guide calls what a user of Python calls: public names of the packages below it."""

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import fieldguide

ROOT = Path(fieldguide.__file__).parent
PACKAGES = (
    "describe",
    "features",
    "identify",
    "kernels",
    "locate",
    "metrics",
    "select",
    "svm",
    "video",
)
CALLERS = sorted(path for name in ("guide", "chapters") for path in (ROOT / name).rglob("*.py"))
# Modules that are public as they are, and why no estimator stands for them.
MODULES = {
    "fieldguide.features.network": "a build opens a network once, and all that look through it "
    "share it; windows have their names here",
    "fieldguide.features.properties": "measured while a picture is decoded, beside the network",
    "fieldguide.features.stack": "how --features is written",
    "fieldguide.features.vocabulary": "the words of the network, and from which score on a word "
    "is said",
}


def find_imports(source):
    """Return (module, name) of all imports of a source, also of those inside functions."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.module, alias.name) for alias in node.names]
    return found


def is_public(module, name):
    """Say whether a guide may import a name of a module."""
    parts = module.split(".")
    if parts[0] != "fieldguide" or len(parts) < 2 or parts[1] not in PACKAGES:
        return True
    is_package = len(parts) == 2 and name is not None
    return module in MODULES or (is_package and name in import_module(module).__all__)


@pytest.mark.parametrize("path", CALLERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_guide_imports_public_names_alone(path):
    imports = find_imports(path.read_text(encoding="utf-8"))
    assert [each for each in imports if not is_public(*each)] == []


def test_a_private_import_would_be_seen():
    source = """
import fieldguide.svm.smo
from fieldguide.locate import RegionSelector, simplex
from fieldguide.features.network import Network
def late():
    from fieldguide.select.votes import Vote
"""
    private = [each for each in find_imports(source) if not is_public(*each)]
    assert sorted(private, key=str) == [
        ("fieldguide.locate", "simplex"),
        ("fieldguide.select.votes", "Vote"),
        ("fieldguide.svm.smo", None),
    ]


def test_no_module_is_on_the_list_for_nothing():
    used = {module for path in CALLERS for module, _ in find_imports(path.read_text("utf-8"))}
    assert set(MODULES) <= used


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_resolve(package):
    module = import_module(f"fieldguide.{package}")
    assert len(set(module.__all__)) == len(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_house_is_what_is_there():
    """Its lines are the layers of the import linter, and all of the package is on one of them."""
    top = Path(__file__).parents[1]
    text = (top / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = text.split("```\n")[1]
    lines = [re.split(r" {2,}", line)[0].replace("/", "").split() for line in picture.splitlines()]
    (rule,) = tomllib.loads((top / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    assert lines == [re.findall(r"fieldguide\.(\w+)", layer) for layer in rule["layers"]]
    there = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    named = [name for line in lines for name in line]
    assert sorted(named) == sorted(there - {"__init__", "__main__", "__pycache__"})
