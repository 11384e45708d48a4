"""Draw kinds of guides with their mark sentences and pictures, for a person to grade them.

    python benchmarks/mark_sheet.py GUIDE [GUIDE …] --seed 21 --out out/mark_sheets [--also FILE]
    python benchmarks/mark_sheet.py GUIDE [GUIDE …] --again KEY --seed 22 --out out/again

Of each guide, 20 kinds drawn at random. An item is a sentence, 12 pictures of the kind drawn at
random, and 6 of each of two look-alikes: those that the sentence names, or the first two.
``--also`` names a CSV file with the columns guide, kind and sentence: what another version says of
the same kinds. All items are shuffled: who grades does not know which version says a sentence.
``--again`` is a second reading: the kinds of an earlier ``key.csv``, other pictures, another order.
``items.csv`` has the sentences to grade; ``key.csv`` says afterwards what they were.

The grades: *true and telling* (what it says is seen in most pictures of the kind, and tells it from
the others that it names, or from most other kinds), *true but common*, *wrong* (something that it
says is not so of most of the pictures), *silent* (it says that no mark was found).
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).parent.parent))

from fieldguide.chapters.marks.sentences import NO_MARK
from fieldguide.guide import Guide

N_KINDS, N_OWN, N_ALIKE, TILE_PX, LINE_PX = 20, 12, 6, 104, 22
N_PER_SHEET = 4
N_LETTERS = 150  # of a line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("guides", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--out", type=Path, default=Path("out/mark_sheets"))
    parser.add_argument("--also", type=Path, help="CSV with the columns guide, kind, sentence")
    parser.add_argument("--again", type=Path, help="key.csv of an earlier sheet: its kinds")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    others: dict[tuple[str, str], str] = {}
    if arguments.also is not None:
        for row in read_rows(arguments.also):
            others[row["guide"], row["kind"]] = row["sentence"]
    items = []
    for folder in arguments.guides:
        guide = Guide.open(folder)
        names = [guide.kinds[int(k)].name for k in rng.permutation(len(guide.kinds))[:N_KINDS]]
        if arguments.again is not None:
            known = read_rows(arguments.again)
            names = sorted({row["kind"] for row in known if row["guide"] == folder.name})
        for name in names:
            found = guide.marks(name)
            assert found is not None, "build the guide with marks"
            named = [
                pair.other for pair in found.apart if f"Unlike {pair.shown}:" in found.sentence
            ]
            alike = [other for other, _ in guide.kind(name).look_alikes if other not in named]
            pictures = draw_pictures(guide, name, [*named, *alike][:2], rng)
            items.append((folder.name, guide, name, "now", found.sentence or NO_MARK, pictures))
            if (folder.name, name) in others:
                said = others[folder.name, name]
                items.append((folder.name, guide, name, "before", said, pictures))
    items = [items[i] for i in rng.permutation(len(items))]
    arguments.out.mkdir(parents=True, exist_ok=True)
    listed, key = [("item", "kind", "sentence")], [("item", "guide", "kind", "version", "sentence")]
    for number, (folder_name, guide, name, version, sentence, _) in enumerate(items, start=1):
        listed.append((str(number), guide.shown_name(name), sentence))
        key.append((str(number), folder_name, name, version, sentence))
    for file, rows in (("items.csv", listed), ("key.csv", key)):
        with open(arguments.out / file, "w", newline="", encoding="utf-8") as opened:
            csv.writer(opened).writerows(rows)
    for first in range(0, len(items), N_PER_SHEET):
        sheet = draw_sheet(items[first : first + N_PER_SHEET], first + 1)
        sheet.save(arguments.out / f"sheet_{first // N_PER_SHEET + 1:02d}.png")


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with open(file, newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def draw_pictures(
    guide: Guide, name: str, alike: list[str], rng: np.random.Generator
) -> list[tuple[str, list[Image.Image]]]:
    """Return pictures of a kind and of look-alikes, drawn at random."""
    drawn = []
    for kind, n in ((name, N_OWN), *((other, N_ALIKE) for other in alike)):
        ids = rng.permutation(np.sort(guide.members(kind=kind)))[:n]
        tiles = []
        for specimen in guide.specimens(ids):
            with Image.open(guide.folder / specimen.thumbnail) as image:
                tile = image.convert("RGB")
            tile.thumbnail((TILE_PX - 2, TILE_PX - 2))
            tiles.append(tile)
        drawn.append((guide.shown_name(kind), tiles))
    return drawn


def draw_sheet(items: list[tuple], first: int) -> Image.Image:
    """Return one sheet: a sentence, the pictures of the kind, those of its look-alikes."""
    height = 4 * LINE_PX + 2 * TILE_PX
    sheet = Image.new("RGB", (N_OWN * TILE_PX, height * len(items)), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for row, (_, guide, name, _, sentence, pictures) in enumerate(items):
        top = row * height
        said = f"{first + row}.  {guide.shown_name(name)}: {sentence}"
        draw.text((4, top + 2), said[:N_LETTERS], fill="black", font=font)
        draw.text((4, top + LINE_PX), said[N_LETTERS:], fill="black", font=font)
        own, *alike = pictures
        top += 2 * LINE_PX
        for column, tile in enumerate(own[1]):
            sheet.paste(tile, (column * TILE_PX, top))
        for side, (other, tiles) in enumerate(alike):
            left = side * N_ALIKE * TILE_PX
            draw.text((left + 4, top + TILE_PX), other, fill="grey", font=font)
            for column, tile in enumerate(tiles):
                sheet.paste(tile, (left + column * TILE_PX, top + TILE_PX + LINE_PX))
    return sheet


if __name__ == "__main__":
    main()
