"""``fieldguide identify``."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fieldguide._jit import light_loops_plain
from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import (
    AsJson,
    Debug,
    Device,
    Embedder,
    GuideFolder,
    one_line_errors,
)
from fieldguide.terminal.console import complain, say, say_json
from fieldguide.terminal.reporter import Reporter
from fieldguide.terminal.targets import check_target

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.guide.survey import Shot

_N_KINDS = 5  # named in the last line
_N_QUICK = 4  # pictures that are named sooner than the compiler is loaded


@one_line_errors
def identify(
    guide: GuideFolder,
    images: Annotated[
        list[Path], typer.Argument(help="Image and video files to name, and folders of them.")
    ],
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a table to this CSV file instead of the answers in words, with a row for "
            "each picture.",
            show_default=False,
        ),
    ] = None,
    embedder: Embedder = None,
    jobs: Annotated[int, typer.Option(help="How many cores work with --csv; -1 is all.")] = -1,
    device: Device = "cpu",
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what each image is, what else it might be, and where it belongs in the tree.

    With --csv, columns are file, kind, confidence, group (the fewest kinds among which it is, nine
    times in ten), none_of_these, empty (no subject stands out), date (when it was taken), branch
    and error (why a file cannot be read). A command that was stopped goes on where it stopped and
    ends in the same table.

    Example: fieldguide identify photos-guide new-photos --csv names.csv
    """
    from fieldguide.guide import Guide
    from fieldguide.guide.survey import list_shots

    if csv is not None and as_json:
        raise FieldguideError("--csv and --json of fieldguide identify exclude each other.")
    if csv is not None:
        check_target(csv, "--csv", _is_survey)
    opened = Guide.open(guide)
    if embedder:
        opened.use_embedder(embedder)
    opened.use_device(device)
    shots = list_shots(images)
    if csv is not None:
        _write_table(opened, shots, csv, jobs)
    elif len(shots) <= _N_QUICK:
        with light_loops_plain():
            _tell(opened, shots, as_json)
    else:
        _tell(opened, shots, as_json)


def _is_survey(path: Path) -> bool:
    from fieldguide._csv import has_columns
    from fieldguide.guide.survey import COLUMNS

    return has_columns(path, COLUMNS)


def _tell(guide: "Guide", shots: "list[Shot]", as_json: bool) -> None:
    from fieldguide.errors import UnreadableImageError
    from fieldguide.terminal.answer_lines import answer_lines

    n_failed = 0
    results: list[dict[str, Any]] = []
    for shot in shots:
        try:
            if shot.error:
                raise UnreadableImageError(f"{shot.file!r} cannot be used: {shot.error}.")
            answer = guide.identify([Path(shot.file)])[0]
        except UnreadableImageError as error:
            n_failed += 1
            results.append({"image": shot.file, "error": str(error)})
            if not as_json:
                complain(str(error))
            continue
        if as_json:
            results.append({"image": shot.file, "answer": answer.to_plain()})
        else:
            say(shot.file, *(f"  {line}" for line in answer_lines(guide, answer)))
    if as_json:
        say_json(results)
    if n_failed:
        raise typer.Exit(2)


def _write_table(guide: "Guide", shots: "list[Shot]", target: Path, n_jobs: int) -> None:
    from fieldguide.guide.survey import survey
    from fieldguide.site.phrases import count

    with Reporter() as report:
        rows = survey(guide, shots, target, n_jobs=n_jobs, progress=report)
    n_failed = sum(row.error is not None for row in rows)
    kinds = Counter(row.kind for row in rows if row.kind is not None).most_common()
    listed = [f"{guide.shown_name(kind)} ({n:,})" for kind, n in kinds[:_N_KINDS]]
    if len(kinds) > _N_KINDS:
        listed.append(f"{count(len(kinds) - _N_KINDS, 'more kind')}")
    told = f"Looked at {count(len(rows) - n_failed, 'picture')}"
    say(f"{told}: {', '.join(listed)}." if listed else f"{told}.")
    if n_failed:
        say(f"{count(n_failed, 'file')} could not be read; the column 'error' says why.")
    say(f"The table is in {target}")
