"""Draw outlines on pictures that the key has not seen, drawn at random, for a person to grade.

    python benchmarks/outline_sheet.py --data DIR --seed 19 --out out/sheet.png [--plates]
    python benchmarks/outline_sheet.py --data DIR --seed 19 --out sheet.svg --grades grades.csv
    python benchmarks/outline_sheet.py --seed 19 --out sheet.jpg

Caltech-101, half of each kind to learn from (split 0 of ``second_look``), 40 of the others; without
``--data`` drawn specimens, six of each kind to learn from, 40 new ones, with the share of their
outline inside the marks that were drawn. The yellow box is the subject, the outline what tells the
kind that is named from the likeliest other, as *identify* shows, or with ``--plates`` from all
others, as plates do; a star says that the name is wrong. The names of the pictures are printed in
the order of the sheet.

``docs/grades/`` holds the grades that were given; the photographs are not ours to show. A sheet
whose name ends in ``.svg`` has no pixel of them: the frame of each, the pixels of its subject in
flat ink, and the outline. ``--grades`` writes what was given under each.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.problems.region_specimens import cover
from benchmarks.problems.second_look import N_JOBS, load_objects, see, split
from fieldguide.chapters.places.chapter import Located, Seen, lay_over, list_contrasts
from fieldguide.chapters.places.evidence import lay_canvas
from fieldguide.datasets import load_specimens
from fieldguide.features import FeatureStack
from fieldguide.features.network import Network
from fieldguide.identify import OneVsAllClassifier
from fieldguide.locate import trace_outlines

N_COLUMNS, N_PICTURES, GAP_PX, LINE_PX = 8, 40, 6, 17
TILE_PX = {".svg": 150, ".jpg": 190}  # of others 300
PAPER, FRAME, SUBJECT, DECIDED, INK = "#ffffff", "#8a8378", "#cfc7b8", "#8f3a1c", "#2a251e"

Rings = tuple[tuple[tuple[float, float], ...], ...]


class Outlined(NamedTuple):
    """A picture with what decided, and what is written under it, the kind that is named first."""

    image: Image.Image
    located: Located
    subject: Rings  # around the pixels of the subject
    picture: str  # its file, or its kind
    lines: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--plates", action="store_true")
    parser.add_argument("--grades", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/sheet.png"))
    given = parser.parse_args()
    if given.data is None:
        outlined = list(outline_specimens(given.seed, plates=given.plates))
    else:
        folder = given.data / "caltech101"
        outlined = list(outline_photographs(folder, given.seed, plates=given.plates))
    if given.grades is not None:
        outlined = write_grades(outlined, given.grades)
    for number, each in enumerate(outlined, start=1):
        print(f"{number},{each.picture},{each.located.kind},{each.located.against or ''}")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    tile = TILE_PX.get(given.out.suffix, 300)
    if given.out.suffix == ".svg":
        given.out.write_text(draw_ink(outlined, tile), encoding="utf-8")
    else:
        draw_pictures(outlined, tile).save(given.out, quality=70)


def outline_photographs(folder: Path, seed: int, *, plates: bool) -> Iterator[Outlined]:
    """Outline photographs of Caltech-101."""
    network, photographs = Network(), load_objects(folder)
    old, new = split(photographs.target, None, 0)
    kinds = np.array([path.parent.name for path in photographs.paths])
    key = OneVsAllClassifier(n_jobs=N_JOBS).fit(photographs.rows[old], kinds[old])
    for i in np.random.default_rng(seed).permutation(new)[:N_PICTURES]:
        path = photographs.paths[i]
        seen = see(Image.open(path).convert("RGB"), photographs.stack, network)
        picture = path.relative_to(folder).as_posix()
        yield outline(seen, key, photographs.stack, network, picture, plates=plates)


def outline_specimens(seed: int, *, plates: bool) -> Iterator[Outlined]:
    """Outline drawn specimens, and say how much of each outline is inside the marks."""
    network = Network()
    drawn = load_specimens(n_per_kind=8, size_px=160, random_state=seed)
    images = [Image.fromarray(image) for image in drawn.images]
    names = np.array(drawn.target_names)[drawn.target]
    stack = FeatureStack("looks", n_jobs=N_JOBS).fit(images, network=network)
    old, new = split(drawn.target, 6, 0)
    rows = np.concatenate([see(images[i], stack, network).row for i in old])
    key = OneVsAllClassifier(n_jobs=N_JOBS).fit(rows, names[old])
    has_marks = [i for i in np.random.default_rng(seed).permutation(new) if drawn.marks[i]]
    for i in has_marks[:N_PICTURES]:
        seen = see(images[i], stack, network)
        found = outline(seen, key, stack, network, str(names[i]), plates=plates)
        size = images[i].size
        mask = fill([ring for place in found.located.places for ring in place.outline], size)
        marks = cover(np.array([mark[1:] for mark in drawn.marks[i]]), mask.shape)
        share = (mask & marks).sum() / max(mask.sum(), 1)
        yield found._replace(lines=[*found.lines, f"{share:.0%} in its marks"])


def outline(
    seen: Seen,
    key: OneVsAllClassifier,
    stack: FeatureStack,
    network: Network,
    picture: str,
    *,
    plates: bool,
) -> Outlined:
    """Outline what decides for the kind that is named."""
    name = str(key.predict(seen.row)[0])
    told = list_contrasts(key, seen.row, name)
    shown = told[:1] if plates else told[-1:]
    (located,) = lay_over(seen, shown, told, key, stack, network)
    subject = trace_outlines(lay_canvas(seen.image, seen.looks.subject).is_subject)
    told = name if picture.split("/")[0] == name else f"{name}*"
    return Outlined(seen.image, located, subject, picture, [told.replace("_", " ")])


def write_grades(outlined: list[Outlined], grades: Path) -> list[Outlined]:
    """Return pictures with the grade of each under it."""
    with open(grades, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if [row["picture"] for row in rows] != [each.picture for each in outlined]:
        sys.exit(f"{grades} holds the grades of other pictures than this sheet.")
    return [
        each._replace(lines=[*each.lines, row["outline"]])
        for each, row in zip(outlined, rows, strict=True)
    ]


def fill(rings: list, size: tuple[int, int]) -> np.ndarray:
    """Return the pixels inside rings, a second ring of a place being a hole."""
    mask = np.zeros((size[1], size[0]), dtype=bool)
    for ring in rings:
        part = Image.new("1", size)
        ImageDraw.Draw(part).polygon([(x * size[0], y * size[1]) for x, y in ring], fill=1)
        mask ^= np.asarray(part)
    return mask


def place_tiles(outlined: list[Outlined], tile: int) -> tuple[tuple[int, int], list]:
    """Return the size of the sheet, and of each picture its corner and its own size."""
    step = tile + 2 * GAP_PX
    high = step + LINE_PX * max(len(each.lines) for each in outlined)
    placed = []
    for k, each in enumerate(outlined):
        width, height = (round(side * tile / max(each.image.size)) for side in each.image.size)
        x, y = k % N_COLUMNS * step + GAP_PX, k // N_COLUMNS * high + GAP_PX
        placed.append((x + (tile - width) // 2, y + (tile - height) // 2, width, height, y + tile))
    return (N_COLUMNS * step, -(-len(outlined) // N_COLUMNS) * high), placed


def draw_pictures(outlined: list[Outlined], tile: int) -> Image.Image:
    """Draw the pictures with box and outline."""
    size, placed = place_tiles(outlined, tile)
    sheet = Image.new("RGB", size, PAPER)
    font = ImageFont.load_default(LINE_PX - 4)
    for number, (each, (x, y, width, height, below)) in enumerate(
        zip(outlined, placed, strict=True), start=1
    ):
        picture = each.image.resize((width, height))
        draw = ImageDraw.Draw(picture)
        assert each.located.subject is not None
        x0, y0, x1, y1 = each.located.subject.box
        draw.rectangle((x0 * width, y0 * height, x1 * width, y1 * height), outline="yellow")
        for place in each.located.places:
            for ring in place.outline:
                points = [(u * width, v * height) for u, v in (*ring, ring[0])]
                draw.line(points, fill="black", width=5)
                draw.line(points, fill="cyan", width=2)
        sheet.paste(picture, (x, y))
        draw = ImageDraw.Draw(sheet)
        for k, line in enumerate([f"{number} {each.lines[0]}", *each.lines[1:]]):
            draw.text((x, below + k * LINE_PX + 2), line, fill=INK, font=font)
    return sheet


def draw_ink(outlined: list[Outlined], tile: int) -> str:
    """Draw frames, subjects and outlines as SVG, without the pictures."""
    (wide, high), placed = place_tiles(outlined, tile)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        f'font-family="sans-serif" font-size="{LINE_PX - 4}" fill="{INK}">',
        f'<rect width="{wide}" height="{high}" fill="{PAPER}"/>',
    ]
    for number, (each, (x, y, width, height, below)) in enumerate(
        zip(outlined, placed, strict=True), start=1
    ):
        found = tuple(ring for place in each.located.places for ring in place.outline)
        parts += [
            f'<path d="{trace_path(each.subject, x, y, width, height)}" fill="{SUBJECT}" '
            'fill-rule="evenodd"/>',
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="none" '
            f'stroke="{FRAME}"/>',
            f'<path d="{trace_path(found, x, y, width, height)}" fill="{DECIDED}" '
            f'fill-opacity="0.35" fill-rule="evenodd" stroke="{DECIDED}" stroke-width="1.5"/>',
        ]
        for k, line in enumerate([f"{number} {each.lines[0]}", *each.lines[1:]]):
            parts.append(f'<text x="{x}" y="{below + (k + 1) * LINE_PX}">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def trace_path(rings: Rings, x: float, y: float, width: float, height: float) -> str:
    """Return rings as one path of SVG, laid over a picture at a place of the sheet."""
    return "".join(
        "M" + " ".join(f"{x + u * width:.1f},{y + v * height:.1f}" for u, v in ring) + "Z"
        for ring in rings
    )


if __name__ == "__main__":
    main()
