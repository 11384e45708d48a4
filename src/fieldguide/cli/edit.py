"""``fieldguide edit``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.errors import EditError
from fieldguide.terminal.arguments import AsJson, Debug, Embedder, GuideFolder, one_line_errors
from fieldguide.terminal.console import complain, say, say_json
from fieldguide.terminal.targets import check_target

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.guide.edits import Edit


@one_line_errors
def edit(
    guide: GuideFolder,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[VERB TARGET [VALUE]]",
            help="What to do (kind, word, exclude, pin, reject, right, wrong, rename, hide, merge, "
            "name or note), with what, and the kind, word, name or text.",
            show_default=False,
        ),
    ] = None,
    note: Annotated[str, typer.Option(help="Why; kept with the edit.", show_default=False)] = "",
    said: Annotated[
        str,
        typer.Option(
            help="Of right and wrong: the kind that the key named; by default what it says now.",
            show_default=False,
        ),
    ] = "",
    history: Annotated[bool, typer.Option("--history", help="List every edit.")] = False,
    undo: Annotated[
        bool,
        typer.Option("--undo", help="Undo the last edit, or that whose number follows."),
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Make the edits of a file, CSV or JSON lines, all or none.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write the edits that hold to a file, .csv or .jsonl.",
            show_default=False,
        ),
    ] = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Edit a guide: correct, exclude, rename, hide, merge, name, pin, judge or note.

    TARGET is a specimen by its path or number, branch:NAME, kind:NAME, word:NAME, image:FILE or
    guide. Edits show at once, survive a rebuild and guide it. They are lines of edits.jsonl in the
    folder of the guide; the images stay as they are. Without a verb it lists the edits that hold.

    Examples: fieldguide edit photos-guide kind robin/07.jpg wren --note "its tail stands up";
    fieldguide edit photos-guide rename "branch:animal > bird" "garden birds";
    fieldguide edit photos-guide --undo 3
    """
    from fieldguide.guide import Guide
    from fieldguide.guide.edits.tables import is_edits_file

    _check_one(bool(words) and not undo, history, undo, source is not None, out is not None)
    if out is not None:
        check_target(out, "--export", is_edits_file)
    opened = Guide.open(guide)
    if embedder:
        opened.use_embedder(embedder)
    for fault in opened.edits.faults:
        complain(fault)
    if undo:
        _say_edits(opened, [opened.edits.undo(_read_number(words or []))], as_json)
    elif source is not None:
        _say_edits(opened, opened.edits.import_file(source), as_json)
    elif out is not None:
        n = opened.edits.export_file(out)
        say(f"{n:,} {'edit is' if n == 1 else 'edits are'} in {out}")
    elif words and not history:
        verb, target, value = _read_words(words)
        _say_edits(opened, [opened.edits.add(verb, target, value, note=note, said=said)], as_json)
    else:
        _list_edits(opened, as_json, is_whole=history)


def _check_one(*asked: bool) -> None:
    if sum(asked) > 1:
        raise EditError(
            "fieldguide edit does one thing at a time: give an edit, --history, --undo, --import "
            "or --export."
        )


def _read_words(words: list[str]) -> tuple[str, str, str]:
    if not 2 <= len(words) <= 3:
        raise EditError(
            "An edit is a verb, what it is about and, for some, a value, each in quotes if it has "
            f"spaces; got {len(words)} words."
        )
    return words[0], words[1], words[2] if len(words) == 3 else ""


def _read_number(words: list[str]) -> int | None:
    if not words:
        return None
    if len(words) > 1 or not (words[0].isascii() and words[0].isdecimal()):
        raise EditError(f"--undo takes the number of one edit; got {' '.join(words)!r}.")
    return int(words[0])


def _say_edits(guide: "Guide", made: "list[Edit]", as_json: bool) -> None:
    from fieldguide.guide.edits.telling import tell_edit

    if as_json:
        say_json([edit.to_plain() for edit in made])
        return
    say(*(f"Edit {edit.number}: {tell_edit(edit)}." for edit in made))
    _say_waiting(guide)


def _list_edits(guide: "Guide", as_json: bool, *, is_whole: bool) -> None:
    from fieldguide.guide.edits.telling import tell_edit

    edits = guide.edits
    listed = edits.history if is_whole else tuple(edits)
    if as_json:
        plain = [{**e.to_plain(), "undone": e.number in edits.undone} for e in listed]
        waiting = [edit.number for edit in edits.waiting]
        say_json({"edits": plain, "waiting": waiting, "faults": list(edits.faults)})
        return
    if not listed:
        say("The guide has no edits.")
    for edit in listed:
        undone = "  (undone)" if edit.number in edits.undone else ""
        why = f"  ({edit.note})" if edit.note else ""
        when = edit.time[:16].replace("T", " ")
        say(f"{edit.number:>4}  {when}  {tell_edit(edit)}{why}{undone}")
    _say_waiting(guide)


def _say_waiting(guide: "Guide") -> None:
    n = len(guide.edits.waiting)
    if n:
        told, them = ("1 edit waits", "it") if n == 1 else (f"{n:,} edits wait", "them")
        say(f"{told} for the next 'fieldguide build', which learns from {them}.")
