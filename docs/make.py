"""Write the parts of the documentation that come from the real thing.

``docs/cli.md`` is what ``--help`` prints; ``docs/answer.md`` lists the fields of an answer;
``docs/documents.md`` and ``benchmarks/results/documents.md`` say what ``fieldguide bench`` has
found; ``docs/specimens.jpg`` shows each kind of the embedded collection; the pictures of the
demonstration (``demo_pictures.py``) are taken with Chromium where there is one.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from demo_pictures import encode_jpeg, take_pictures
from PIL import Image

DOCS = Path(__file__).parent

_COMMANDS = "Written by `make pages` from the commands themselves, with the optional chapters "
_ANSWER = """Written by `make pages` from the records themselves (`fieldguide.guide.answer`).

What a guide says of one new image, schema {schema}.
`Guide.identify(images)` returns a list of `Answer`, and `answer.to_plain()` is the data below; `POST /api/identify` of the server gives the same.
`fieldguide identify --json` prints a list of `{{"image": …, "answer": …}}`, or `{{"image": …, "error": …}}` for a file that cannot be read; `fieldguide locate --json` prints a list of `{{"image": …, "subject": …, "places": …}}`.

Every field is always there.
A part that this guide does not have, or that does not apply, is null.
Fractions have four decimals; coordinates are shares of the width and the height of the image, from its upper left corner.
New fields may come without a new schema; its number grows when a field is renamed, removed or means something else.
"""  # noqa: E501


def cli_reference() -> str:
    """Return the help of every command, as Markdown."""
    os.environ.update(COLUMNS="96", TERM="dumb", NO_COLOR="1")
    import typer
    from typer.testing import CliRunner

    from fieldguide.chapters import OPTIONAL
    from fieldguide.cli import app

    chapters = " and ".join(f"*{name}*" for name in OPTIONAL)
    parts = ["# Command line\n", f"{_COMMANDS}{chapters or '(none)'}.\n"]
    for words in ([], *([command] for command in typer.main.get_command(app).commands)):
        shown = CliRunner().invoke(app, [*words, "--help"], prog_name="fieldguide").output
        lines = [
            line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).strip().splitlines()
        ]
        title = " ".join(["fieldguide", *words])
        parts.append(f"## `{title}`\n\n```\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def answer_reference() -> str:
    """Return the fields of an answer, from its records, as Markdown."""
    from answer_example import make_example

    from fieldguide.chapters import OPTIONAL
    from fieldguide.guide.answer import SCHEMA, Answer, list_records, plain_fields
    from fieldguide.guide.chapters import load_chapter

    example = make_example()
    said: dict[str, type] = {name: load_chapter(name).ANSWER for name in OPTIONAL}
    examples = (example, *example.parts.values())
    shown = {type(record): record for part in examples for record in _walk(part)}
    parts = [f"# An answer\n\n{_ANSWER.format(schema=SCHEMA)}"]
    for record in [each for part in (Answer, *said.values()) for each in list_records(part)]:
        summary = (record.__doc__ or "").strip().splitlines()[0]
        hints = get_type_hints(record, include_extras=True)
        lines = [f"## {record.__name__}", "", summary, "", "| field | type | meaning | example |"]
        lines.append("|---|---|---|---|")
        if record is Answer:
            lines.append(f"| `schema` | integer | version of these fields | `{SCHEMA}` |")
        for name in plain_fields(record):
            kind, meaning = get_args(hints[name])
            value = _word_value(getattr(shown[record], name))
            lines.append(f"| `{name}` | {_word_type(kind)} | {meaning} | {value} |")
        for name, part in said.items() if record is Answer else ():
            meaning = f"what the chapter *{name}* says; null where it says nothing"
            lines.append(f"| `{name}` | {_word_type(part)} or null | {meaning} | |")
        parts.append("\n".join(lines) + "\n")
    whole = json.dumps(example.to_plain(), indent=2, ensure_ascii=False)
    short = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", whole)
    parts.append(f"## The whole of it\n\nAn example.\n\n```json\n{short}\n```\n")
    return "\n".join(parts)


def _walk(value: Any) -> Iterator[Any]:
    """Yield the records in a value, the inner ones of a list by its first item alone."""
    from fieldguide.guide.answer import is_record, plain_fields

    if is_record(type(value)):
        yield value
        for name in plain_fields(type(value)):
            yield from _walk(getattr(value, name))
    elif isinstance(value, tuple) and value:
        yield from _walk(value[0])


def _word_type(kind: Any) -> str:
    """Say what a type is in JSON: "list of strings"."""
    from fieldguide.guide.answer import is_record

    if is_record(kind):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    inner = get_args(kind)
    if type(None) in inner:
        return f"{_word_type(inner[0])} or null"
    if get_origin(kind) is tuple:
        if inner[-1] is Ellipsis:
            return "list of " + re.sub("^(list|string|number)", r"\1s", _word_type(inner[0]))
        return f"list of {len(inner)} numbers"
    return {str: "string", float: "number", int: "integer", bool: "true or false"}[kind]


def _word_value(value: Any) -> str:
    """Show a value of the example; nothing for records, which have tables of their own."""
    from fieldguide.guide.answer import to_plain

    if any(True for _ in _walk(value)):
        return ""
    return f"`{json.dumps(to_plain(value), ensure_ascii=False)}`"


def sheet_of_specimens() -> bytes:
    """Return one picture of each kind, as a JPEG."""
    from fieldguide.datasets import load_specimens

    images = load_specimens(n_per_kind=1).images
    rows = [np.concatenate(list(images[i : i + 8]), axis=1) for i in range(0, len(images), 8)]
    return encode_jpeg(Image.fromarray(np.concatenate(rows)))


def main() -> None:
    """Write all of them."""
    (DOCS / "cli.md").write_text(cli_reference(), encoding="utf-8")
    print("wrote docs/cli.md")
    (DOCS / "answer.md").write_text(answer_reference(), encoding="utf-8")
    print("wrote docs/answer.md")
    from benchmarks.documents.bench import FIGURES, page_of_documents, page_of_figures

    (DOCS / "documents.md").write_text(page_of_documents(), encoding="utf-8")
    print("wrote docs/documents.md")
    FIGURES.write_text(page_of_figures(), encoding="utf-8")
    print("wrote benchmarks/results/documents.md")
    (DOCS / "specimens.jpg").write_bytes(sheet_of_specimens())
    print("wrote docs/specimens.jpg")
    browser = shutil.which("chromium")
    if browser is None:
        print(
            "no chromium on this machine: the pictures of the demonstration stay as they are",
            file=sys.stderr,
        )
        return
    for place, content in take_pictures(browser).items():
        (DOCS / place).write_bytes(content)
        print(f"wrote docs/{place}")


if __name__ == "__main__":
    main()
