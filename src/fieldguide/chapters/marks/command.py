"""``fieldguide marks``."""

from typing import Annotated

import typer

from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import AsJson, Debug, GuideFolder, one_line_errors
from fieldguide.terminal.console import say, say_json


@one_line_errors
def marks(
    guide: GuideFolder,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Name of a kind of the guide.")],
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what tells a kind from the others: its field marks.

    What sets it apart from all other kinds, then from each of its look-alikes, with the number of
    specimens that show it on either side, none of which chose it. Of clips, also what sets their
    movement apart. The pictures are on its page.

    Example: fieldguide marks photos-guide heron
    """
    from fieldguide.chapters.marks.page import list_movement, marks_lines
    from fieldguide.chapters.marks.records import MarksRecord
    from fieldguide.guide import Guide
    from fieldguide.guide.answer import to_plain
    from fieldguide.site.movement import movement_lines
    from fieldguide.site.phrases import FOUND_NOTE

    opened = Guide.open(guide)
    if not opened.kinds:
        why = opened.about.get("kinds_because") or "it has no kinds."
        raise FieldguideError(f"This guide has no marks to tell kinds apart by. {why}")
    found = opened.marks(kind)
    if found is None:
        why = "build it again, without --no-marks"
        if len(opened.kinds) < 2:
            why = "marks tell a kind from others, and it has one kind: add pictures of another"
        raise FieldguideError(f"This guide has no marks; {why}.")
    if as_json:
        say_json(to_plain(MarksRecord.from_marks(found, list_movement(opened, found.kind))))
        return
    if opened.kinds_are_found:
        say(FOUND_NOTE)
    say(*marks_lines(found, spell=opened.shown_name), *movement_lines(opened, found.kind))


COMMAND = marks
