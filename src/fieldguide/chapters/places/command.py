"""``fieldguide locate``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.terminal.arguments import AsJson, Debug, Embedder, GuideFolder, one_line_errors
from fieldguide.terminal.console import complain, say, say_json
from fieldguide.terminal.targets import check_target, is_found_boxes

if TYPE_CHECKING:
    from fieldguide.chapters.places.boxes import FoundInPicture
    from fieldguide.guide import Guide


@one_line_errors
def locate(
    guide: GuideFolder,
    images: Annotated[
        list[Path] | None,
        typer.Argument(help="Image files to look at; those of the guide by default."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Say what decides for this kind; by default for the one it is named."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the boxes to this COCO JSON file.")
    ] = None,
    boxes: Annotated[
        Path | None,
        typer.Option(
            help="Boxes to compare with: a COCO JSON file, or a folder of VOC XML or YOLO files."
        ),
    ] = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say where in each image its subject is, and what decides for a kind.

    Without IMAGES, it tells what the guide has found in its own.
    With --boxes, it compares the subjects: the average precision at an overlap of .5 and .4, and
    CorLoc.

    Example: fieldguide locate photos-guide new/*.jpg --out found.json
    """
    from fieldguide.chapters.places.boxes import compare_boxes, read_boxes
    from fieldguide.chapters.places.page import word_located, word_subject
    from fieldguide.guide import Guide
    from fieldguide.guide.answer import to_plain
    from fieldguide.site.phrases import count

    if out is not None:
        check_target(out, "--out", is_found_boxes)
    opened = Guide.open(guide)
    if embedder:
        opened.use_embedder(embedder)
    truth = None if boxes is None else read_boxes(boxes)
    found, n_failed = _find_places(opened, images or [], kind)
    if out is not None:
        _write_boxes(out, found)
    if as_json:
        records = [
            {"image": f.path, "subject": to_plain(f.subject), "places": to_plain(f.located)}
            for f in found
        ]
        say_json(records)
    elif images:
        spell = opened.shown_name
        for each in found:
            said = [] if each.subject is None else [word_subject(each.subject)]
            if each.located is not None:
                said.append(f"{spell(each.located.kind)}: {word_located(each.located, spell)}")
            say(f"{each.path}: {'; '.join(said)}")
    if truth is not None:
        compared = compare_boxes(found, truth)
        figures = ", ".join(f"AP at {o:g}: {p:.3f}" for o, p in compared.average_precision.items())
        pictures = count(compared.n_pictures, "picture")
        line = f"{pictures} with boxes; {figures}, CorLoc {compared.corloc:.3f}"
        say(line, file=sys.stderr if as_json else sys.stdout)
    if out is not None and not as_json:
        say(f"The boxes of {count(len(found), 'picture')} are in {out}")
    elif not images and truth is None and not as_json:
        say(f"The guide knows places in {count(len(found), 'picture')}; add --out found.json.")
    if n_failed:
        raise typer.Exit(2)


def _find_places(
    guide: "Guide", images: list[Path], kind: str | None
) -> tuple[list["FoundInPicture"], int]:
    """Return what is found in images, or in the guide's own; and how many could not be read."""
    from fieldguide.chapters.places.boxes import FoundInPicture
    from fieldguide.errors import UnreadableImageError

    if not images:
        located = {specimen.id: at for specimen, at in guide.all_located(kind)}
        ids = guide.members(kind=guide.find_kind(kind)) if kind else guide.ids
        own = [(s, guide.subject(s.id), located.get(s.id)) for s in guide.specimens(ids)]
        return [
            FoundInPicture(s.path, (s.width, s.height), at, subject or (at.subject if at else None))
            for s, subject, at in own
            if subject is not None or at is not None
        ], 0
    found, n_failed = [], 0
    for image in images:
        try:
            sighting = guide.look(image)
            (located_one,) = guide.locate([sighting], kind) if guide.kinds else [None]
            (subject,) = guide.find_subjects([sighting])
            found.append(FoundInPicture(str(image), sighting.size, located_one, subject))
        except UnreadableImageError as error:
            n_failed += 1
            complain(str(error))
    return found, n_failed


def _write_boxes(out: Path, found: list["FoundInPicture"]) -> None:
    from fieldguide.datasets.boxes import write_coco_boxes

    write_coco_boxes(out, [f.to_objects() for f in found], scores=[f.scores for f in found])


COMMAND = locate
