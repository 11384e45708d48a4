"""Does a guide see that there is nothing to see?

CUB-200 has the box of each bird. The largest strip of a picture beside its box is a picture of the
same camera, light and place without the bird. A third of the pictures are the guide: its finder of
subjects learns from them, and the threshold is the confidence that 99 % of them exceed. Of the
others: the share of whole pictures that are taken for empty, and of strips, at least a quarter of
the picture, that are. Blank and noisy pictures beside.

    python benchmarks/run.py --only empty_pictures --data DIR
"""

import csv
from pathlib import Path

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide.features import FeatureStack
from fieldguide.features.network import Network
from fieldguide.guide.familiarity import find_least_subject

N_KNOWN, N_NEW, LEAST = 300, 300, 0.25


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or not (data / "cub200" / "images.csv").exists():
        return {"skipped": "it needs --data with cub200"}
    with (data / "cub200" / "images.csv").open() as file:
        listed = list(csv.DictReader(file))
    n_known, n_new = (100, 4) if tiny else (N_KNOWN, N_NEW)
    order = np.random.default_rng(0).permutation(len(listed))[: n_known + n_new]
    records = [listed[i] for i in order]
    images = [
        Image.open(data / "cub200" / "images" / record["path"]).convert("RGB") for record in records
    ]
    network = Network()
    stack = FeatureStack("looks", n_jobs=2).fit(images[:n_known], network=network)

    def find(image: Image.Image) -> float:
        looks = stack.look_closer(image, network)
        assert looks is not None
        return looks.subject.confidence

    def measure(some: list[Image.Image]) -> np.ndarray:
        return np.array(list(map_in_order(find, some, n_jobs=2)))

    least = find_least_subject(measure(images[:n_known]))
    assert least is not None
    strips = [cut_strip(i, r) for i, r in zip(images[n_known:], records[n_known:], strict=True)]
    whole = measure(images[n_known:])
    beside = measure([strip for strip in strips if strip is not None])
    blank = measure(draw_blank())
    return {
        "least": least,
        "whole": float((whole < least).mean()),
        "n_whole": len(whole),
        "strips": float((beside < least).mean()),
        "n_strips": len(beside),
        "blank": float((blank < least).mean()),
        "n_blank": len(blank),
    }


def cut_strip(image: Image.Image, record: dict[str, str]) -> Image.Image | None:
    """Return the largest strip beside the bird's box; None where it is a small one."""
    wide, high = image.size
    x, y, w, h = (float(record[name]) for name in ("x", "y", "width", "height"))
    strips = [(0, 0, x, high), (x + w, 0, wide, high), (0, 0, wide, y), (0, y + h, wide, high)]
    best = max(strips, key=lambda s: (s[2] - s[0]) * (s[3] - s[1]))
    if (best[2] - best[0]) * (best[3] - best[1]) < LEAST * wide * high:
        return None
    left, top, right, bottom = (round(side) for side in best)
    return image.crop((left, top, right, bottom))


def draw_blank() -> list[Image.Image]:
    """Return pictures of one grey, of noise, and from dark to light."""
    rng = np.random.default_rng(0)
    greys = [np.full((160, 160, 3), value) for value in (0, 128, 255)]
    noise = rng.integers(0, 256, (160, 160, 3))
    slope = np.broadcast_to(np.linspace(0, 255, 160)[None, :, None], (160, 160, 3))
    return [Image.fromarray(a.astype(np.uint8)) for a in (*greys, noise, slope)]


def table(result: dict) -> str:
    lines = ["| pictures | how many | taken for empty |", "|---|---|---|"]
    named = (("with a bird", "whole"), ("beside the bird", "strips"), ("blank, noise", "blank"))
    for name, key in named:
        lines.append(f"| {name} | {result[f'n_{key}']} | {result[key]:.1%} |")
    return "\n".join(lines)
