"""The documentation is true: examples run, the reference is current, links lead somewhere."""

import doctest
import functools
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
from sklearn.utils import Bunch
from typer.testing import CliRunner

import fieldguide
from fieldguide.chapters import OPTIONAL
from fieldguide.cli import app
from fieldguide.datasets import load_specimens
from tests.cli.commands import list_commands

ROOT = Path(__file__).parent.parent
CLI = ROOT / "docs" / "cli.md"
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
WRITTEN_BY_THE_SITE = ("gallery/", "reference/", "results/")  # folders of docs; git ignores them
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(fieldguide.__path__, "fieldguide.")
    if not m.name.endswith("__main__")
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def draw_fewer(draw, n_per_kind, **settings):
    """Draw two specimens of twelve kinds, and small ones: what is tried is that the lines run."""
    assert n_per_kind > 2
    drawn = draw(n_per_kind=2, **{"size_px": 64, **settings})
    few = drawn.target < 12
    return Bunch(
        images=drawn.images[few], target=drawn.target[few], target_names=drawn.target_names[:12]
    )


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fewer = functools.partial(draw_fewer, load_specimens)
    monkeypatch.setattr(fieldguide.datasets, "load_specimens", fewer)
    (code,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    tree, answer = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert tree.startswith("images (24)\n  ")
    assert answer.count("NamedKind(") == 3
    assert (tmp_path / "specimens-guide" / "guide.json").exists()
    assert (tmp_path / "specimens-site" / "index.html").exists()


def test_the_python_of_the_other_pages_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of it writes files
    fewer = functools.partial(draw_fewer, load_specimens)
    for page in PAGES:
        if page.name == "README.md":
            continue
        with monkeypatch.context() as changed:
            if page.name == "tutorials.md":  # its drawings are for the commands that follow
                changed.setattr(fieldguide.datasets, "load_specimens", fewer)
            names: dict = {}  # a page reads from top to bottom: later examples use earlier ones
            for code in blocks(page, "python"):
                exec(compile(code, page.name, "exec"), names)


def list_shell_lines() -> list[list[str]]:
    lines = (line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines())
    found = (shlex.split(line, comments=True) for line in lines)
    return [words for words in found if words[:1] in (["make"], ["fieldguide"])]


def list_deleted_chapters() -> list[str]:
    """Return the optional chapters that docs/cli.md was written with and that are gone."""
    written = re.search(r"with the optional chapters (.*)\.\n", CLI.read_text(encoding="utf-8"))[1]
    return sorted({*re.findall(r"\*(\w+)\*", written)} - {*OPTIONAL})


def skip_without_chapters() -> None:
    if deleted := list_deleted_chapters():
        pytest.skip(f"written with the chapter {deleted[0]!r}, which is gone; run 'make pages'")


def test_there_are_commands_in_the_pages():
    assert sum(words[0] == "fieldguide" for words in list_shell_lines()) >= 3


@functools.cache
def read_help(command: str) -> str:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("words", list_shell_lines(), ids=" ".join)
def test_the_commands_of_the_pages_are_commands(words):
    if words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text()
    else:
        was_one = f"\n## `fieldguide {words[1]}`\n" in CLI.read_text(encoding="utf-8")
        if was_one and words[1] not in list_commands():
            skip_without_chapters()
        told = read_help(words[1])
        for option in (w for w in words if w.startswith("--")):
            assert option in told


def test_the_command_line_reference_is_current(monkeypatch):
    skip_without_chapters()
    for name in ("COLUMNS", "TERM", "NO_COLOR"):
        monkeypatch.setenv(name, "")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make = importlib.import_module("make")
    assert make.cli_reference() == CLI.read_text(encoding="utf-8"), "run 'make pages'"


def test_the_fields_of_an_answer_are_current(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make = importlib.import_module("make")
    written = make.answer_reference()
    skip_without_chapters()
    reference = (ROOT / "docs" / "answer.md").read_text(encoding="utf-8")
    assert written == reference, "run 'make pages'"


def list_headings(page: Path) -> set[str]:
    """Return what links to the headings of a page end with."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    titles = (title.lower() for title in re.findall(r"^#+ (.*)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, *RESULTS], ids=lambda p: f"{p.parent.name}-{p.name}")
def test_links_lead_somewhere(page):
    for target, heading in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        if target.startswith(WRITTEN_BY_THE_SITE):  # whose build follows the link
            continue
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}"
        assert not heading or heading in list_headings(there), f"{page.name}: {target}#{heading}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_pages_show_the_rows_that_decide(page):
    """Longer tables of figures stand in benchmarks/results."""
    figures = [
        len(re.findall(r"\d\.\d", line)) > 1 if line.startswith("|") else None
        for line in page.read_text(encoding="utf-8").splitlines()
    ]
    tables = "".join(" " if has is None else "x" if has else "." for has in figures).split()
    longest = max((table.count("x") for table in tables), default=0)
    assert longest <= 12


def test_llms_txt_links_to_pages_that_are_there():
    text = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
    for page in re.findall(r"\]\(([\w/]+)\.html\)", text):
        is_of_the_site = page.startswith(WRITTEN_BY_THE_SITE)
        assert is_of_the_site or (ROOT / "docs" / f"{page}.md").exists(), page


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) < 50


def test_the_tree_holds_no_address_of_a_machine():
    for path in ROOT.rglob("*"):
        parts = set(path.relative_to(ROOT).parts)
        hidden = {".git", ".venv", ".cache", "out", "__pycache__"} | {
            p for p in parts if p.endswith("_cache") or p == ".hypothesis"
        }
        if any(path.is_relative_to(ROOT / "docs" / folder) for folder in WRITTEN_BY_THE_SITE):
            continue
        if parts & hidden or not path.is_file() or path.suffix in (".jpg", ".pyc"):
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        assert str(ROOT) + "/" not in text, f"{path} names a path of this machine"
