"""Does the second look pay, and do the outlines tell the truth?

Four questions, each beside what there was before:

- accuracy: the default key (one-vs-all, C = 1) on rows of the first look, of parts of the second,
  and of both, ten splits: CUB-200 with 10 photographs of each species to learn from, Caltech-101
  (no background class) with half of each kind;
- boxes: subjects found on CUB-200 without labels, beside a box in the middle, by CorLoc at .5, and
  whether their strongest point is on the bird; species of even numbers had a part in the choice
  of the finder's settings, the others are reported;
- outlines, on photographs of those other species: how many lie at least three quarters inside the
  bird's box, on photographs that the key has learnt from (as plates show) and on new ones; pointing
  (the strongest place of the key's own field on the bird), the share of its positive energy there;
  deletion: the part is blurred, and the margin falls by how much, beside a random part of the
  subject of the same area (round, anywhere in the subject; or where the outline is not);
- drawn specimens: the share of an outline inside the marks that were drawn, new pictures, beside
  region selection on the same cells, each kind against 32 pictures of others;
- cost: images per second of a build with both looks and with the first alone (photographs of
  CUB-200, no marks), and a picture identified with all explanations, warm, one thread.

What was seen of a picture is kept in ``out/bench/second_look``: a run that was stopped goes on.
"""

from __future__ import annotations

import csv
import shutil
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageFilter
from scipy import ndimage
from threadpoolctl import threadpool_limits

from benchmarks.problems.region_selection import interval
from benchmarks.problems.region_specimens import cover
from fieldguide._parallel import map_in_order
from fieldguide.chapters import OPTIONAL
from fieldguide.datasets import load_specimens
from fieldguide.errors import FieldguideWarning
from fieldguide.features import FeatureStack, first_look, sum_shares
from fieldguide.features.network import WHOLE, Network, find_area
from fieldguide.guide import Guide
from fieldguide.guide.row_weights import choose_weight, draw_labelled, reweigh
from fieldguide.identify import OneVsAllClassifier, contrast_classes
from fieldguide.locate import RegionSelector
from fieldguide.metrics import corloc

if "places" in OPTIONAL:
    from fieldguide.chapters.places.chapter import Seen
    from fieldguide.chapters.places.evidence import (
        Field,
        fit_canvas,
        outline_field,
        outline_subject,
        share_margin,
    )

CELLS = Path("out/bench/second_look")
VERSION = 2  # raise it when pictures are seen in another way
PARTS = {
    "first look": ("deep",),
    "first + closer": ("deep", "closer"),
    "first + subject": ("deep", "subject"),
    "first + peaks": ("deep", "peaks"),
    "first + quarters": ("deep", "quarters"),
    "first + closer + peaks": ("deep", "closer", "peaks"),
    "the same + subject": ("deep", "closer", "peaks", "subject"),
    "the same + quarters, at 0.5": ("deep", "closer", "peaks", "subject", "quarters"),
    "both looks": ("deep", "closer", "peaks", "subject", "quarters"),
}
WEIGHED = "both looks"  # the quarters count as the rows to learn from say, as in a guide
N_SPLITS, N_TRAIN, N_OUTLINES = 10, 10, 300
N_JOBS = 2


class Photographs(NamedTuple):
    """A data set with what both looks saw of each picture."""

    paths: list[Path]
    target: np.ndarray
    rows: np.ndarray  # (n, 4 × 1280 + 4 × 256): deep, closer, peaks, subject, quarters
    boxes: np.ndarray  # (n, 4) of subjects, in shares
    points: np.ndarray  # (n, 2) where subjects are strongest, in shares
    truth: np.ndarray | None  # (n, 4) true boxes, in shares
    stack: FeatureStack


def run(data: Path | None, *, tiny: bool) -> dict:
    if "places" not in OPTIONAL:
        return {"skipped": "it needs the chapter 'places'"}
    result: dict[str, Any] = {"specimens": judge_specimens(1 if tiny else 5, 3 if tiny else 32)}
    if data is not None and not tiny:
        with threadpool_limits(1):
            birds, objects = load_birds(data / "cub200"), load_objects(data / "caltech101")
            result["accuracy"] = {
                "CUB-200": judge_rows(birds, N_TRAIN, by_kind=False),
                "Caltech-101": judge_rows(objects, None, by_kind=True),
            }
            result["boxes"] = judge_boxes(birds)
            result["outlines"] = judge_outlines(birds)
            result["cost"] = judge_cost(data / "cub200" / "images", 1700)
    return result


def load_birds(folder: Path) -> Photographs:
    with open(folder / "images.csv", newline="", encoding="utf-8") as file:
        entries = list(csv.DictReader(file))
    paths = [folder / "images" / entry["path"] for entry in entries]
    corners = np.array([[float(e[k]) for k in ("x", "y", "width", "height")] for e in entries])
    corners[:, 2:] += corners[:, :2]
    sizes = np.array([Image.open(path).size for path in paths])
    return look_at(paths, "cub200", corners / np.tile(sizes, 2))


def load_objects(folder: Path) -> Photographs:
    every = sorted(folder.rglob("*.jpg"))
    return look_at([p for p in every if p.parent.name != "BACKGROUND_Google"], "caltech101", None)


def look_at(paths: list[Path], name: str, truth: np.ndarray | None) -> Photographs:
    """Return what both looks see of pictures; from the folder of cells if it is known."""
    network = Network()
    stack = FeatureStack("looks", n_jobs=N_JOBS).fit(paths, network=network)
    file = CELLS / f"{name}-{VERSION}.npz"
    if not file.exists():

        def see(path: Path) -> tuple[np.ndarray, ...]:
            image = Image.open(path).convert("RGB")
            looks = stack.look_closer(image, network)
            assert looks is not None
            outputs = network.run(network.crop(image)[None])
            row = stack.describe([image], outputs.embedding, [looks])[0]
            return row, np.array(looks.subject.box), np.array(looks.subject.point)

        seen = list(map_in_order(see, paths, n_jobs=N_JOBS))
        rows, boxes, points = (np.stack(part) for part in zip(*seen, strict=True))
        CELLS.mkdir(parents=True, exist_ok=True)
        np.savez(file, rows=rows, boxes=boxes, points=points)
    known = np.load(file)
    kinds = [path.parent.name for path in paths]
    target = np.unique(kinds, return_inverse=True)[1]
    parts = (known[part] for part in ("rows", "boxes", "points"))
    return Photographs(paths, target, *parts, truth, stack)


def split(target: np.ndarray, n_train: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to learn from and others: ``n_train`` of each kind, or half of it."""
    rng = np.random.default_rng(seed)
    old, new = [], []
    for kind in np.unique(target):
        members = rng.permutation(np.flatnonzero(target == kind))
        cut = n_train or len(members) // 2
        old.append(members[:cut])
        new.append(members[cut:])
    return np.concatenate(old), np.concatenate(new)


def judge_rows(photographs: Photographs, n_train: int | None, *, by_kind: bool) -> dict:
    """Return the accuracy of the default key with each set of parts in each split."""
    columns = photographs.stack.split_columns(photographs.rows.shape[1])
    accuracy: dict[str, list[float]] = {}
    for name, parts in PARTS.items():
        X = np.concatenate([photographs.rows[:, columns[part]] for part in parts], axis=1)
        X = np.ascontiguousarray(X / np.linalg.norm(X, axis=1, keepdims=True), dtype=np.float32)
        for seed in range(N_SPLITS):
            old, new = split(photographs.target, n_train, seed)
            own = weigh_rows(photographs, X, old) if name == WEIGHED else X
            key = OneVsAllClassifier(probability=False, n_jobs=N_JOBS)
            answer = key.fit(own[old], photographs.target[old]).predict(own[new])
            is_right = answer == photographs.target[new]
            if by_kind:
                n = np.bincount(photographs.target[new])
                right = np.bincount(photographs.target[new], is_right, len(n))
                value = float((right[n > 0] / n[n > 0]).mean())
            else:
                value = float(is_right.mean())
            accuracy.setdefault(name, []).append(value)
    return accuracy


def weigh_rows(photographs: Photographs, X: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return rows in which the quarters count what the rows to learn from say."""
    before = photographs.stack.quarters_weight
    quarters = photographs.stack.split_columns(X.shape[1])["quarters"]
    drawn, y = draw_labelled([str(kind) for kind in photographs.target[old]], 0)
    weight = choose_weight(X[old[drawn]], quarters, before, y, seed=0)
    return reweigh(X, quarters, before, weight)


def judge_boxes(birds: Photographs) -> dict:
    """Return CorLoc and pointing of subjects and of a box in the middle, odd species."""
    assert birds.truth is not None
    is_told = birds.target % 2 == 1
    truth = birds.truth[is_told]
    middle = np.tile([0.2, 0.2, 0.8, 0.8], (len(truth), 1))
    found = {"middle": (middle, np.full((len(truth), 2), 0.5))}
    found["subject"] = (birds.boxes[is_told], birds.points[is_told])
    return {
        name: {
            "corloc": corloc([t[None] for t in truth], [b[None] for b in boxes]),
            "pointing": float(is_inside(points, truth).mean()),
        }
        for name, (boxes, points) in found.items()
    }


def judge_outlines(birds: Photographs) -> dict:
    """Return how true the outlines of photographs of odd species are."""
    assert birds.truth is not None
    network = Network()
    old, new = split(birds.target, N_TRAIN, 0)
    key = OneVsAllClassifier(n_jobs=N_JOBS).fit(birds.rows[old], birds.target[old])
    rng = np.random.default_rng(1)
    figures: dict[str, list[dict]] = {}
    for name, rows in (("learnt", old), ("new", new)):
        told = rng.permutation(rows[birds.target[rows] % 2 == 1])[:N_OUTLINES]

        def judge(i: int, name: str = name) -> dict:
            image = Image.open(birds.paths[i]).convert("RGB")
            winner = int(birds.target[i]) if name == "learnt" else None
            assert birds.truth is not None
            return judge_outline(image, birds, key, network, birds.truth[i], winner, int(i))

        figures[name] = list(map_in_order(judge, told, n_jobs=N_JOBS))
    return figures


def judge_outline(
    image: Image.Image,
    birds: Photographs,
    key: Any,
    network: Network,
    truth: np.ndarray,
    winner: int | None,
    seed: int,
) -> dict:
    """Return the figures of the outline of one photograph."""
    seen = see(image, birds.stack, network)
    contrast = contrast_classes(key, seen.row, winner)
    assert contrast is not None
    columns = birds.stack.split_columns(seen.row.shape[1])
    looks = seen.looks.as_parts() | {
        "deep": first_look(seen.first, find_area(WHOLE["whole"], *image.size))
    }
    field = share_margin(contrast, seen.row, columns, looks, image.size)
    placed = sum(part.value for part in field.parts if part.is_placed)
    masks, _ = outline_field(field, seen.looks.subject, image)
    outline = np.any(masks, axis=0) if masks else np.zeros(field.values.shape, dtype=bool)
    height, width = outline.shape
    in_box = cover((truth * np.tile([width, height], 2))[None], outline.shape)
    cell = max(outline.shape) / 12  # of the map; the field has no finer places
    smooth = ndimage.gaussian_filter(field.values, cell / 2, mode="nearest")
    y, x = np.unravel_index(smooth.argmax(), smooth.shape)
    energy = np.maximum(field.values, 0)
    found: dict[str, Any] = {
        "has_outline": bool(outline.any()),
        "inside": float((outline & in_box).sum() / max(outline.sum(), 1)),
        "area": float(outline.mean()),
        "pointing": bool(in_box[y, x]),
        "energy": float(energy[in_box].sum() / max(energy.sum(), 1e-12)),
        "not_exact": abs(float(field.values.sum()) - placed),
    }
    if outline.any():
        small = np.asarray(image.resize((width, height)))
        subject = outline_subject(seen.looks.subject, small) | outline
        before = contrast.evaluate(seen.row)
        n = int(outline.sum())
        others = subject & ~outline
        masks = [outline, draw_part(subject, n, seed)]
        masks.append(draw_part(others if others.sum() >= n else subject, n, seed))
        seen_blurred = (see(blur(image, mask), birds.stack, network) for mask in masks)
        falls = [before - contrast.evaluate(each.row) for each in seen_blurred]
        found |= dict(zip(("fall", "fall_random", "fall_elsewhere"), falls, strict=True))
    return found


def see(image: Image.Image, stack: FeatureStack, network: Network) -> Seen:
    first = network.run(network.crop(image)[None], cells=True)
    looks = stack.look_closer(image, network)
    assert looks is not None
    return Seen(image, first, looks, stack.describe([image], first.embedding, [looks]))


def draw_part(subject: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return a random part of the subject of ``n`` pixels: those nearest to a random one."""
    pixels = np.argwhere(subject)
    middle = pixels[np.random.default_rng(seed).integers(len(pixels))]
    nearest = np.argsort(((pixels - middle) ** 2).sum(axis=1), kind="stable")[:n]
    part = np.zeros(subject.shape, dtype=bool)
    part[tuple(pixels[nearest].T)] = True
    return part


def blur(image: Image.Image, mask: np.ndarray) -> Image.Image:
    """Return the picture with a part blurred beyond recognition."""
    radius = max(image.size) / 12
    soft = Image.fromarray((mask * 255).astype(np.uint8)).resize(image.size)
    soft = soft.filter(ImageFilter.GaussianBlur(max(image.size) / 100))
    return Image.composite(image.filter(ImageFilter.GaussianBlur(radius)), image, soft)


def judge_specimens(n_splits: int, n_kinds: int) -> dict[str, dict[str, list[float]]]:
    """Return the share of outlines inside true marks and creatures, of new drawn pictures."""
    figures: dict[str, dict[str, list[float]]] = {}
    network = Network()
    for seed in range(n_splits):
        drawn = load_specimens(n_per_kind=9, size_px=160, random_state=1000 + seed)
        chosen = np.flatnonzero(drawn.target < n_kinds)
        is_new = chosen >= 6 * len(drawn.target_names)
        images = [Image.fromarray(drawn.images[i]) for i in chosen]
        stack = FeatureStack("looks", n_jobs=N_JOBS).fit(images, network=network)
        look = partial(see, stack=stack, network=network)
        seen = list(map_in_order(look, images, n_jobs=N_JOBS))
        X = np.concatenate([each.row for each in seen])
        target = drawn.target[chosen]
        key = OneVsAllClassifier(n_jobs=N_JOBS).fit(X[~is_new], target[~is_new])
        selectors = select_cells(seen, target, is_new, seed)
        shares: dict[str, list[list[float]]] = {}
        for k in np.flatnonzero(is_new):
            marks = np.array([mark[1:] for mark in drawn.marks[chosen[k]]]).reshape(-1, 4)
            if not len(marks):
                continue
            contrast = contrast_classes(key, X[k], int(np.searchsorted(key.classes_, target[k])))
            assert contrast is not None
            looks = seen[k].looks.as_parts()
            area = find_area(WHOLE["whole"], *images[k].size)
            looks["deep"] = first_look(seen[k].first, area)
            columns = stack.split_columns(X.shape[1])
            fields = {"key": share_margin(contrast, X[k], columns, looks, images[k].size)}
            scores = selectors[target[k]].instance_scores([list_cells(seen[k])])[0]
            grid = scores.reshape(looks["closer"].cells.shape[:2])
            shape = fit_canvas(images[k].size)
            field = sum_shares([(looks["closer"].area, grid - grid.min())], shape)
            fields["region selection on its cells"] = Field(field, field, ())
            creature = drawn.boxes[chosen[k]][None].astype(float)
            for name, told in fields.items():
                masks, _ = outline_field(told, seen[k].looks.subject, images[k])
                if masks:
                    mask, scale = np.any(masks, axis=0), shape[1] / images[k].width
                    parts = [cover(boxes * scale, shape) for boxes in (marks, creature)]
                    inside = [float((mask & part).sum() / mask.sum()) for part in parts]
                    shares.setdefault(name, []).append([*inside, float(mask.mean())])
        for name, rows in shares.items():
            told_of = figures.setdefault(name, {"in marks": [], "in creature": [], "area": []})
            for column, value in zip(told_of, np.mean(rows, axis=0), strict=True):
                told_of[column].append(float(value))
    return figures


def list_cells(seen: Seen) -> np.ndarray:
    """Return the cells of the closer look as a bag, rows of length 1."""
    assert seen.looks.closer.cells is not None
    rows = seen.looks.closer.cells[0].reshape(-1, seen.looks.closer.cells.shape[-1])
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def select_cells(
    seen: list[Seen], target: np.ndarray, is_new: np.ndarray, seed: int
) -> dict[int, RegionSelector]:
    """Return what region selection learns of each kind, from its pictures and 32 of others."""
    rng = np.random.default_rng(seed)

    def learn(kind: int) -> RegionSelector:
        own = np.flatnonzero(~is_new & (target == kind))
        bags = [list_cells(seen[i]) for i in (*own, *others[kind])]
        label = np.repeat([1, -1], [len(own), len(others[kind])])
        selector = RegionSelector("linear", C=8 / len(own), C_negative=1.0, cap=1 / 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FieldguideWarning)
            return selector.fit(bags, label)

    kinds = np.unique(target).tolist()
    others = {k: rng.permutation(np.flatnonzero(~is_new & (target != k)))[:32] for k in kinds}
    return dict(zip(kinds, map_in_order(learn, kinds, n_jobs=N_JOBS), strict=True))


def judge_cost(folder: Path, n_pictures: int) -> dict[str, float]:
    """Return images per second of builds, and seconds of an identified picture."""
    rates: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        (root / "pictures").mkdir()
        paths = sorted(folder.rglob("*.jpg"))
        for k, path in enumerate(paths[:: max(1, len(paths) // n_pictures)][:n_pictures]):
            kind = root / "pictures" / f"kind {k % 20}"
            kind.mkdir(exist_ok=True)
            shutil.copy(path, kind / path.name)
        for features in ("deep", "looks"):
            started = time.perf_counter()
            guide = Guide.build(
                root / "pictures",
                root / features,
                features=features,
                marks=False,
                places=False,
                n_jobs=N_JOBS,
            )
            rates[features] = guide.n_specimens / (time.perf_counter() - started)
        guide = Guide.build(root / "pictures", root / "looks", features="looks", n_jobs=N_JOBS)
        guide.identify(paths[:3])
        started = time.perf_counter()
        guide.identify(paths[10:30])
        rates["seconds of an answer"] = (time.perf_counter() - started) / 20
    return rates


def is_inside(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    return ((points >= boxes[:, :2]) & (points <= boxes[:, 2:])).all(axis=1)


def table(result: dict) -> str:
    lines = []
    if "accuracy" in result:
        lines += ["| rows | CUB-200, accuracy | gain | Caltech-101, mean over kinds | gain |"]
        lines += ["|---|---|---|---|---|"]
        for name in PARTS:
            cells = [name]
            for figures in result["accuracy"].values():
                gains = np.subtract(figures[name], figures["first look"]).tolist()
                gain = "" if name == "first look" else interval(gains)
                cells += [interval(figures[name]), gain]
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", "| CUB-200, odd species | CorLoc at .5 | pointing |", "|---|---|---|"]
        for name, told in result["boxes"].items():
            lines.append(f"| {name} | {told['corloc']:.3f} | {told['pointing']:.3f} |")
        columns = ("¾ in the box", "pointing", "energy in the box", "area", "no outline")
        lines += ["", f"| outlines | {' | '.join(columns)} | fall | random | elsewhere | ratio |"]
        lines += ["|---|" + "---|" * (len(columns) + 4)]
        for name, rows in result["outlines"].items():
            drawn = [row for row in rows if row["has_outline"]]
            values = [
                np.mean([row["inside"] >= 0.75 for row in drawn]),
                np.mean([row["pointing"] for row in rows]),
                np.mean([row["energy"] for row in rows]),
                np.mean([row["area"] for row in drawn]),
                np.mean([not row["has_outline"] for row in rows]),
            ]
            deleted = [row for row in rows if "fall" in row]
            for key in ("fall", "fall_random", "fall_elsewhere"):
                values.append(np.mean([row[key] for row in deleted]))
            shown = " | ".join(f"{value:.3f}" for value in values)
            ratios = f"{values[-3] / values[-2]:.2f}; {values[-3] / values[-1]:.2f}"
            lines.append(f"| {name} | {shown} | {ratios} ({len(deleted)} pictures) |")
        lines.append("")
    if "cost" in result:
        cost = result["cost"]
        lines.append(
            f"A build: {cost['deep']:.1f} images/s with the first look, {cost['looks']:.1f} with "
            f"both, {cost['looks'] / cost['deep']:.2f} of it; one picture identified and explained "
            f"in {cost['seconds of an answer']:.3f} s."
        )
        lines.append("")
    lines += ["| drawn specimens | in marks | in creature | area |", "|---|---|---|---|"]
    for name, told in result["specimens"].items():
        lines.append(f"| {name} | {' | '.join(map(interval, told.values()))} |")
    return "\n".join(lines)
