"""``fieldguide describe``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import AsJson, Debug, GuideFolder, one_line_errors, open_console
from fieldguide.terminal.console import say, say_json, say_rich
from fieldguide.terminal.targets import PLATE_SOFTWARE, check_target, is_comparison, is_plate

if TYPE_CHECKING:
    from fieldguide.guide import Guide


@one_line_errors
def describe(
    guide: GuideFolder,
    depth: Annotated[int | None, typer.Option(help="Levels to show.", show_default=False)] = None,
    branch: Annotated[
        str | None,
        typer.Option(
            help="Start at this branch: its number, or its words, such as 'animal > bird'.",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="GUIDE",
            help="Another guide of the same images: print its tree beside, and which specimens "
            "moved.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="With --beside: write the comparison, with pictures, to this HTML file.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="List the visual words instead of the tree.")
    ] = False,
    plate: Annotated[
        Path | None,
        typer.Option(
            help="With --words: write a plate of them to this PNG file.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print the tree of a guide in words, two trees side by side, or the visual words.

    On a terminal, the dots say how often the name of a branch is true of its specimens.

    Example: fieldguide describe photos-guide --branch animal --depth 2
    """
    from fieldguide.guide import Guide

    if out is not None and beside is None:
        raise FieldguideError("--out of fieldguide describe goes with --beside; give both.")
    if out is not None:
        check_target(out, "--out", is_comparison)
    if plate is not None:
        check_target(plate, "--plate", is_plate)
    opened = Guide.open(guide)
    if words or plate is not None:
        _describe_words(opened, plate, as_json)
        return
    if beside is not None:
        _describe_beside(opened, Guide.open(beside), out, as_json)
        return
    first = 0 if branch is None else opened.find_branch(branch)
    if as_json:
        from fieldguide.guide.answer import to_plain
        from fieldguide.site.records import branch_record

        say_json(to_plain(branch_record(opened, first, depth)))
    elif sys.stdout.isatty():
        from fieldguide.terminal.tree_lines import tree_lines

        console, marks = open_console()
        say_rich(console, tree_lines(opened, first, depth, console.width, marks))
    else:
        say(*opened.describe(first, max_depth=depth).split("\n"))


def _describe_beside(guide: "Guide", other: "Guide", out: Path | None, as_json: bool) -> None:
    from fieldguide._files import write_text
    from fieldguide.guide.answer import to_plain
    from fieldguide.guide.compare import compare_guides
    from fieldguide.site.comparison import compare_on_page
    from fieldguide.site.records import comparison_record
    from fieldguide.terminal.tree_lines import comparison_lines

    comparison = compare_guides(guide, other)
    if out is not None:
        write_text(out, compare_on_page(guide, other, comparison))
    if as_json:
        say_json(to_plain(comparison_record(guide, other, comparison)))
        return
    console, marks = open_console()
    say_rich(console, comparison_lines(guide, other, comparison, console.width, marks))
    if out is not None:
        say(f"The page is in {out}")


def _describe_words(guide: "Guide", plate: Path | None, as_json: bool) -> None:
    image = guide.draw_visual_words()
    if plate is not None:
        from PIL.PngImagePlugin import PngInfo

        from fieldguide._files import replacing

        by = PngInfo()
        by.add_text("Software", PLATE_SOFTWARE)
        with replacing(plate) as temporary:
            image.save(temporary, "PNG", pnginfo=by)
    if as_json:
        from fieldguide.guide.answer import to_plain
        from fieldguide.site.records import visual_word_records

        say_json(
            to_plain(visual_word_records(guide), n_digits=6)
        )  # a word is in few of the windows
        return
    for word in guide.visual_words:
        homes = ", ".join(
            f"{guide.shown_name(name)} ({factor:.0f}×)" for name, factor in word.kinds
        )
        say(f"word {word.number:<5} 1 window in {round(1 / max(word.share, 1e-6)):<7,} {homes}")
    say(f"The plate is in {plate}" if plate else "See them: add --plate words.png, or serve it.")
