"""Copy the tables that stand beside the benchmarks into the pages of the site."""

from pathlib import Path

_INDEX = """# Every table

What the [benchmarks](../benchmarks.md) measured, cell by cell.
"""
BESIDE_THE_BENCHMARKS = "](../benchmarks/results/"  # as a page links to a table


def write_results(source: Path, folder: Path) -> None:
    """Copy the Markdown files of ``source`` to ``folder``, with a page that leads to them."""
    folder.mkdir(exist_ok=True)
    pages = {path.name: path.read_text(encoding="utf-8") for path in sorted(source.glob("*.md"))}
    for name, text in pages.items():
        _write(folder / name, text.replace("](../../docs/", "](../"))
    entries = "\n".join(name.removesuffix(".md") for name in pages)
    _write(folder / "index.md", f"{_INDEX}\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n")


def link_to_copies(_app, _page: str, source: list[str]) -> None:
    """Turn the links of a page from the tables to their copies."""
    source[0] = source[0].replace(BESIDE_THE_BENCHMARKS, "](results/")


def _write(path: Path, text: str) -> None:
    """Write a page, unless it is there as it is: Sphinx reads again what is newer."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
