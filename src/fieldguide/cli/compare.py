"""``fieldguide compare``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldguide.terminal.arguments import AsJson, Debug, GuideFolder, one_line_errors
from fieldguide.terminal.console import say, say_json
from fieldguide.terminal.targets import check_target, is_pair_page


@one_line_errors
def compare(
    guide: GuideFolder,
    kind: Annotated[str, typer.Argument(metavar="A", help="Name of a kind of the guide.")],
    other: Annotated[str, typer.Argument(metavar="B", help="Name of another.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            help="Write the comparison, with pictures, to this HTML file.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what sets two kinds apart, and how often they are confused.

    Then the specimens on the border: those of either kind that the key takes for the other when
    it has not seen them, and those that it is in doubt of.

    Example: fieldguide compare photos-guide heron egret --out heron-egret.html
    """
    if out is not None:
        check_target(out, "--out", is_pair_page)

    from fieldguide._files import write_text
    from fieldguide.guide import Guide
    from fieldguide.site.comparison import compare_kinds_on_page
    from fieldguide.site.pairs import pair_lines
    from fieldguide.site.records import kind_pair_to_plain

    opened = Guide.open(guide)
    pair = opened.compare(kind, other)
    if out is not None:
        write_text(out, compare_kinds_on_page(opened, pair))
    if as_json:
        say_json(kind_pair_to_plain(opened, pair))
        return
    say(*pair_lines(opened, pair))
    if out is not None:
        say(f"The page is in {out}")
