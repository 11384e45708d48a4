"""Measure one table or figure of a document, and say whether its claim holds here.

A full run is saved below ``out`` by the problem's name, and used again until ``again`` is asked
for; long problems keep every cell beside it, so that a run that was stopped goes on. The verdict of
a full run is kept in ``verdicts.json`` here, of which ``make pages`` makes ``docs/documents.md``.
"""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.documents import DOCUMENTS, ITEMS, Item, Verdict
from benchmarks.measures import machine, save
from fieldguide._files import write_text

VERDICTS = Path(__file__).with_name("verdicts.json")
NOT_HERE = "not testable here"
UNJUDGED = "figures, no verdict"
_HEAD = """# The five documents

Written by `make pages` from what `fieldguide bench NAME --data DIR` found.
Every numbered table and figure of the documents that Fieldguide follows: whether its claim *holds* on the collections that are here, holds *in part*, or *fails*, with the figures that decide.
The collections of the documents are seldom here; what stands in for them is named.
A figure is a mean ± half of its 95 % interval; where a collection was measured in part, the figure says of how many cells, splits or draws it is.
Long ones can be made smaller by variables that the problem's own file names; the verdicts on Features in Concert are of `CONCERT_ONLY=cifar10,clips CONCERT_DRAWS=3`, on Figure 4 of the Attention Tree of `KEYS_ONLY=deep KEYS_SPLITS=3` without the dearest keys, on Table 1 of feature selection of `ADDITIVE_WORDS=1000 ADDITIVE_ONLY=document`.
"As printed" is a method with the arguments of its document, which [benchmarks.md](benchmarks.md#as-printed) compares with ours.
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
        say(f"\n{item.name}: {UNJUDGED}; docs/{item.page}")
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
    """Return the page of the documentation."""
    verdicts, parts = read_verdicts(), [_HEAD]
    for document, title in DOCUMENTS.items():
        lines = [f"## {title}", "", "| | shows | here | |", "|---|---|---|---|"]
        for item in ITEMS.values():
            if item.name.startswith(f"{document}/"):
                verdict = verdicts.get(item.name)
                said, because = say_verdict(item, verdict)
                figures = f"[figures]({item.page})" if item.page else ""
                lines.append(
                    f"| `{item.name}` | {item.shows} | **{said}**"
                    f"{': ' if because else ''}{because} | {figures} |"
                )
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def say_verdict(item: Item, verdict: Verdict | None) -> tuple[str, str]:
    """Return what is said of an item, and why."""
    if verdict is not None:
        return verdict.said, verdict.because
    if item.instead:
        return NOT_HERE, item.instead
    return (UNJUDGED, "") if item.judge is None else ("not judged yet", "")
