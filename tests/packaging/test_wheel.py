"""The built wheel holds everything: unpacked alone, it opens a guide and serves the page."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.compiled import SOURCE, copy_compiled

ROOT = Path(__file__).parent.parent.parent

USE_WHEEL = """
import sys
import fieldguide
assert fieldguide.__file__.startswith(sys.argv[1]), fieldguide.__file__
from starlette.testclient import TestClient
from fieldguide.guide import Guide
from fieldguide.site import create_app
guide = Guide.open(sys.argv[2])
client = TestClient(create_app(guide), base_url="http://127.0.0.1")
assert "shapes" in client.get("/").text
assert client.get("/assets/style.css").status_code == 200
assert client.get("/" + guide.specimen(0).thumbnail).content[:2] == b"\\xff\\xd8"
with open(guide.folder / guide.specimen(0).picture, "rb") as file:
    answer = client.post("/api/identify", files={"image": file})
assert answer.json()["kinds"], answer.text
guide.export_site(sys.argv[3])
print("ok")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    built = subprocess.run(
        [*command, "-w", str(out), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (found,) = out.glob("*.whl")
    return found


def test_the_wheel_holds_what_it_should_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert wheel.name.endswith("-py3-none-any.whl")
    for needed in (
        "fieldguide/py.typed",
        "fieldguide/site/templates/base.html",
        "fieldguide/site/assets/style.css",
        "fieldguide/datasets/specimens/kinds.json",
        "fieldguide/features/vocabulary.tsv",
        "fieldguide/features/imagenet_names.txt",
    ):
        assert needed in names
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert not [name for name in names if name.endswith(".pyc") or name.startswith("tests")]


def test_the_wheel_alone_opens_and_serves_a_guide(wheel, small_guide, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    for path in (tmp_path / "installed" / "fieldguide").rglob("*.py"):
        shutil.copystat(SOURCE / path.relative_to(tmp_path / "installed"), path)
    cache = copy_compiled(tmp_path / "installed", tmp_path / "cache")
    installed = str(tmp_path / "installed")
    arguments = [installed, str(small_guide.folder), str(tmp_path / "site")]
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, sys.argv[1])\n{USE_WHEEL}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {}),
    )
    assert result.stdout.strip() == "ok", result.stderr
