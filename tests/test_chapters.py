"""Each optional chapter can be deleted: its folder, its tests and its name in the list."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fieldguide.chapters import OPTIONAL

ROOT = Path(__file__).parent.parent
LIST = "src/fieldguide/chapters/__init__.py"
TESTS = ("tests/guide/test_answer.py", "tests/site/test_render.py", "tests/site/test_export.py")


def delete_chapter(name: str, target: Path) -> None:
    """Copy the package and its tests without one chapter."""
    for folder in ("src", "tests"):
        shutil.copytree(
            ROOT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / file, target / file)
    shutil.rmtree(target / "src/fieldguide/chapters" / name)
    shutil.rmtree(target / "tests/chapters" / name)
    text = (target / LIST).read_text()
    listed = [other for other in OPTIONAL if other != name]
    assert f'"{name}"' in text
    (target / LIST).write_text(re.sub(r"OPTIONAL = .*", f"OPTIONAL = {tuple(listed)!r}", text))


def run_without(name: str, target: Path) -> None:
    delete_chapter(name, target)
    path = os.pathsep.join(str(target / folder) for folder in ("src", "."))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS],
        cwd=target,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("name", OPTIONAL)
def test_without_a_chapter_the_rest_works(name, tmp_path):
    run_without(name, tmp_path)
