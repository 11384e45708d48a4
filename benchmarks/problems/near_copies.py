"""Are near-copies found, and nothing else?

A part of the pictures of a collection gets a copy each: resized (to between 40 and 80 % of its
sides), cropped (by 5 % of the side at each of the four margins), recompressed (JPEG of quality 25
to 50), flipped, or all of these. The originals are shrunk and compressed as a guide keeps them, and
pairs are looked for as a build does.

- recall: of each way, the share of copies that are found with their original;
- precision: of the pairs found that hold a planted copy, those with its own original. A collection
  may itself have a picture twice: a pair of the copy and the twin of its original is no error, and
  is left out. Twins are told by another measure than ours: seen at 32 px, in grey, as they are or
  mirrored, they differ by 8 of 255 on average at most. "With twins" has those pairs as errors;
- other pairs: of two originals, found besides. Caltech-101 has many pictures twice; CUB-200 and the
  drawn specimens should have none.

The limits were chosen on seed 7; the seeds here are 0 and 1.

    python benchmarks/run.py --only near_copies --data DIR
"""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fieldguide.chapters.check.copies import find_copies
from fieldguide.chapters.check.small import Small, measure_picture
from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.features.network import Network
from fieldguide.guide.measure import KEEP_SMALL_PX

N_SEEDS, N_PLANTED, BATCH = 2, 400, 16
CELLS = Path("out/bench/seen")
TWIN_PX, TWIN_MOST = 32, 8.0


def run(data: Path | None, *, tiny: bool) -> dict:
    rows: list[dict[str, Any]] = []
    network = Network()
    for name, images in open_collections(data, tiny=tiny).items():
        known = look_once(name, images, network, tiny=tiny)
        for seed in range(1 if tiny else N_SEEDS):
            rng = np.random.default_rng(seed)
            drawn = rng.permutation(len(images))[: 5 if tiny else min(N_PLANTED, len(images) // 2)]
            ways = [list(WAYS)[m % len(WAYS)] for m in range(len(drawn))]
            planted = [WAYS[way](images[i], rng) for i, way in zip(drawn, ways, strict=True)]
            embedding = np.concatenate([known, embed(planted, network)])
            small = shrink([*images, *planted])
            started = time.process_time()
            names = [str(i) for i in range(len(embedding))]  # no two files are the same
            found = find_copies(small, embedding, names)
            seconds = time.process_time() - started
            figures = judge(found.pairs, drawn, ways, images)
            rows.append({"data": name, "seed": seed, "seconds": seconds, **figures})
    return {"rows": rows}


def open_collections(data: Path | None, *, tiny: bool) -> dict[str, list[Image.Image]]:
    """Return the pictures of the collections at hand."""
    drawn = load_specimens(n_per_kind=1 if tiny else 24)
    sets = {"specimens": [Image.fromarray(image) for image in drawn.images]}
    if data is not None and not tiny:
        for name, folder in (("Caltech-101", "caltech101"), ("CUB-200", "cub200/images")):
            items = Collection.from_folder(data / folder).items
            sets[name] = [Image.open(data / folder / i.path).convert("RGB") for i in items]
    return sets


def look_once(name: str, images: list[Image.Image], network: Network, *, tiny: bool) -> np.ndarray:
    """Return the embedding of each picture; kept between runs."""
    file = CELLS / f"once_{name}.npy"
    if not tiny and file.exists():
        return np.load(file)
    embedding = embed(images, network)
    if not tiny:
        CELLS.mkdir(parents=True, exist_ok=True)
        np.save(file, embedding)
    return embedding


def embed(images: list[Image.Image], network: Network) -> np.ndarray:
    """Return what the network says of pictures."""
    blocks = [images[i : i + BATCH] for i in range(0, len(images), BATCH)]
    return np.concatenate([network.see(block).embedding for block in blocks])


def shrink(images: list[Image.Image]) -> Small:
    """Return the small forms of pictures as a guide keeps them."""
    rows = [measure_picture(_compress(image, 86, KEEP_SMALL_PX)) for image in images]
    pixels, sharpness, brightest = zip(*rows, strict=True)
    return Small(np.array(pixels), np.array(sharpness), np.array(brightest))


def judge(
    pairs: np.ndarray, drawn: np.ndarray, ways: list[str], images: list[Image.Image]
) -> dict[str, Any]:
    """Return recall of each way, precision, and the number of other pairs."""
    n = len(images)
    found = {(int(i), int(j)) for i, j in pairs}
    own = [(int(i), n + m) for m, i in enumerate(drawn)]
    right = [pair in found for pair in own]
    with_copy = [pair for pair in found if pair[1] >= n]

    def find_original(i: int) -> int:
        return i if i < n else int(drawn[i - n])

    wrong = [
        [find_original(i) for i in pair]
        for pair in with_copy
        if find_original(pair[0]) != find_original(pair[1])
    ]
    n_twins = sum(are_twins(images[i], images[j]) for i, j in wrong)
    recall = {
        way: float(np.mean([hit for hit, each in zip(right, ways, strict=True) if each == way]))
        for way in WAYS
    }
    return {
        "recall": recall,
        "all": float(np.mean(right)),
        "precision": sum(right) / max(len(with_copy) - n_twins, 1),
        "with_twins": sum(right) / max(len(with_copy), 1),
        "others": len(found) - len(with_copy),
        "n": n,
    }


def are_twins(one: Image.Image, other: Image.Image) -> bool:
    """Whether two pictures of a collection are the same, by their pixels alone."""
    a, b = (
        np.asarray(image.convert("L").resize((TWIN_PX, TWIN_PX)), dtype=np.float64)
        for image in (one, other)
    )
    return min(np.abs(a - b).mean(), np.abs(a - b[:, ::-1]).mean()) <= TWIN_MOST


def _resize(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    share = rng.uniform(0.4, 0.8)
    size = (max(8, round(image.width * share)), max(8, round(image.height * share)))
    return image.resize(size, Image.Resampling.LANCZOS)


def _crop(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    x, y = round(0.05 * image.width), round(0.05 * image.height)
    return image.crop((x, y, image.width - x, image.height - y))


def _recompress(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    return _compress(image, int(rng.integers(25, 51)), max(image.size)).convert("RGB")


def _flip(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def _do_all(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    return _recompress(_flip(_crop(_resize(image, rng), rng), rng), rng)


def _compress(image: Image.Image, quality: int, most_px: int) -> Image.Image:
    small, buffer = image.copy(), io.BytesIO()
    small.thumbnail((most_px, most_px), Image.Resampling.LANCZOS)
    small.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer)


WAYS: dict[str, Callable[[Image.Image, np.random.Generator], Image.Image]] = {
    "resized": _resize,
    "cropped": _crop,
    "recompressed": _recompress,
    "flipped": _flip,
    "all of these": _do_all,
}


def table(result: dict) -> str:
    lines = [
        f"| data | {' | '.join(WAYS)} | recall | precision | with twins | other pairs | seconds |",
        f"|{'---|' * (len(WAYS) + 6)}",
    ]
    for name in dict.fromkeys(row["data"] for row in result["rows"]):
        own = [row for row in result["rows"] if row["data"] == name]
        ways = [np.mean([row["recall"][way] for row in own]) for way in WAYS]
        rest = [np.mean([row[f] for row in own]) for f in ("all", "precision", "with_twins")]
        cells = " | ".join(f"{value:.3f}" for value in (*ways, *rest))
        others = np.mean([row["others"] for row in own])
        seconds = np.mean([row["seconds"] for row in own])
        lines.append(f"| {name} ({own[0]['n']:,}) | {cells} | {others:.0f} | {seconds:.1f} |")
    return "\n".join(lines)
