"""Each optional chapter can be deleted: its folder, its tests and its name in the list."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fieldguide.chapters import OPTIONAL
from tests.compiled import copy_compiled

ROOT = Path(__file__).parent.parent
LIST = "src/fieldguide/chapters/__init__.py"
FOLDERS = (".github", "src", "tests", "docs", "benchmarks", "recipe")
FILES = ("pyproject.toml", "Makefile", "*.md", "LICENSE", "NOTICE", "CITATION.cff", "Containerfile")
# Guides are built, told, shown and written out; the whole suite runs with --slow.
TESTS = (
    *("tests/guide/test_answer.py", "tests/site/test_render.py"),
    "tests/site/test_export.py::test_an_export_holds_every_page_asset_and_used_picture",
    "tests/site/test_export.py::test_a_real_guide_is_exported",
    "tests/cli/test_cli.py::test_help_is_quick_and_loads_nothing_heavy",
    "tests/test_docs.py::test_the_commands_of_the_pages_are_commands",
    "tests/test_docs.py::test_the_fields_of_an_answer_are_current",
)


def delete_chapter(name: str, target: Path) -> None:
    """Copy the project without one chapter."""
    for folder in FOLDERS:
        ignore = shutil.ignore_patterns("test_chapters.py")
        shutil.copytree(ROOT / folder, target / folder, ignore=ignore)
    for file in (path for pattern in FILES for path in ROOT.glob(pattern)):
        shutil.copy(file, target)
    shutil.rmtree(target / "src/fieldguide/chapters" / name)
    shutil.rmtree(target / "tests/chapters" / name)
    text = (target / LIST).read_text()
    listed = [other for other in OPTIONAL if other != name]
    assert f'"{name}"' in text
    (target / LIST).write_text(re.sub(r"OPTIONAL = .*", f"OPTIONAL = {tuple(listed)!r}", text))


def run_without(name: str, target: Path, *tests: str) -> None:
    """Run tests in a copy of the project without a chapter."""
    delete_chapter(name, target)
    changed = {"PYTHONPATH": os.pathsep.join(str(target / folder) for folder in ("src", "."))}
    if cache := copy_compiled(target / "src", target / ".cache"):
        changed["NUMBA_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=target,
        env={**os.environ, **changed},
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"without {name}: {done.stdout.rstrip().splitlines()[-1]}")
    assert done.returncode == 0, done.stdout[-8000:]


@pytest.mark.parametrize("name", OPTIONAL)
def test_without_a_chapter_the_rest_works(name, tmp_path):
    run_without(name, tmp_path, "-x", "--few", *TESTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONAL)
def test_without_a_chapter_every_other_test_passes(name, tmp_path):
    run_without(name, tmp_path, "tests")
