"""Draw branches of guides with a sample of their pictures, for a person to grade their names.

    python benchmarks/branch_sheet.py GUIDE [GUIDE …] --seed 20 --out out/branch_sheets

Of each guide, 60 branches drawn at random and 12 pictures of each, here or below. The branches of
all guides are shuffled: who grades does not know which guide a branch is of. ``items.csv`` has the
names to grade; ``key.csv`` says afterwards what they were. Of each branch the number of pictures is
asked of which the name is true; "like A" is true of a picture that looks like A. ``docs/grades/``
holds the grades that were given; most photographs are not ours to show.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).parent.parent))

from fieldguide.guide import Guide

N_BRANCHES, N_PICTURES, TILE_PX, LINE_PX = 60, 12, 110, 26
N_PER_SHEET = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("guides", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("out/branch_sheets"))
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    items = []
    for folder in arguments.guides:
        guide = Guide.open(folder)
        drawn = rng.permutation(len(guide.branches) - 1)[:N_BRANCHES] + 1
        for b in drawn:
            members = np.sort(guide.members(branch=int(b)))
            some = rng.permutation(members)[:N_PICTURES]
            items.append((folder, guide, int(b), guide.specimens(some)))
    items = [items[i] for i in rng.permutation(len(items))]
    arguments.out.mkdir(parents=True, exist_ok=True)
    names, key = [("item", "name", "n_pictures")], [("item", "guide", "branch", "path", "pictures")]
    for number, (folder, guide, b, specimens) in enumerate(items, start=1):
        name = ", ".join(guide.branches[b].words)
        names.append((str(number), name, str(len(specimens))))
        pictures = "; ".join(specimen.path for specimen in specimens)
        key.append((str(number), folder.name, str(b), guide.sentence(b), pictures))
    for file, rows in (("items.csv", names), ("key.csv", key)):
        with open(arguments.out / file, "w", newline="", encoding="utf-8") as opened:
            csv.writer(opened).writerows(rows)
    for first in range(0, len(items), N_PER_SHEET):
        part = items[first : first + N_PER_SHEET]
        sheet = draw_sheet([(folder, guide, b, s) for folder, guide, b, s in part], first + 1)
        sheet.save(arguments.out / f"sheet_{first // N_PER_SHEET + 1:02d}.png")


def draw_sheet(items: list[tuple], first: int) -> Image.Image:
    """Return one sheet: a line with the name, and below it the pictures, for each branch."""
    height = LINE_PX + TILE_PX
    sheet = Image.new("RGB", (N_PICTURES * TILE_PX, height * len(items)), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(16)
    for row, (folder, guide, b, specimens) in enumerate(items):
        top = row * height
        name = ", ".join(guide.branches[b].words)
        draw.text((4, top + 3), f"{first + row}.  {name}", fill="black", font=font)
        for column, specimen in enumerate(specimens):
            with Image.open(folder / specimen.thumbnail) as image:
                tile = image.convert("RGB")
            tile.thumbnail((TILE_PX - 2, TILE_PX - 2))
            sheet.paste(tile, (column * TILE_PX, top + LINE_PX))
    return sheet


if __name__ == "__main__":
    main()
