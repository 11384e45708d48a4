"""Measure one table or figure of a document, and say whether its claim holds here.

A full run is saved below ``out`` by the problem's name, and used again until ``again`` is asked
for; long problems keep every cell beside it, so that a run that was stopped goes on. The verdict of
a full run is kept in ``verdicts.json`` here; ``make pages`` makes ``docs/documents.md`` of it, and
``benchmarks/results/documents.md``.
"""

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.documents import DOCUMENTS, ITEMS, Item, Verdict
from benchmarks.measures import machine, save
from fieldguide._files import write_text

VERDICTS = Path(__file__).with_name("verdicts.json")
FIGURES = Path(__file__).parents[1] / "results" / "documents.md"
NOT_HERE = "not testable here"
UNJUDGED = "figures, no verdict"
_AS_A_SENTENCE = {"holds": "holds", "in part": "holds in part", "fails": "fails"}
_RESULTS = "../benchmarks/results/"  # from docs/
_HEAD = f"""# The five documents

Fieldguide follows five research documents.
This page lists every table and figure that they number, and says whether what it claims *holds* on the collections that are here, holds *in part*, or *fails*.
The [figures that decide]({_RESULTS}documents.md) have a page of their own; `fieldguide bench NAME --data DIR` measures one again.
The collections of the documents are seldom here; what stands in for them is named beside the figures.
What is called *as printed* has the arguments of its document; what they change is [measured]({_RESULTS}as_printed.md).

"""  # noqa: E501
_FIGURES = """# The five documents: the figures that decide

Written by `make pages` from what `fieldguide bench NAME --data DIR` found; the [verdicts](../../docs/documents.md) are on a page of their own.
A figure is a mean ± half of its 95 % interval; where a collection was measured in part, the figure says of how many cells, splits or draws it is.
Some verdicts were measured on less than everything: those on Features in Concert, but for Figure 6, with `CONCERT_ONLY=cifar10,clips CONCERT_DRAWS=3`, that on Figure 4 of the Attention Tree with `KEYS_ONLY=deep KEYS_SPLITS=3` and without the dearest keys, that on Table 1 of feature selection with `ADDITIVE_ONLY=document`.
"""  # noqa: E501


def list_items() -> list[str]:
    """Return a line for each table and figure: its name, what it shows, and how it is answered."""
    width = max(map(len, ITEMS))
    return [f"{item.name:<{width}}  {item.shows}  [{say_way(item)}]" for item in ITEMS.values()]


def say_way(item: Item) -> str:
    """Say how an item is answered."""
    if item.instead:
        return item.instead
    return f"{'judged' if item.judge else UNJUDGED}: {', '.join(item.problems)}"


def measure(
    item: Item, data: Path | None, out: Path, *, tiny: bool, again: bool, say: Callable[[str], None]
) -> Verdict | None:
    """Run the problems of an item, print their tables, and return the verdict.

    None for a picture, and where a problem needs a collection that is not here.
    """
    say(f"{item.name}: {item.shows}")
    if item.instead:
        say(f"Not measured: {item.instead}.")
        return None
    results = {}
    for name in item.problems:
        problem = import_module(f"benchmarks.problems.{name}")
        result = find_result(name, problem, data, out, tiny=tiny, again=again)
        if "skipped" in result:
            say(f"Nothing is measured: {result['skipped']}.")
            return None
        say(f"\n## {name}\n\n{problem.table(result)}")
        results[name] = result
    if item.judge is None:
        say(f"\n{item.name}: {UNJUDGED}; benchmarks/results/{item.page}")
        return None
    if tiny:
        say(f"\n{item.name}: not judged; a tiny run shows nothing but that it runs")
        return None
    verdict = item.judge(results)
    say(f"\n{item.name}: {verdict.said}. {verdict.because}")
    keep_verdict(item.name, verdict)
    return verdict


def find_result(
    name: str, problem: Any, data: Path | None, out: Path, *, tiny: bool, again: bool
) -> dict[str, Any]:
    """Return what a problem found: the saved figures of a full run, or those of a new one."""
    saved = out / f"{name}.json"
    if saved.exists() and not tiny and not again:
        return dict(json.loads(saved.read_text(encoding="utf-8")))
    result: dict[str, Any] = problem.run(data, tiny=tiny)
    if "skipped" not in result and not tiny:
        save(saved, {"machine": machine(), **result})
        result = json.loads(saved.read_text(encoding="utf-8"))  # its keys as a later run has them
    return result


def keep_verdict(name: str, verdict: Verdict) -> None:
    """Write down what a full run has found."""
    known = read_verdicts() | {name: verdict}
    plain = {name: known[name]._asdict() for name in ITEMS if name in known}
    write_text(VERDICTS, json.dumps(plain, indent=1, ensure_ascii=False) + "\n")


def read_verdicts() -> dict[str, Verdict]:
    """Return the verdicts of full runs, by name."""
    if not VERDICTS.exists():
        return {}
    plain = json.loads(VERDICTS.read_text(encoding="utf-8"))
    return {name: Verdict(**each) for name, each in plain.items() if name in ITEMS}


def page_of_documents() -> str:
    """Return the page of the documentation: every table and figure, with its verdict."""
    verdicts = read_verdicts()
    parts = [_HEAD + count_verdicts(verdicts)]
    for document, title in DOCUMENTS.items():
        lines = [f"## {title}", "", "| | shows | here |", "|---|---|---|"]
        lines += [
            f"| `{item.name}` | {item.shows} | {say_verdict(item, verdicts.get(item.name))} |"
            for item in list_of(document)
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def page_of_figures() -> str:
    """Return the page of the figures that decide."""
    verdicts, parts = read_verdicts(), [_FIGURES]
    for document, title in DOCUMENTS.items():
        for item in list_of(document):
            if (verdict := verdicts.get(item.name)) is not None:
                lines = [f"## {item.name}", "", f"*{title}.* {item.shows}", ""]
                lines += [f"The claim **{_AS_A_SENTENCE[verdict.said]}** ([tables]({item.page}))."]
                lines += ["", *(f"- {each}" for each in list_figures(verdict.because))]
                parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def list_figures(because: str) -> list[str]:
    """Return the parts of what decided; what the document has is a part of its own.

    Examples
    --------
    >>> list_figures("one 0.4; two 0.6 (document: 0.3; twice as much); not so: two")
    ['one 0.4', 'two 0.6', 'the document: 0.3; twice as much', 'not so: two']
    """
    found = []
    for part in re.split(r"; (?![^()]*\))", because):  # not inside brackets
        figure, _, document = part.partition(" (document: ")
        found += [figure, f"the document: {document.removesuffix(')')}"][: 2 if document else 1]
    return found


def list_of(document: str) -> list[Item]:
    """Return the tables and figures of a document."""
    return [item for item in ITEMS.values() if item.name.startswith(f"{document}/")]


def count_verdicts(verdicts: dict[str, Verdict]) -> str:
    """Return the verdicts in one sentence."""
    n = {said: sum(each.said == said for each in verdicts.values()) for said in _AS_A_SENTENCE}
    return (
        f"Of {len(verdicts)} claims that were measured {n['holds']} hold, {n['in part']} hold in "
        f"part and {n['fails']} fail; the other tables and figures claim nothing that can be "
        "measured, or cannot be measured here.\n"
    )


def say_verdict(item: Item, verdict: Verdict | None) -> str:
    """Return what is said of an item, and where its figures are."""
    if verdict is not None:
        heading = item.name.replace("/", "")
        missed = verdict.because.partition("not so: ")[2] if verdict.said == "in part" else ""
        return f"[**{verdict.said}**]({_RESULTS}documents.md#{heading})" + (
            f"; not so: {missed}" if missed else ""
        )
    if item.instead:
        return f"{NOT_HERE}: {item.instead}"
    if item.judge is None:
        return f"[{UNJUDGED}]({_RESULTS}{item.page})"
    return "not judged yet"
