"""The files that a release needs agree with each other and with the package."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


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
