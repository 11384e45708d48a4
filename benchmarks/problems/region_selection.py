"""Where the bird is, learned from labels of whole pictures: region selection beside its rivals.

| source | positives | negatives |
|---|---|---|
| birds | photographs of CUB-200 | background and birdless classes of Caltech-101 |
| pasted | the boxes of such birds on background photographs | other objects on such photographs |
| drawn | drawn specimens of birds | drawn specimens of all else |

Only the judge sees boxes. In "birds" the surroundings of a bird tell it from a negative as well as
the bird does; in "pasted" they cannot. "drawn" needs no collection. A split draws pictures to
train on and as many to judge by, half of each positive. Words are found in the training pictures of
each split; deep regions pool the network's last map. C, and the cap where it is chosen, come from
the training pictures, by the average precision of held-out ones. With words, positive bags and
negative regions weigh the same in sum ("balanced"); with deep regions, each has the same C ("equal
C"). "linear" has the words' histograms as rows of length 1.

AP is over boxes of connected regions, or over one mask for each picture, at an overlap of .5 and
.4; CorLoc is the share of new birds whose best box overlaps by half. Means over splits ± half a
95 % interval of Student's t; the ratio is that of the means.

"contrast" takes the regions whose score, from the least of the picture on, times their contrast
with the border of the picture (`fieldguide.locate.contrast`) is at least 0.3 of the best one's,
instead of those above 0, and ranks boxes by the score of their picture; 0.3 was chosen of .1 to .6
on split 90.

Every cell (source, segmentation, split, method) is saved in ``out/bench/regions`` as soon as it is
known, and not computed again.

    python benchmarks/run.py --only region_selection --data DIR
    REGIONS_SPLITS=5 REGIONS_N=50 REGIONS_JOBS=2 REGIONS_SOURCE=birds REGIONS_CUT=slic …
    REGIONS_METHOD='(MILBoost|MI-SVM, linear|(linear|chi2), cap 1/3)$'
"""

import json
import os
import re
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from PIL import Image
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from benchmarks import printed
from benchmarks.curves import AXES, LEVELS, draw_curves, read_curve
from fieldguide._files import write_json
from fieldguide.datasets import load_caltech, load_cub200, load_specimens
from fieldguide.errors import FieldguideWarning
from fieldguide.features import BagOfWords
from fieldguide.features.network import Network
from fieldguide.locate import (
    MISVM,
    MILBoost,
    RegionSelector,
    border_contrast,
    find_objects,
    region_features,
    region_words,
    superpixels,
)
from fieldguide.locate.contrast import stand_out
from fieldguide.metrics import corloc, localization_curve

CELLS = Path("out/bench/regions")
PICTURES = Path("docs/pictures")
VERSION = 2  # raise it when a cell holds something else
CUTS = ("slic", "felzenszwalb", "hierarchical")
BIRDS = ("emu", "flamingo", "flamingo_head", "ibis", "pigeon", "rooster")
MAP_PX = 320
SOURCES = ("pasted", "birds", "drawn")
FAIR: dict[str, Any] = {"C": "cv", "C_negative": "balanced"}
METHODS: dict[str, Any] = {
    "whole image": None,
    "centre box": None,
    "MILBoost": lambda: MILBoost(n_rounds=100),
    "MI-SVM, linear": lambda: MISVM("linear", **FAIR),
    "MI-SVM, chi2": lambda: MISVM("chi2", **FAIR),
    "region selection, linear, printed": lambda: RegionSelector(
        "linear", C="cv", **printed.REGIONS
    ),
    "region selection, linear, cap 1": lambda: RegionSelector("linear", cap=1.0, **FAIR),
    "region selection, linear, cap 1/3": lambda: RegionSelector("linear", **FAIR),
    "region selection, chi2, printed": lambda: RegionSelector("chi2", C="cv", **printed.REGIONS),
    "region selection, chi2, cap 1": lambda: RegionSelector("chi2", cap=1.0, **FAIR),
    "region selection, chi2, cap 1/3": lambda: RegionSelector("chi2", **FAIR),
    "region selection, chi2, cap chosen": lambda: RegionSelector("chi2", cap="cv", **FAIR),
    "region selection, chi2, cap 1/3, equal C": lambda: RegionSelector("chi2", C="cv"),
    "MI-SVM, deep": lambda: MISVM("linear", C="cv"),
    "region selection, deep, printed": lambda: RegionSelector("linear", C="cv", **printed.REGIONS),
    "region selection, deep, cap 1/3": lambda: RegionSelector("linear", C="cv"),
    "region selection, deep, cap chosen": lambda: RegionSelector("linear", C="cv", cap="cv"),
    "region selection, deep, cap 1/3, balanced": lambda: RegionSelector("linear", **FAIR),
    "border contrast alone": None,
    "MI-SVM, deep, contrast": lambda: MISVM("linear", C="cv"),
    "region selection, deep, cap 1/3, contrast": lambda: RegionSelector("linear", C="cv"),
    "MI-SVM, chi2, contrast": lambda: MISVM("chi2", **FAIR),
    "region selection, chi2, cap 1/3, contrast": lambda: RegionSelector("chi2", **FAIR),
}
CUT_OFF = float(os.environ.get("REGIONS_CUT_OFF", "0.3"))
# The other segmentations are compared by these alone.
FEW = (
    "MI-SVM, chi2",
    "region selection, chi2, cap 1/3",
    "region selection, deep, cap 1/3",
)
CURVES = (  # as the document draws them
    "region selection, chi2, cap 1/3",
    "region selection, linear, cap 1/3",
    "MI-SVM, linear",
    "MILBoost",
)
COLUMNS = ("box 0.5", "box 0.4", "mask 0.5", "mask 0.4", "corloc")


def run(data: Path | None, *, tiny: bool) -> dict:
    first = int(os.environ.get("REGIONS_FIRST", "0"))
    n_splits, n, n_jobs = (
        int(os.environ.get(f"REGIONS_{what}", default))
        for what, default in (("SPLITS", "5"), ("N", "50"), ("JOBS", "1"))
    )
    if tiny:
        n_splits, n = 1, 4
    wanted = {what: os.environ.get(f"REGIONS_{what}", "") for what in ("SOURCE", "CUT", "METHOD")}
    if data is None and not tiny and wanted["SOURCE"] != "drawn":
        return {"skipped": "it needs --data with caltech101 and cub200, or REGIONS_SOURCE=drawn"}
    cuts = [cut for cut in CUTS[: 1 if tiny else None] if wanted["CUT"] in cut]
    sources = ("drawn",) if data is None or tiny else SOURCES
    places = [
        (data, source, split, n, cuts, wanted["METHOD"])
        for split in range(first, first + n_splits)
        for source in sources
        if wanted["SOURCE"] in source
    ]
    parts = Parallel(n_jobs)(delayed(measure_split)(*place) for place in places)
    cells = [cell for part in parts for cell in part]
    draw(cells, CELLS.with_name("regions-tiny") / "pictures" if tiny else PICTURES)
    return {"n": n, "n_splits": n_splits, "cells": cells}


def draw(cells: list[dict], folder: Path) -> None:
    """Write the curves of Figure 5: means over splits and sources of photographs, if any."""
    cells = [cell for cell in cells if cell["cut"] == CUTS[0]]
    cells = [cell for cell in cells if cell["source"] != "drawn"] or cells
    for overlap in (0.5, 0.4):
        curves = {}
        for method in CURVES:
            own = [c[f"curve {overlap}"] for c in cells if c["method"] == method]
            if own:
                means = np.mean(own, axis=0).tolist()
                curves[method] = list(zip(LEVELS.tolist(), means, strict=True))
        if curves:
            draw_curves(folder / f"regions_{10 * overlap:.0f}.svg", curves, *AXES)


def measure_split(
    data: Path | None, source: str, split: int, n: int, cuts: list[str], wanted: str
) -> list[dict]:
    """Return the cells of a split, those that are not yet known measured first."""
    paths = {
        (cut, name): CELLS
        / f"{source}-{n}-{VERSION}"
        / f"{cut}-{split}"
        / f"{name.replace('/', '_')}.json"
        for cut in cuts
        for name in (METHODS if cut == CUTS[0] else FEW)
        if re.search(wanted, name)
    }
    missing = [place for place, path in paths.items() if not path.exists()]
    if missing:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", FieldguideWarning)  # gaps are in the cells
            pictures = load_pictures(data, source, split, n)
            describe = make_describer(pictures)
            for cut, name in missing:
                kind = next((k for k in ("deep", "linear") if k in name), "words")
                regions, bags = describe(cut, kind)
                cell = measure(name, pictures, regions, bags)
                place = {"source": source, "cut": cut, "split": split, "method": name}
                write_json(paths[cut, name], {**place, **cell})
    return [json.loads(path.read_text()) for path in paths.values()]


def load_pictures(data: Path | None, source: str, split: int, n: int) -> dict[str, Any]:
    """Return 4n pictures: n birds and n others to train on, then as many to judge by."""
    if data is None or source == "drawn":
        positive, negative = draw_pictures(split, n)
    else:
        positive, negative = load_photographs(data, source, split, n)
    images, boxes = [], []
    for half in (slice(0, n), slice(n, 2 * n)):
        images += [image for image, _ in positive[half]] + negative[half]
        boxes += [box for _, box in positive[half]] + [np.empty((0, 4))] * n
    label = np.tile(np.repeat([1, -1], n), 2)
    return {"images": images, "boxes": boxes, "label": label, "n_train": 2 * n}


def draw_pictures(split: int, n: int) -> tuple[list[tuple[np.ndarray, np.ndarray]], list]:
    """Return 2n drawn birds with their boxes, and 2n other specimens."""
    drawn = load_specimens(n_per_kind=-(-n // 4), random_state=100 + split)  # 8 kinds are birds
    rng = np.random.default_rng(100 + split)
    is_bird = np.array([drawn.taxonomy[name][0] == "birds" for name in drawn.target_names])
    some, others = (
        rng.permutation(np.flatnonzero(is_bird[drawn.target] == wanted))[: 2 * n]
        for wanted in (True, False)
    )
    positive = [(drawn.images[i], drawn.boxes[i : i + 1].astype(float)) for i in some]
    return positive, [drawn.images[i] for i in others]


def load_photographs(
    data: Path, source: str, split: int, n: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list]:
    """Return 2n photographs of birds with their boxes, and 2n others."""
    rng = np.random.default_rng(100 + split)
    birds = load_cub200(data / "cub200")
    others = load_caltech(data / "caltech101", background=True)
    names = np.array(others.target_names)[others.target]
    is_back = names == others.target_names[-1]
    chosen = rng.choice(len(birds.images), 2 * n, replace=False)
    back = rng.permutation(np.flatnonzero(is_back))
    rest = rng.choice(np.flatnonzero(~is_back & ~np.isin(names, BIRDS)), 2 * n, replace=False)

    def bird(i: int) -> Image.Image:
        return birds.images.picture(int(i))[0].image

    def other(i: int) -> Image.Image:
        return others.images.picture(int(i))[0].image

    if source == "pasted":
        # Few grounds: both sides share them, training and new pictures do not.
        grounds = [rng.choice(half, (2, n)) for half in np.array_split(back, 2)]
        under_birds, under_others = np.concatenate(grounds, axis=1)
        positive = [
            paste(other(ground), bird(i).crop(tuple(birds.boxes[i])), rng)
            for i, ground in zip(chosen, under_birds, strict=True)
        ]
        negative = [
            paste(other(ground), other(i), rng)[0]
            for i, ground in zip(rest, under_others, strict=True)
        ]
    else:
        positive = [(np.asarray(bird(i)), birds.boxes[i : i + 1]) for i in chosen]
        negative = [  # every part has both
            np.asarray(other(i)) for i in np.stack([back[:n], rest[:n]], axis=1).ravel()
        ]
    return positive, negative


def paste(
    ground: Image.Image, piece: Image.Image, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a picture with a piece of a fifth to two fifths of its area, and the piece's box."""
    share = rng.uniform(0.2, 0.4)
    scale = (share * ground.width * ground.height / (piece.width * piece.height)) ** 0.5
    scale = min(scale, ground.width / piece.width, ground.height / piece.height)
    width, height = max(1, int(piece.width * scale)), max(1, int(piece.height * scale))
    x = int(rng.integers(ground.width - width + 1))
    y = int(rng.integers(ground.height - height + 1))
    whole = ground.copy()
    whole.paste(piece.resize((width, height), Image.Resampling.BICUBIC), (x, y))
    return np.asarray(whole), np.array([[x, y, x + width, y + height]], dtype=float)


def make_describer(pictures: dict[str, Any]) -> Callable[[str, str], tuple[list, list]]:
    """Return a function of segmentation and kind of row that gives regions and bags, each once."""
    images, n_train = pictures["images"], pictures["n_train"]

    @cache
    def cut_all(cut: str) -> list:
        return [superpixels(image, cut) for image in images]

    @cache
    def find_words() -> BagOfWords:
        return BagOfWords(
            n_words=500,
            pyramid=((1, 1),),
            bin_sizes_px=(3, 4, 6),
            n_images=n_train,
            n_descriptors=40_000,
            n_iter=10,
            n_examples=0,
        ).fit(images[:n_train])

    @cache
    def describe(cut: str, kind: str) -> tuple[list, list]:
        regions = cut_all(cut)
        if kind == "linear":  # rows of length 1, or C would mean another thing than for χ²
            return regions, [
                x / np.linalg.norm(x, axis=1)[:, None] for x in describe(cut, "words")[1]
            ]
        if kind == "words":
            bag = find_words()
            return regions, [region_words(x, r, bag) for x, r in zip(images, regions, strict=True)]
        network = Network()
        return regions, [
            region_features(x, r, network, size_px=MAP_PX)
            for x, r in zip(images, regions, strict=True)
        ]

    return describe


def measure(name: str, pictures: dict[str, Any], regions: list, bags: list) -> dict[str, Any]:
    """Return how well one method finds the birds of the new pictures."""
    n = pictures["n_train"]
    images, label, truth = pictures["images"][n:], pictures["label"], pictures["boxes"][n:]
    started = time.process_time()
    told: dict[str, Any] = {}
    if METHODS[name] is None and "contrast" not in name:
        share = 1.0 if name == "whole image" else 0.5**0.5  # half of the picture
        scores = [np.zeros(1)] * len(images)
        boxes = [centre_box(image, share) for image in images]
        masks = [draw_box(image, box) for image, box in zip(images, boxes, strict=True)]
        mask_scores = scores
    elif METHODS[name] is None:
        finds = find_standing(images, regions[n:], [np.ones(r.n_regions) for r in regions[n:]])
        boxes, scores = [f.boxes for f in finds], [np.zeros(len(f.boxes)) for f in finds]
        masks, mask_scores = [f.mask for f in finds], [[0.0]] * len(finds)
    else:
        model = METHODS[name]().fit(bags[:n], label[:n])
        told = {key: getattr(model, key, None) for key in ("C_", "cap_")}
        told["gap"] = float(getattr(model, "gaps_", np.zeros(1)).max())
        told["image AP"] = image_precision(label[n:], model.decision_function(bags[n:]))
        finds = [
            find_objects(r, f)
            for r, f in zip(regions[n:], model.instance_scores(bags[n:]), strict=True)
        ]
        boxes, scores = [f.boxes for f in finds], [f.box_scores for f in finds]
        masks, mask_scores = [f.mask for f in finds], [[f.score] for f in finds]
        if "contrast" in name:
            sure = model.decision_function(bags[n:])
            finds = find_standing(images, regions[n:], model.instance_scores(bags[n:]))
            boxes, masks = [f.boxes for f in finds], [f.mask for f in finds]
            # A picture's own score ranks its boxes among those of others, the contrast among them.
            scores = [s - 1e-3 * np.arange(len(b)) for s, b in zip(sure, boxes, strict=True)]
            mask_scores = [[s] for s in sure]
    seconds = time.process_time() - started
    curves = {
        f"{what} {overlap}": localization_curve(truth, found, sure, overlap=overlap)
        for what, found, sure in (("box", boxes, scores), ("mask", masks, mask_scores))
        for overlap in (0.5, 0.4)
    }
    return {
        **{key: curve.average_precision for key, curve in curves.items()},
        **{f"curve {x}": read_curve(curves[f"box {x}"]).tolist() for x in (0.5, 0.4)},
        "corloc": corloc(truth, boxes),
        "seconds": seconds,
        **told,
    }


def find_standing(images: list, regions: list, scores: list) -> list:
    """Return what scores high and stands out from the border of each picture."""
    finds = []
    for image, r, f in zip(images, regions, scores, strict=True):
        contrast = border_contrast(image, r)
        standing = contrast if np.ptp(f) == 0 else stand_out(f, contrast)
        finds.append(find_objects(r, standing, threshold=CUT_OFF * standing.max()))
    return finds


def image_precision(label: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(label, scores))


def centre_box(image: np.ndarray, share: float) -> np.ndarray:
    """Return the box in the middle of a picture, with so much of each side."""
    sides = np.array(image.shape[1::-1])
    return np.concatenate([sides * (1 - share) / 2, sides * (1 + share) / 2])[None]


def draw_box(image: np.ndarray, box: np.ndarray) -> np.ndarray:
    mask = np.zeros(image.shape[:2], bool)
    x0, y0, x1, y1 = box[0].round().astype(int)
    mask[y0:y1, x0:x1] = True
    return mask


def table(result: dict) -> str:
    lines = [
        f"{result['n']} + {result['n']} pictures to train on, as many new; "
        f"{result['n_splits']} splits."
    ]
    for source in SOURCES:
        mine = [cell for cell in result["cells"] if cell["source"] == source]
        if not mine:
            continue
        lines += [
            "",
            f"{source}:",
            "",
            "| segmentation | method | box AP .5 | box AP .4 | mask AP .5 | mask AP .4 | CorLoc "
            "| image AP | s |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        places = dict.fromkeys((cell["cut"], cell["method"]) for cell in mine)
        for cut, method in places:
            cells = [c for c in mine if (c["cut"], c["method"]) == (cut, method)]
            values = " | ".join(interval([c[key] for c in cells]) for key in COLUMNS)
            image = interval([c["image AP"] for c in cells]) if "image AP" in cells[0] else ""
            seconds = np.median([c["seconds"] for c in cells])
            lines.append(f"| {cut} | {method} | {values} | {image} | {seconds:.1f} |")
        for cut in CUTS:
            means = [
                np.mean([c["box 0.5"] for c in mine if (c["cut"], c["method"]) == (cut, method)])
                for method in ("region selection, chi2, cap 1/3", "MI-SVM, chi2")
                if (cut, method) in places
            ]
            if len(means) == 2 and means[1] > 0:
                lines += [
                    "",
                    f"{cut}: χ² with cap 1/3 over MI-SVM χ² in box AP at .5: "
                    f"{means[0] / means[1]:.2f}.",
                ]
    return "\n".join(lines)


def interval(values: list[float]) -> str:
    """Return mean ± half a 95 % interval."""
    n = len(values)
    if n < 2:
        return f"{values[0]:.3f}"
    half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5
    return f"{np.mean(values):.3f} ± {half:.3f}"
