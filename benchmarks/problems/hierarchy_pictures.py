"""The first five levels of relaxed hierarchies with kernels, and what the two bounds say of them.

The three figures of the document, on twenty kinds of drawn specimens and, with ``--data``, of
Caltech-101: 15 pictures of each to train on and 10 others to test on.

| figure | features | kernel |
|---|---|---|
| 1 | 300 visual words in a pyramid of 1 and 2 × 2 cells | exponential χ² |
| 2 | GIST | RBF |
| 3 | HOG pyramid | intersection |

``docs/pictures/hierarchy_words.jpg``, ``_gist`` and ``_hog`` are those of the specimens; those of
the photographs lie in ``out/bench/hierarchy``. A card for each couplet: beside − and + a picture of
each kind that goes only that way, beside 0 of those that go both ways. Keys are as printed
(:mod:`benchmarks.printed`), ρ = 0.7, C by cross-validation. The bounds of Theorems 3.1 and 3.2 hold
only where no training row is on the wrong side of a node where its kind has one.

    python benchmarks/run.py --only hierarchy_pictures --data DIR
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from benchmarks import printed
from benchmarks.problems.attention_pictures import PICTURES
from fieldguide.datasets import load_caltech, load_specimens
from fieldguide.errors import FieldguideWarning
from fieldguide.features import BagOfWords, Gist, SpatialHOG
from fieldguide.identify import (
    LEFT,
    RIGHT,
    OneVsAllClassifier,
    RelaxedHierarchyClassifier,
    generalization_bound,
    relative_complexity,
)

OWN = Path("out/bench/hierarchy")
N_KINDS, N_TRAIN, N_TEST, N_LEVELS, RHO = 20, 15, 10, 5, 0.7
LOOKS: dict[str, tuple[Any, str]] = {
    "words": (lambda: BagOfWords(300, pyramid=((1, 1), (2, 2)), n_examples=0), "exponential_chi2"),
    "gist": (lambda: Gist(), "rbf"),
    "hog": (lambda: SpatialHOG(), "intersection"),
}
THUMB_PX, GAP_PX, SIGN_PX, A_ROW = 30, 3, 16, 7
CARD_PX = SIGN_PX + A_ROW * (THUMB_PX + GAP_PX)
COLUMN_PX = CARD_PX + 34
INK, RULE = "#2a251e", "#8d8068"


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = (3, 5, 1) if tiny else (N_KINDS, N_TRAIN, N_TEST)
    looks = dict(list(LOOKS.items())[-1:]) if tiny else LOOKS
    rows = draw_keys(*draw_specimens(*sizes), sizes, looks, None if tiny else PICTURES, "drawn")
    if data is not None and (data / "caltech101").is_dir() and not tiny:
        rows += draw_keys(*draw_photographs(data, *sizes), sizes, looks, OWN, "Caltech-101")
    return {"n_kinds": sizes[0], "rows": rows}


def draw_keys(
    images: list[np.ndarray],
    y: np.ndarray,
    sizes: tuple[int, int, int],
    looks: dict[str, tuple[Any, str]],
    folder: Path | None,
    source: str,
) -> list[dict]:
    """Train the key of each look, write its picture, and return what it is worth."""
    is_train = np.tile(np.arange(sizes[1] + sizes[2]) < sizes[1], sizes[0])
    rows = []
    for look, (make, kernel) in looks.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FieldguideWarning)
            feature = make().fit([x for x, own in zip(images, is_train, strict=True) if own])
            X = np.asarray(feature.transform(images), dtype=np.float64)
            own = {"kernel": kernel, "loss": "hinge"}
            flat = OneVsAllClassifier("cv", probability=False, **own).fit(X[is_train], y[is_train])
            key = RelaxedHierarchyClassifier(
                C=flat.C_, rho=RHO, **printed.RELAXED | {"kernel": kernel}
            ).fit(X[is_train], y[is_train])
        found = judge(key, flat, X, y, is_train)
        rows.append({"source": source, "look": look, "kernel": kernel, **found})
        first = [int(np.flatnonzero(is_train & (y == k))[0]) for k in range(sizes[0])]
        sheet = draw_levels(key.graph_, [images[i] for i in first])
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            sheet.save(folder / f"hierarchy_{look}.jpg", quality=80, optimize=True)
    return rows


def draw_specimens(n_kinds: int, n_train: int, n_test: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return drawn specimens kind by kind, and their kinds by number."""
    drawn = load_specimens(n_train + n_test)
    kinds = np.linspace(0, len(drawn.target_names) - 1, n_kinds).round().astype(int)
    rows = np.concatenate([np.flatnonzero(drawn.target == k) for k in kinds])
    images = [np.asarray(drawn.images[i]) for i in rows]
    return images, np.repeat(np.arange(n_kinds), n_train + n_test)


def draw_photographs(
    data: Path, n_kinds: int, n_train: int, n_test: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return photographs of kinds that have enough of them, and their kinds by number."""
    bunch, n_each = load_caltech(data / "caltech101"), n_train + n_test
    rng = np.random.default_rng(0)
    large = np.flatnonzero(np.bincount(bunch.target) >= n_each)
    kinds = np.sort(rng.choice(large, n_kinds, replace=False))
    rows = np.concatenate(
        [rng.permutation(np.flatnonzero(np.asarray(bunch.target) == k))[:n_each] for k in kinds]
    )
    images = [np.asarray(bunch.images.picture(int(i))[0].image) for i in rows]
    return images, np.repeat(np.arange(n_kinds), n_each)


def judge(key: Any, flat: Any, X: np.ndarray, y: np.ndarray, is_train: np.ndarray) -> dict:
    """Return accuracy, cost and size of a key, and its bounds."""
    bound = generalization_bound(key, X[is_train], y[is_train])
    valid = bound.per_class[bound.is_class_valid]
    return {
        "one-vs-all": float(flat.score(X[~is_train], y[~is_train])),
        "accuracy": float(key.score(X[~is_train], y[~is_train])),
        "relative cost": float(relative_complexity(key, X[~is_train]).mean()),
        "nodes": int(key.graph_.n_nodes),
        "holds": bool(bound.is_valid),
        "bound": float(bound.overall),
        "classes held": int(bound.is_class_valid.sum()),
        "least of a class": float(valid.min()) if len(valid) else None,
        "margins": [float(np.min(bound.node_margins)), float(np.median(bound.node_margins))],
    }


def draw_levels(graph: Any, faces: list[np.ndarray]) -> Image.Image:
    """Return the couplets of the first levels, a level in each column, joined by lines."""
    levels: list[list[int]] = [[int(graph.roots[0])]]
    for _ in range(N_LEVELS - 1):
        seen = {node for level in levels for node in level}
        below = [int(c) for n in levels[-1] for c in (graph.left[n], graph.right[n]) if c >= 0]
        levels.append([n for n in dict.fromkeys(below) if n not in seen])
    levels = [level for level in levels if level]
    cards = {node: draw_card(graph.colors[node], faces) for level in levels for node in level}
    heights = [sum(cards[n].height + 3 * GAP_PX for n in level) for level in levels]
    sheet = Image.new("RGB", (COLUMN_PX * len(levels), max(heights)), "white")
    pen, middle = ImageDraw.Draw(sheet), {}
    for column, level in enumerate(levels):
        y = (max(heights) - heights[column]) // 2
        for node in level:
            sheet.paste(cards[node], (column * COLUMN_PX, y))
            middle[node] = (column * COLUMN_PX, y + cards[node].height // 2)
            y += cards[node].height + 3 * GAP_PX
    for node, (x, y) in middle.items():
        for child in (int(graph.left[node]), int(graph.right[node])):
            if child in middle and middle[child][0] > x:
                pen.line((x + CARD_PX, y, middle[child][0] - 2, middle[child][1]), RULE)
    return sheet


def draw_card(colors: np.ndarray, faces: list[np.ndarray]) -> Image.Image:
    """Return one couplet: beside each sign a picture of every kind that goes that way."""
    parts = [
        (sign, [faces[k] for k in np.flatnonzero(colors == color)])
        for sign, color in (("-", LEFT), ("0", 0), ("+", RIGHT))
    ]
    parts = [(sign, shown) for sign, shown in parts if shown]
    n_lines = sum(-(-len(shown) // A_ROW) for _, shown in parts)
    card = Image.new("RGB", (CARD_PX, n_lines * (THUMB_PX + GAP_PX) + GAP_PX), "#f8f3e8")
    pen, line = ImageDraw.Draw(card), 0
    for sign, shown in parts:
        pen.text((5, GAP_PX + line * (THUMB_PX + GAP_PX) + 8), sign, fill=INK)
        for j, face in enumerate(shown):
            place = (
                SIGN_PX + (j % A_ROW) * (THUMB_PX + GAP_PX),
                GAP_PX + (line + j // A_ROW) * (THUMB_PX + GAP_PX),
            )
            card.paste(Image.fromarray(face).resize((THUMB_PX, THUMB_PX)), place)
        line += -(-len(shown) // A_ROW)
    pen.rectangle((0, 0, card.width - 1, card.height - 1), outline=RULE)
    return card


def table(result: dict) -> str:
    lines = [
        "| pictures | features, kernel | one-vs-all | as printed | RC | nodes "
        "| least, median margin | bound on the error | kinds whose bound holds | least of these |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        held = f"{row['bound']:.1e}" + ("" if row["holds"] else ", does not hold")
        least = "" if row["least of a class"] is None else f"{row['least of a class']:.1e}"
        lines.append(
            f"| {row['source']} | {row['look']}, {row['kernel']} | {row['one-vs-all']:.3f} "
            f"| {row['accuracy']:.3f} | {row['relative cost']:.3f} | {row['nodes']} "
            f"| {row['margins'][0]:.2g}, {row['margins'][1]:.2g} | {held} "
            f"| {row['classes held']} of {result['n_kinds']} | {least} |"
        )
    return "\n".join(lines)
