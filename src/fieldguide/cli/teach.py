"""``fieldguide teach``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from fieldguide.terminal.arguments import AsJson, Debug, GuideFolder, one_line_errors
from fieldguide.terminal.console import complain, say, say_json

if TYPE_CHECKING:
    from fieldguide.guide import Guide, TaughtWord

_SIDES = ("--yes", "--no")


class TeachCommand(TyperCommand):
    """A command in which ``--yes`` and ``--no`` take all that follows them, up to an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, with the option written before each of its pictures."""
        spread: list[str] = []
        side = ""
        for arg in args:
            if arg.startswith("--"):
                side = arg if arg in _SIDES else ""
                spread += [] if side else [arg]
            else:
                spread += [side, arg] if side else [arg]
        return super().parse_args(ctx, spread)


@one_line_errors
def teach(
    guide: GuideFolder,
    word: Annotated[
        str, typer.Argument(metavar="WORD", help="The word to teach.", show_default=False)
    ],
    yes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH...",
            help="Pictures that show it: specimens by path or number, or files that are in the "
            "guide.",
            show_default=False,
        ),
    ] = None,
    no: Annotated[
        list[str] | None,
        typer.Option(
            "--no", metavar="PATH...", help="Pictures that do not show it.", show_default=False
        ),
    ] = None,
    note: Annotated[str, typer.Option(help="Why; kept with the edit.", show_default=False)] = "",
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Teach a guide a word of your own by a few pictures that show it and a few that do not.

    Ten of each sort are good, two the least. The word is said of other pictures only if it holds
    on pictures that did not teach it. Teaching it again adds pictures, and 'fieldguide edit GUIDE
    --undo' takes the last lesson back.

    Example: fieldguide teach photos-guide crested --yes jay/*.jpg lapwing/3.jpg --no gull/*.jpg
    """
    from fieldguide.guide import Guide

    opened = Guide.open(guide)
    for fault in opened.edits.faults:
        complain(fault)
    taught = opened.teach(word, yes or [], no or [], note=note)
    edit = opened.edits.history[-1]
    name = edit.target.name if edit.target else word
    n_showing = len(opened.members(word=name))
    if as_json:
        plain = taught.reliability.to_plain()
        say_json({"edit": edit.to_plain(), "word": name, **plain, "n_showing": n_showing})
        return
    _say_lesson(opened, name, taught, n_showing)


def _say_lesson(guide: "Guide", word: str, taught: "TaughtWord", n_showing: int) -> None:
    from fieldguide.guide.edits.telling import tell_edit
    from fieldguide.site.phrases import count

    edit = guide.edits.history[-1]
    say(
        f"Edit {edit.number}: {tell_edit(edit)}.",
        taught.reliability.tell(),
        f"{count(n_showing, 'specimen')} of {guide.n_shown:,} show “{word}”.",
    )
