"""``fieldguide export``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldguide._commands import Debug, GuideFolder, one_line_errors
from fieldguide._console import say
from fieldguide._reporter import Reporter
from fieldguide.errors import FieldguideError


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(export)


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
        bool, typer.Option("--strip", help="Leave out when and where pictures were taken.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Write the page as plain files (OUT/index.html), or the guide in a format for other programs.

    Example: fieldguide export photos-guide photos.csv --format csv
    """
    from fieldguide.exports import Order, export_guide
    from fieldguide.guide import Guide

    if strip and images is not None:
        raise FieldguideError(
            "--images copies the originals with what their files hold, which --strip leaves out; "
            "give one of the two."
        )
    opened = Guide.open(guide).strip() if strip else Guide.open(guide)
    with Reporter() as report:
        first = export_guide(Order(opened, out, images, overwrite, report), form)
    say(f"Open {first}")
