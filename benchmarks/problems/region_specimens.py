"""Where the field marks of drawn specimens are, learned from the names of kinds alone.

Every kind is told from 32 pictures of others, half of them of its family, by the deep regions of 6
of its pictures; it is then looked for in 3 new ones. The judge knows the boxes of the visible marks
(a crest, a wing bar, an eye stripe) and of the creature. Creatures of one family differ in nothing
but their marks.

| figure | what |
|---|---|
| in marks, in creature | share of the found pixels that lie in a box of a mark, of the creature |
| on a mark | share of pictures where the middle of the best region's box lies in a box of a mark |
| mark .5, creature .5 | share of pictures whose best box overlaps one of theirs by half |

"guide" is what a guide does: regions by score times contrast with the border of the picture, from
0.6 of the best on. A split is another drawing of the collection; means ± half a 95 % interval.

Every cell (split, method) is saved in ``out/bench/region_specimens`` and not computed again.

    python benchmarks/run.py --only region_specimens
"""

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import printed
from benchmarks.problems.region_selection import interval
from fieldguide._files import write_json
from fieldguide.datasets import load_specimens
from fieldguide.errors import FieldguideWarning
from fieldguide.features.network import Network
from fieldguide.locate import (
    MISVM,
    MILBoost,
    RegionSelector,
    border_contrast,
    find_objects,
    region_features,
    superpixels,
)
from fieldguide.locate.contrast import stand_out
from fieldguide.locate.finding import CUT_OFF
from fieldguide.metrics.localization import overlaps

CELLS = Path("out/bench/region_specimens")
N_TRAIN, N_NEW, N_NEGATIVE = 6, 3, 32
METHODS: dict[str, Any] = {
    "centre box": None,
    "MILBoost": lambda: MILBoost(n_rounds=20),
    "MI-SVM": lambda: MISVM("linear"),
    "region selection, printed": lambda: RegionSelector("linear", **printed.REGIONS),
    "region selection, cap 1/3": lambda: RegionSelector("linear"),
    "guide": "guide",
}
COLUMNS = ("in marks", "in creature", "on a mark", "mark .5", "creature .5", "area")


def run(data: Path | None, *, tiny: bool) -> dict:
    n_splits = 1 if tiny else int(os.environ.get("REGIONS_SPLITS", "5"))
    n_kinds = 3 if tiny else 32
    cells = []
    for split in range(n_splits):
        paths = {
            name: CELLS / f"{n_kinds}-{split}" / f"{name.replace('/', '_')}.json"
            for name in METHODS
        }
        missing = [name for name, path in paths.items() if not path.exists()]
        if missing:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore", FieldguideWarning)
                pictures = load_pictures(split, n_kinds)
                for name in missing:
                    cell = {"split": split, "method": name, **measure(name, pictures, split)}
                    write_json(paths[name], cell)
        cells += [json.loads(path.read_text()) for path in paths.values()]
    return {"n_splits": n_splits, "cells": cells}


def load_pictures(split: int, n_kinds: int) -> dict[str, Any]:
    drawn = load_specimens(n_per_kind=N_TRAIN + N_NEW, size_px=160, random_state=1000 + split)
    chosen = np.flatnonzero(drawn.target < n_kinds)
    images = [drawn.images[i] for i in chosen]
    regions = [superpixels(image) for image in images]
    network = Network()
    return {
        "regions": regions,
        "bags": [region_features(x, r, network) for x, r in zip(images, regions, strict=True)],
        "contrast": [border_contrast(x, r) for x, r in zip(images, regions, strict=True)],
        "target": drawn.target[chosen],
        "is_new": chosen >= N_TRAIN * len(drawn.target_names),
        "marks": [np.array([mark[1:] for mark in drawn.marks[i]]).reshape(-1, 4) for i in chosen],
        "boxes": drawn.boxes[chosen].astype(float),
        "family": [drawn.taxonomy[name] for name in drawn.target_names],
    }


def measure(name: str, pictures: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the figures of one method over the new pictures with a visible mark."""
    started = time.process_time()
    target, is_new = pictures["target"], pictures["is_new"]
    rng = np.random.default_rng(seed)
    figures = []
    for k in np.unique(target):
        score = None if METHODS[name] is None else learn(METHODS[name], pictures, k, rng)
        for i in np.flatnonzero(is_new & (target == k)):
            if len(pictures["marks"][i]):
                figures.append(judge(pictures, i, find(name, score, pictures, i)))
    means = np.mean(figures, axis=0).tolist()
    return {**dict(zip(COLUMNS, means, strict=True)), "seconds": time.process_time() - started}


def learn(make: Any, pictures: dict[str, Any], k: int, rng: np.random.Generator) -> Any:
    """Return the function of regions of one kind."""
    target, family, bags = pictures["target"], pictures["family"], pictures["bags"]
    is_old = ~pictures["is_new"]
    own = np.flatnonzero(is_old & (target == k))
    is_alike = np.array([family[j] == family[k] and j != k for j in target])
    alike = rng.permutation(np.flatnonzero(is_old & is_alike))[: N_NEGATIVE // 2]
    rest = rng.permutation(np.flatnonzero(is_old & ~is_alike & (target != k)))
    others = np.concatenate([alike, rest])[:N_NEGATIVE]
    label = np.repeat([1, -1], [len(own), len(others)])
    if make == "guide":
        # As guides looked for marks before their key told where its answers come from.
        selector = RegionSelector("linear", C=8 / len(own), C_negative=1.0, cap=1 / 3)
        model = selector.fit([bags[i] for i in (*own, *others)], label)
    else:
        model = make().fit([bags[i] for i in (*own, *others)], label)
    return lambda rows: model.instance_scores([rows])[0]


def find(name: str, score: Any, pictures: dict[str, Any], i: int) -> Any:
    """Return (mask, best box, box of the best region)."""
    regions = pictures["regions"][i]
    height, width = regions.labels.shape
    if score is None:
        side = 0.5**0.5
        box = np.array([width, height] * 2) * np.array([1 - side, 1 - side, 1 + side, 1 + side]) / 2
        mask = np.zeros((height, width), bool)
        x0, y0, x1, y1 = box.round().astype(int)
        mask[y0:y1, x0:x1] = True
        return mask, box, box
    scores = score(pictures["bags"][i])
    threshold = 0.0
    if name == "guide":
        scores = stand_out(scores, pictures["contrast"][i])
        threshold = CUT_OFF * scores.max() - 1e-12
    found = find_objects(regions, scores, threshold=threshold)
    return found.mask, found.boxes[0].astype(float), regions.boxes[scores.argmax()].astype(float)


def judge(pictures: dict[str, Any], i: int, found: Any) -> list[float]:
    mask, box, best = found
    marks, creature = pictures["marks"][i], pictures["boxes"][i : i + 1]
    x, y = (best[0] + best[2]) / 2, (best[1] + best[3]) / 2
    is_hit = (marks[:, 0] <= x) & (x < marks[:, 2]) & (marks[:, 1] <= y) & (y < marks[:, 3])
    return [
        float((mask & cover(marks, mask.shape)).sum() / mask.sum()),
        float((mask & cover(creature, mask.shape)).sum() / mask.sum()),
        float(is_hit.any()),
        float(overlaps(box[None], marks).max() >= 0.5),
        float(overlaps(box[None], creature).max() >= 0.5),
        float(mask.mean()),
    ]


def cover(boxes: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the pixels whose middle lies in one of the boxes."""
    y, x = np.arange(shape[0])[:, None] + 0.5, np.arange(shape[1]) + 0.5
    inside = np.zeros(shape, bool)
    for x0, y0, x1, y1 in boxes:
        inside |= (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
    return inside


def table(result: dict) -> str:
    lines = [
        f"{N_TRAIN} pictures of a kind to learn from, {N_NEW} new; {result['n_splits']} splits.",
        "",
        f"| method | {' | '.join(COLUMNS)} | s |",
        "|---|" + "---|" * (len(COLUMNS) + 1),
    ]
    for name in METHODS:
        cells = [cell for cell in result["cells"] if cell["method"] == name]
        values = " | ".join(interval([cell[key] for cell in cells]) for key in COLUMNS)
        lines.append(f"| {name} | {values} | {np.median([c['seconds'] for c in cells]):.1f} |")
    return "\n".join(lines)
