"""``fieldguide key``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import AsJson, Debug, Embedder, GuideFolder, one_line_errors
from fieldguide.terminal.console import say, say_json
from fieldguide.terminal.targets import check_target, is_printed_key

if TYPE_CHECKING:
    from fieldguide.chapters.walk.questions import Questions
    from fieldguide.guide import Guide


@one_line_errors
def key(
    guide: GuideFolder,
    image: Annotated[
        Path | None,
        typer.Option(help="A picture: the machine answers first, and you correct it."),
    ] = None,
    couplets: Annotated[
        bool, typer.Option("--couplets", help="Go by the couplets of the key.")
    ] = False,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            help="An answer to begin with, such as 'winged=yes', 'red cap=no' or 'couplet 1=plus'; "
            "may be given many times."
        ),
    ] = None,
    printed: Annotated[
        Path | None,
        typer.Option(
            "--print",
            metavar="OUT",
            help="Write the key to print to this file, .html or .txt, in place of a walk.",
            show_default=False,
        ),
    ] = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Walk the key by hand: questions one by one, answered by yes, no or cannot tell.

    Each answer makes some kinds likelier and none impossible, so that a wrong one can be survived.
    The question that is expected to tell most comes next, and any other can be chosen.
    With --json it tells what follows from the answers given, and ends.

    With --print it writes numbered couplets as books print them, and ends.

    Example: fieldguide key photos-guide --answer "winged=yes"
    """
    if printed is not None:
        _write_printed(guide, printed)
        return

    from fieldguide.chapters.walk.chapter import see_characters
    from fieldguide.chapters.walk.conversation import Conversation, read_terminal
    from fieldguide.chapters.walk.questions import read_questions
    from fieldguide.chapters.walk.reading import read_answer, tell_walk
    from fieldguide.chapters.walk.walking import Walk, temper
    from fieldguide.guide import Guide
    from fieldguide.guide.answer import to_plain

    opened = Guide.open(guide)
    questions = read_questions(opened)
    by_couplets = couplets or not questions.characters
    _check_questions(opened, questions, by_couplets)
    prior = seen = None
    if image is not None:
        if embedder:
            opened.use_embedder(embedder)
        sighting = opened.look(image)
        prior = temper(questions.kinds, {kind.name: kind.probability for kind in sighting.kinds})
        seen = see_characters(sighting, opened.characters)
    walk = Walk(questions, prior)
    for text in answer or []:
        walk.answer(*read_answer(questions, text))
    if as_json:
        say_json(to_plain(tell_walk(walk, seen, by_couplets=by_couplets)))
        return
    Conversation(opened, walk, seen=seen, by_couplets=by_couplets).hold(read_terminal)


def _write_printed(guide: Path, out: Path) -> None:
    """Write the key to print to a file."""
    from fieldguide._files import write_text
    from fieldguide.chapters.walk.printed_page import SUFFIXES, print_to_file
    from fieldguide.guide import Guide

    check_target(out, "--print", is_printed_key)
    if out.suffix and out.suffix.lower() not in SUFFIXES:
        raise FieldguideError(
            f"{str(out)!r} ends neither in .html nor in .txt; give --print one of these names."
        )
    write_text(out, print_to_file(Guide.open(guide), out))
    say(f"The key is in {out}")


def _check_questions(guide: "Guide", questions: "Questions", by_couplets: bool) -> None:
    """Refuse a walk without questions, in one sentence."""
    if len(guide.kinds) < 2:
        raise FieldguideError("A key tells kinds apart, and this guide has fewer than two.")
    if by_couplets and not questions.couplets:
        if questions.characters:
            why = "build it with --key relaxed, or leave --couplets out"
            raise FieldguideError(f"The key of this guide has no couplets; {why}.")
        if guide.characters is None:
            why = "this guide has no marks; build it again, without --no-marks"
            raise FieldguideError(f"There is nothing to ask about: {why}.")
        raise FieldguideError("There is nothing to ask about: no character differs between kinds.")


COMMAND = key
