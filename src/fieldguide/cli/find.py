"""``fieldguide find``."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.terminal.arguments import AsJson, Debug, GuideFolder, one_line_errors, open_console
from fieldguide.terminal.console import complain, say_json, say_rich, say_row

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.guide.views import QueryResult


@one_line_errors
def find(
    guide: GuideFolder,
    query: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help="Words, kinds and names of files, with commas between; '-' or 'not' excludes.",
        ),
    ],
    limit: Annotated[int, typer.Option(help="The most specimens to list.", min=1)] = 20,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Find specimens by words, kinds and names of files, best first.

    All terms must hold. Plurals and near spellings are read, and what was taken for a term
    is said. Where nothing fits, the exit code is 2.

    Example: fieldguide find photos-guide "orange, spotted, not tailed"
    """
    from fieldguide.guide import Guide

    opened = Guide.open(guide)
    found = opened.find(" ".join(query), limit=limit)
    if as_json:
        from fieldguide.guide.answer import to_plain
        from fieldguide.site.records import query_record

        say_json(to_plain(query_record(found)))
    else:
        _print_found(found, opened)
    if not found.total:
        raise typer.Exit(2)


def _print_found(found: "QueryResult", guide: "Guide") -> None:
    """Print finds as a table on a terminal, with tabs for a program, and what was not found."""
    from fieldguide.site.phrases import describe_result, list_notes

    notes = list_notes(found, guide.shown_name)
    if not found.total:
        complain(f"{'; '.join([describe_result(found), *notes])}.")
    elif sys.stdout.isatty():
        from fieldguide.terminal.tree_lines import found_lines

        console, marks = open_console()
        say_rich(console, found_lines(found, console.width, marks, guide.shown_name))
    else:
        for note in notes:
            complain(f"{note}.")
        for one in found.finds:
            say_row(one.specimen.path, one.specimen.kind or "", ", ".join(one.because))
