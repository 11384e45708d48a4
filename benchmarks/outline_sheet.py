"""Draw outlines on photographs that the key has not seen, drawn at random, for a person to grade.

    python benchmarks/outline_sheet.py --data DIR --seed 19 --out out/sheet.png [--plates]

Caltech-101, half of each kind to learn from (split 0 of ``second_look``), 40 of the others. The
yellow box is the subject, the outline what tells the kind that is named from the likeliest other,
as *identify* shows, or with ``--plates`` from all others, as plates do.
The names of the pictures are printed in the order of the sheet. ``docs/grades/`` holds the grades
that were given; the photographs are not ours to show.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.problems.second_look import N_JOBS, load_objects, see, split
from fieldguide.chapters.places.chapter import lay_over, list_contrasts
from fieldguide.features.network import Network
from fieldguide.identify import OneVsAllClassifier

TILE_PX, N_COLUMNS, N_PICTURES = 300, 8, 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--plates", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out/sheet.png"))
    arguments = parser.parse_args()
    folder, network = arguments.data / "caltech101", Network()
    photographs = load_objects(folder)
    old, new = split(photographs.target, None, 0)
    kinds = np.array([path.parent.name for path in photographs.paths])
    key = OneVsAllClassifier(n_jobs=N_JOBS).fit(photographs.rows[old], kinds[old])
    chosen = np.random.default_rng(arguments.seed).permutation(new)[:N_PICTURES]
    n_rows = -(-N_PICTURES // N_COLUMNS)
    sheet = Image.new("RGB", (N_COLUMNS * TILE_PX, n_rows * TILE_PX), "white")
    for k, i in enumerate(chosen):
        image = Image.open(photographs.paths[i]).convert("RGB")
        seen = see(image, photographs.stack, network)
        name = str(key.predict(seen.row)[0])
        of_all, of_two = list_contrasts(key, seen.row, name)
        contrast = of_all if arguments.plates else of_two
        (located,) = lay_over(seen, [contrast], key, photographs.stack, network)
        assert located.subject is not None
        scale = TILE_PX / max(image.size)
        width, height = (round(side * scale) for side in image.size)
        tile = image.resize((width, height))
        draw = ImageDraw.Draw(tile)
        x0, y0, x1, y1 = located.subject.box
        draw.rectangle((x0 * width, y0 * height, x1 * width, y1 * height), outline="yellow")
        for place in located.places:
            for ring in place.outline:
                points = [(x * width, y * height) for x, y in (*ring, ring[0])]
                draw.line(points, fill="black", width=5)
                draw.line(points, fill="cyan", width=2)
        sheet.paste(tile, (k % N_COLUMNS * TILE_PX, k // N_COLUMNS * TILE_PX))
        path = photographs.paths[i].relative_to(folder)
        print(f"{k + 1},{path},{name},{located.against}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(arguments.out)


if __name__ == "__main__":
    main()
