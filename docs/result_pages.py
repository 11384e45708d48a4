"""Copy the tables that stand beside the benchmarks into the pages of the site."""

from pathlib import Path

BESIDE_THE_BENCHMARKS = "](../benchmarks/results/"  # as a page links to a table


def write_results(source: Path, folder: Path) -> None:
    """Copy the Markdown files of ``source`` to ``folder``, with links that lead on from there."""
    folder.mkdir(exist_ok=True)
    for path in sorted(source.glob("*.md")):
        text = path.read_text(encoding="utf-8").replace("](../../docs/", "](../")
        copy = folder / path.name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")


def link_to_copies(_app, _page: str, source: list[str]) -> None:
    """Turn the links of a page from the tables to their copies."""
    source[0] = source[0].replace(BESIDE_THE_BENCHMARKS, "](results/")
