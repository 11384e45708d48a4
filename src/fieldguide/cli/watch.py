"""``fieldguide watch``."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.errors import FieldguideError
from fieldguide.terminal.arguments import Debug, one_line_errors
from fieldguide.terminal.console import complain, say
from fieldguide.terminal.reporter import Reporter

if TYPE_CHECKING:
    from fieldguide.collection import Collection


@one_line_errors
def watch(
    folder: Annotated[Path, typer.Argument(help="Folder of images.")],
    out: Annotated[Path, typer.Option(help="Folder of the guide, outside the images' folder.")],
    kinds: Annotated[
        str | None,
        typer.Option(
            help="Where kinds come from, as of build; by default as the guide was built.",
            show_default=False,
        ),
    ] = None,
    sidecar: Annotated[
        Path | None,
        typer.Option(
            help="CSV file, as of build; by default the one that the guide was built with.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between two looks at the folder.")] = 5,
    settle: Annotated[
        float, typer.Option(help="Seconds for which no file may have changed before a build.")
    ] = 10,
    jobs: Annotated[int, typer.Option(help="How many cores work; -1 is all.")] = -1,
    debug: Debug = False,
) -> None:
    """Build the guide of a folder again whenever its images change, until Ctrl-C.

    A guide that stands is built with the settings that it was built with; another one with those
    of a build without options. A served guide shows the new one with the next page.

    Example: fieldguide watch photos --out photos-guide
    """
    from fieldguide.guide import Guide
    from fieldguide.guide.adding import repeat_settings
    from fieldguide.guide.build import build_guide
    from fieldguide.guide.watching import Watcher, is_guide_of, take_again
    from fieldguide.guide.watching import watch as watch_folder
    from fieldguide.site.making import word_update

    if every <= 0 or settle < 0:
        raise FieldguideError(
            f"--every must be more than 0 and --settle at least 0; got {every:g} and {settle:g}."
        )

    def take() -> "Collection":
        return take_again(out, folder, kinds=kinds, sidecar=sidecar)

    def build() -> None:
        settings = repeat_settings(out, n_jobs=jobs)
        with Reporter() as report:
            build_guide(take(), out, settings, report)
        guide = Guide.open(out)
        tell(f"{guide.summary} {word_update(guide.about)}")

    def tell(sentence: str) -> None:
        say(f"{time.strftime('%H:%M:%S')} {sentence}")

    say(f"Watching {folder} for the guide {out} (Ctrl-C ends it)")
    watcher = Watcher(folder, lambda: is_guide_of(out, take()), build, tell, settle_s=settle)
    try:
        watch_folder(watcher, every)
    except KeyboardInterrupt:
        complain("Stopped. What a build had begun, the next one goes on with.")
