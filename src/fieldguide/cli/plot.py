"""``fieldguide plot``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldguide.terminal.arguments import Debug, GuideFolder, one_line_errors
from fieldguide.terminal.console import say
from fieldguide.terminal.targets import check_target, is_drawing


@one_line_errors
def plot(
    guide: GuideFolder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to draw: 'key'.")],
    out: Annotated[
        Path | None, typer.Option(help="SVG file to write; NAME.svg by default.")
    ] = None,
    levels: Annotated[int, typer.Option(help="Levels of the key to draw.")] = 5,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="GUIDE",
            help="Another guide of the same kinds: draw its key beside, and say how far the two "
            "agree.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Draw a picture of a guide, as one SVG file with everything inside.

    'key' draws the first levels of a key with a graph (fieldguide build … --key relaxed):
    at each couplet, pictures of the kinds that go one way, the other way and both ways.

    Example: fieldguide plot photos-guide key --out key.svg
    """
    from fieldguide._files import write_text
    from fieldguide.guide import Guide
    from fieldguide.site.plots import check_plot_name, plot_key

    check_plot_name(name)
    target = out or Path(f"{name}.svg")
    check_target(target, "--out", is_drawing)
    opened = Guide.open(guide)
    other = None if beside is None else Guide.open(beside)
    drawn = plot_key(opened, levels, beside=other)
    write_text(target, drawn.text)
    if drawn.statement:
        say(drawn.statement)
    say(f"The drawing is in {target}")
