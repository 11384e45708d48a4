"""Draw branches of trees with a sample of their pictures, for a person to grade their names.

    python benchmarks/branch_sheet.py GUIDE [GUIDE …] --seed 20 --out out/branch_sheets
    python benchmarks/branch_sheet.py --data DIR --seed 41

Of each guide, 60 branches drawn at random and 12 pictures of each, here or below. With ``--data``
the trees are those that guides of Caltech-101, CUB-200 and drawn specimens have, once with the
names of folders as kinds and once without any; what was seen of the pictures is that of
``benchmarks/problems/guide_tree.py``. The branches of all trees are shuffled: who grades does not
know which tree a branch is of. ``items.csv`` has the names to grade; ``key.csv`` says afterwards
what they were. Of each branch the number of pictures is asked of which the name is true; "like A"
is true of a picture that looks like A; where A is a picture without a kind, it stands last in its
line, framed. ``docs/grades/`` holds the grades that were given; most photographs are not ours to
show.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.problems.guide_tree import gather, look_at_collections
from benchmarks.seen import N_JOBS, Seen
from fieldguide.guide import Guide
from fieldguide.guide.naming import LIKE
from fieldguide.guide.trees import grow_tree
from fieldguide.metrics import ancestor_matrix

N_BRANCHES, N_PICTURES, TILE_PX, LINE_PX = 60, 12, 110, 26
N_PER_SHEET = 10


class NamedTree(NamedTuple):
    """A tree whose branches have names, and pictures."""

    name: str
    words: list[tuple[str, ...]]  # of each branch, the root first
    sentences: list[str]
    members: Callable[[int], np.ndarray]  # of a branch, here or below
    show: Callable[[int], tuple[str, Image.Image]]  # the path and the picture of a specimen
    patterns: dict[int, int]  # of a branch that is "like" a picture: which


class Item(NamedTuple):
    """A branch that was drawn, and the specimens that stand for it."""

    tree: NamedTree
    branch: int
    specimens: np.ndarray

    @property
    def name(self) -> str:
        return ", ".join(self.tree.words[self.branch])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("guides", type=Path, nargs="*")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("out/branch_sheets"))
    arguments = parser.parse_args()
    trees = [open_guide(folder) for folder in arguments.guides]
    if arguments.data is not None:
        trees += grow_trees(look_at_collections(arguments.data, tiny=False))
    if not trees:
        parser.error("give guides, or --data with the folder of collections")
    items = draw_items(trees, np.random.default_rng(arguments.seed))
    arguments.out.mkdir(parents=True, exist_ok=True)
    names, key = [("item", "name", "n_pictures")], [("item", "tree", "branch", "path", "pictures")]
    for number, item in enumerate(items, start=1):
        names.append((str(number), item.name, str(len(item.specimens))))
        pictures = "; ".join(item.tree.show(int(i))[0] for i in item.specimens)
        sentence = item.tree.sentences[item.branch]
        key.append((str(number), item.tree.name, str(item.branch), sentence, pictures))
    for file, rows in (("items.csv", names), ("key.csv", key)):
        with open(arguments.out / file, "w", newline="", encoding="utf-8") as opened:
            csv.writer(opened).writerows(rows)
    for first in range(0, len(items), N_PER_SHEET):
        sheet = draw_sheet(items[first : first + N_PER_SHEET], first + 1)
        sheet.save(arguments.out / f"sheet_{first // N_PER_SHEET + 1:02d}.png")


def open_guide(folder: Path) -> NamedTree:
    """Return the tree of a guide, with its thumbnails."""
    guide = Guide.open(folder)

    def show(i: int) -> tuple[str, Image.Image]:
        specimen = guide.specimens([i])[0]
        with Image.open(folder / specimen.thumbnail) as image:
            return specimen.path, image.convert("RGB")

    return NamedTree(
        folder.name,
        [branch.words for branch in guide.branches],
        [guide.sentence(b) for b in range(len(guide.branches))],
        lambda b: guide.members(branch=b),
        show,
        {},
    )


def grow_trees(collections: dict[str, Seen]) -> list[NamedTree]:
    """Return the trees that guides of some collections have, with kinds and without."""
    trees = []
    for name, seen in collections.items():
        for kinds, also in ((seen.kinds, "kinds"), ([None] * len(seen.kinds), "no kinds")):
            trees.append(grow_seen(f"{name}, {also}", seen, kinds))
    return trees


def grow_seen(name: str, seen: Seen, kinds: list[str | None]) -> NamedTree:
    numbered = seen._replace(stems=[str(i) for i in range(len(seen.kinds))])  # pictures by number
    tree = grow_tree(*gather(numbered, kinds), n_jobs=N_JOBS).described
    is_below = ancestor_matrix(tree.parent)[tree.labels] > 0

    def show(i: int) -> tuple[str, Image.Image]:
        source = seen.sources[i]
        if isinstance(source, Image.Image):
            return f"{seen.kinds[i]}/{seen.stems[i]}", source
        with Image.open(source) as image:
            return f"{source.parent.name}/{source.name}", image.convert("RGB")

    return NamedTree(
        name,
        list(tree.words),
        [tree.sentence(b) for b in range(len(tree.parent))],
        lambda b: np.flatnonzero(is_below[:, b]),
        show,
        find_patterns(tree.words),
    )


def find_patterns(words: Sequence[tuple[str, ...]]) -> dict[int, int]:
    """Return, of branches that are like a picture, its number, which is its name."""
    numbers = {b: said[0].removeprefix(LIKE) for b, said in enumerate(words) if said}
    return {b: int(number) for b, number in numbers.items() if number.isdecimal()}


def draw_items(trees: list[NamedTree], rng: np.random.Generator) -> list[Item]:
    """Return branches of all trees and pictures of each, all at random, shuffled."""
    items = []
    for tree in trees:
        for b in rng.permutation(len(tree.words) - 1)[:N_BRANCHES] + 1:
            some = rng.permutation(np.sort(tree.members(int(b))))[:N_PICTURES]
            items.append(Item(tree, int(b), some))
    return [items[i] for i in rng.permutation(len(items))]


def draw_sheet(items: list[Item], first: int) -> Image.Image:
    """Return one sheet: a line with the name, and below it the pictures, for each branch."""
    height = LINE_PX + TILE_PX
    sheet = Image.new("RGB", ((N_PICTURES + 1) * TILE_PX, height * len(items)), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(16)
    for row, item in enumerate(items):
        top = row * height
        draw.text((4, top + 3), f"{first + row}.  {item.name}", fill="black", font=font)
        shown = dict(enumerate(item.specimens))
        if item.branch in item.tree.patterns:
            shown[N_PICTURES] = item.tree.patterns[item.branch]
            corner = (N_PICTURES * TILE_PX, top + LINE_PX - 2)
            draw.rectangle((*corner, corner[0] + TILE_PX - 1, top + height - 1), outline="red")
        for column, i in shown.items():
            tile = item.tree.show(int(i))[1].copy()
            tile.thumbnail((TILE_PX - 4, TILE_PX - 4))
            sheet.paste(tile, (column * TILE_PX + 2, top + LINE_PX))
    return sheet


if __name__ == "__main__":
    main()
