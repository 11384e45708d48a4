"""``fieldguide check``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import AsJson, Debug, GuideFolder, one_line_errors
from fieldguide.terminal.console import say, say_json


@one_line_errors
def check(
    guide: GuideFolder,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write the list to this CSV file, for a spreadsheet.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what needs a look: doubtful labels, copies, bad pictures, kinds that are few or alike.

    Each line has the file, the problem, what is said of it, and how sure that is; labels that are
    most probably wrong come first. The page 'What needs a look' has the pictures.

    Example: fieldguide check photos-guide --csv look.csv
    """
    from fieldguide._csv import has_columns, write_table
    from fieldguide.chapters.check.page import check_lines
    from fieldguide.chapters.check.records import COLUMNS
    from fieldguide.guide import Guide
    from fieldguide.guide.answer import to_plain
    from fieldguide.site.phrases import count
    from fieldguide.terminal.targets import check_target

    if csv is not None:
        check_target(csv, "--csv", lambda path: has_columns(path, COLUMNS))
    report = Guide.open(guide).check()
    if report is None:
        raise FieldguideError(
            "This guide does not know what needs a look: it was built by an earlier version; run "
            "the same 'fieldguide build' again."
        )
    if csv is not None:
        write_table(csv, COLUMNS, report.to_rows())
    if as_json:
        say_json(to_plain(report.findings))
    elif csv is not None:
        say(f"{count(len(report), 'line')} in {csv}")
    else:
        say(*check_lines(report))


COMMAND = check
