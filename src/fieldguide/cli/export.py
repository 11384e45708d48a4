"""``fieldguide export``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import Debug, GuideFolder, one_line_errors
from fieldguide.terminal.console import say
from fieldguide.terminal.reporter import Reporter


@one_line_errors
def export(
    guide: GuideFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder or file to make.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="'site' (the pages), 'csv', 'parquet', 'imagefolder' or 'croissant' (specimens), "
            "'newick' or 'nexus' (the tree), 'coco' (subjects and places), 'characters', 'lucid' "
            "or 'sdd' (kinds by words), 'darwin-core' or 'camtrap-dp' (occurrences), 'onnx' "
            "(network and key), 'book' (a guide to print).",
        ),
    ] = "site",
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder that the guide was built from: take the originals from it instead of "
            "the guide's own views.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            help="Replace a file OUT; write into a folder OUT even when it holds other files: they "
            "stay, unless one has the name of a new one."
        ),
    ] = False,
    strip: Annotated[
        bool | None,
        typer.Option(
            "--strip/--no-strip",
            help="Leave out when and where pictures were taken; 'site' and 'book', which others "
            "look at, leave it out unless told otherwise.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="Language of the pages of 'site': en, de or fr.", show_default="en"),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write the page as plain files (OUT/index.html), or the guide in a format for other programs.

    Example: fieldguide export photos-guide photos.csv --format csv
    """
    from fieldguide._languages import ENGLISH
    from fieldguide.exports import SHOWN, Order, export_guide
    from fieldguide.guide import Guide

    if strip and images is not None:
        raise FieldguideError(
            "--images copies the originals with what their files hold, which --strip leaves out; "
            "give one of the two."
        )
    if language is not None and form != "site":
        raise FieldguideError(
            f"Only the pages of 'site' are written in other languages; leave out --language for "
            f"{form!r}."
        )
    strip = form in SHOWN if strip is None else strip
    opened = Guide.open(guide).strip() if strip else Guide.open(guide)
    with Reporter() as report:
        first = export_guide(
            Order(opened, out, images, overwrite, report, language or ENGLISH), form
        )
    say(f"Open {first}")
