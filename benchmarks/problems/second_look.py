"""Does the second look pay, and do the outlines tell the truth?

Four questions, each beside what there was before:

- accuracy: the default key (one-vs-all, C = 1) on rows of the first look, of parts of the second,
  and of both, ten splits: CUB-200 with 10 photographs of each species to learn from, Caltech-101
  (no background class) with half of each kind;
- boxes: subjects found on CUB-200 without labels, beside a box in the middle, by CorLoc at .5, and
  whether their strongest point is on the bird; species of even numbers had a part in the choice
  of the finder's settings, the others are reported;
- outlines, on photographs of those other species: how many lie at least three quarters inside the
  bird's box, on photographs that the key has learnt from (for their own kind against all others, as
  plates show) and on new ones (for the kind that is named against the likeliest other); pointing
  (the strongest place of the key's own field on the bird), the share of its positive energy there;
  deletion: the part is blurred, and the margin falls by how much, beside a random part of the
  subject of the same area (round, anywhere in the subject; or where the outline is not). The margin
  is that of the key, and for pictures that the key has learnt from also that of a key of the other
  four fifths, which has not seen them: a key knows its own pictures by every part of them;
- drawn specimens: the share of an outline inside the marks that were drawn, new pictures: of the
  kind against all others, as plates show it, and against the likeliest other; beside region
  selection on the same cells, each kind against 32 pictures of others;
- cost: images per second of a build with both looks and with the first alone (photographs of
  CUB-200, a quick tree, one-vs-all, no marks), and a picture identified with all explanations,
  warm, one thread.

What was seen of a picture, and every figure of a split, of 25 photographs or of a build, is kept in
``out/bench/second_look``: a run that was stopped goes on. Builds are timed in turn, in seconds of
the processor, so that other work on the machine counts for neither.
"""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageFilter
from scipy import ndimage
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.problems.region_selection import interval
from benchmarks.problems.region_specimens import cover
from benchmarks.seen import weigh_quarters
from fieldguide._files import write_json
from fieldguide._parallel import map_in_order
from fieldguide.chapters import OPTIONAL
from fieldguide.datasets import load_specimens
from fieldguide.errors import FieldguideWarning
from fieldguide.features import FeatureStack, first_look, sum_shares
from fieldguide.features.network import WHOLE, Network
from fieldguide.guide import Guide
from fieldguide.identify import (
    Contrast,
    OneVsAllClassifier,
    contrast_classes,
    contrast_others,
)
from fieldguide.locate import RegionSelector
from fieldguide.metrics import corloc

if "places" in OPTIONAL:
    from fieldguide.chapters.places.chapter import Seen
    from fieldguide.chapters.places.evidence import (
        Field,
        fit_canvas,
        lay_canvas,
        outline_field,
        share_margin,
    )

CELLS = Path("out/bench/second_look")
VERSION = 2  # raise it when pictures are seen in another way
OUTLINES = 3  # raise it when outlines are drawn in another way
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
WAYS = ("the key, against all others", "the key, against the likeliest other")
SHARES = ("in marks", "in creature", "area")  # of outlines on drawn specimens
N_JOBS = 2
# Of builds that are timed: all but the looks is quick, so that these are what is compared.
QUICK: dict[str, Any] = {
    "tree": "agglomerative",
    "key": "ova",
    "marks": False,
    "places": False,
    "n_jobs": N_JOBS,
}
N_BUILDS, N_ANSWERS, N_TOGETHER = 3, 20, 25


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
    if tiny:
        return {"specimens": sum_up([judge_specimens(0, 3)])}
    splits = [keep(f"specimens-{OUTLINES}-{k}", partial(judge_specimens, k, 32)) for k in range(5)]
    result: dict[str, Any] = {"specimens": sum_up(splits)}
    if data is not None:
        with threadpool_limits(1):
            birds, objects = load_birds(data / "cub200"), load_objects(data / "caltech101")
            result["accuracy"] = {
                "CUB-200": judge_rows(birds, "cub200", N_TRAIN, by_kind=False),
                "Caltech-101": judge_rows(objects, "caltech101", None, by_kind=True),
            }
            result["boxes"] = judge_boxes(birds)
            result["outlines"] = judge_outlines(birds)
            result["cost"] = judge_cost(data / "cub200" / "images", 1000)
    return result


def keep(name: str, measure: Callable[[], Any]) -> Any:
    """Return what was measured before under a name, or measure it now."""
    file = CELLS / f"{name}.json"
    if not file.exists():
        CELLS.mkdir(parents=True, exist_ok=True)
        write_json(file, measure())
    return json.loads(file.read_text())


def sum_up(splits: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, list[float]]]:
    """Return each figure of each method as a list over splits."""
    return {
        name: {column: [told[name][column] for told in splits] for column in figures}
        for name, figures in splits[0].items()
    }


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
            outputs = network.see([image])
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


def judge_rows(
    photographs: Photographs, data: str, n_train: int | None, *, by_kind: bool
) -> dict[str, list[float]]:
    """Return the accuracy of the default key with each set of parts in each split."""
    columns = photographs.stack.split_columns(photographs.rows.shape[1])
    accuracy: dict[str, list[float]] = {}
    for k, (name, parts) in enumerate(PARTS.items()):
        X = np.concatenate([photographs.rows[:, columns[part]] for part in parts], axis=1)
        X = np.ascontiguousarray(X / np.linalg.norm(X, axis=1, keepdims=True), dtype=np.float32)

        def judge(seed: int, X: np.ndarray = X, name: str = name) -> float:
            old, new = split(photographs.target, n_train, seed)
            own = weigh_rows(photographs, X, old) if name == WEIGHED else X
            key = OneVsAllClassifier(probability=False, n_jobs=N_JOBS)
            answer = key.fit(own[old], photographs.target[old]).predict(own[new])
            is_right = answer == photographs.target[new]
            if not by_kind:
                return float(is_right.mean())
            n = np.bincount(photographs.target[new])
            right = np.bincount(photographs.target[new], is_right, len(n))
            return float((right[n > 0] / n[n > 0]).mean())

        accuracy[name] = [
            keep(f"{data}-{VERSION}-rows-{k}-{seed}", partial(judge, seed))
            for seed in range(N_SPLITS)
        ]
    return accuracy


def weigh_rows(photographs: Photographs, X: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return rows in which the quarters count what the rows to learn from say."""
    kinds = [str(kind) for kind in photographs.target]
    return weigh_quarters(X, kinds, photographs.stack, old)[0]


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
    unseen = hold_out(birds, old)
    rng = np.random.default_rng(1)
    figures: dict[str, list[dict]] = {}
    for name, rows in (("learnt", old), ("new", new)):
        told = rng.permutation(rows[birds.target[rows] % 2 == 1])[:N_OUTLINES]

        def judge(i: int, name: str = name) -> dict:
            image = Image.open(birds.paths[i]).convert("RGB")
            seen = see(image, birds.stack, network)
            if name == "learnt":
                kind = int(birds.target[i])
                told, judges = [contrast_others(key, kind)], [contrast_others(unseen[i], kind)]
            else:
                of_two, judges = contrast_classes(key, seen.row), []
                assert of_two is not None
                told = [contrast_others(key, of_two.winner), of_two]
            assert birds.truth is not None
            return judge_outline(seen, birds.stack, told, judges, network, birds.truth[i], int(i))

        def judge_some(first: int, told: np.ndarray = told, judge: Any = judge) -> list[dict]:
            some = told[first : first + N_TOGETHER]
            return list(map_in_order(judge, some, n_jobs=N_JOBS))

        figures[name] = [
            figure
            for first in range(0, len(told), N_TOGETHER)
            for figure in keep(f"judged-{OUTLINES}-{name}-{first}", partial(judge_some, first))
        ]
    return figures


def hold_out(birds: Photographs, old: np.ndarray) -> dict[int, OneVsAllClassifier]:
    """Return, for each picture to learn from, a key of the other four fifths of them."""
    X, y = birds.rows[old], birds.target[old]
    keys: dict[int, OneVsAllClassifier] = {}
    for known, rest in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        key = OneVsAllClassifier(probability=False, n_jobs=N_JOBS).fit(X[known], y[known])
        keys |= dict.fromkeys(old[rest].tolist(), key)
    return keys


def judge_outline(
    seen: Seen,
    stack: FeatureStack,
    told: list[Contrast],
    judges: list[Contrast],
    network: Network,
    truth: np.ndarray,
    seed: int,
) -> dict:
    """Return the figures of the outline of one photograph.

    What the last function that is told adds is outlined; it and the judges say how far their margin
    falls.
    """
    image, judges = seen.image, [told[-1], *judges]
    columns = stack.split_columns(seen.row.shape[1])
    looks = seen.looks.as_parts() | {
        "deep": first_look(seen.first, network.find_area(WHOLE["whole"], *image.size))
    }
    field = share_margin(told[-1], told, seen.row, columns, looks, image.size, network)
    placed = sum(part.value for part in field.parts if part.is_placed)
    canvas = lay_canvas(image, seen.looks.subject)
    masks, _ = outline_field(field, canvas)
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
        subject = canvas.is_subject | outline
        n = int(outline.sum())
        others = subject & ~outline
        masks = [outline, draw_part(subject, n, seed)]
        masks.append(draw_part(others if others.sum() >= n else subject, n, seed))
        rows = [see(blur(image, mask), stack, network).row for mask in masks]
        found["falls"] = [
            [judge.evaluate(seen.row) - judge.evaluate(row) for row in rows] for judge in judges
        ]
    return found


def see(image: Image.Image, stack: FeatureStack, network: Network) -> Seen:
    first = network.see([image], cells=True)
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


def judge_specimens(seed: int, n_kinds: int) -> dict[str, dict[str, float]]:
    """Return the share of outlines inside true marks and creatures, of new drawn pictures."""
    network = Network()
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
        own = int(np.searchsorted(key.classes_, target[k]))
        of_all, of_two = contrast_others(key, own), contrast_classes(key, X[k], winner=own)
        assert of_two is not None
        looks = seen[k].looks.as_parts()
        area = network.find_area(WHOLE["whole"], *images[k].size)
        looks["deep"] = first_look(seen[k].first, area)
        columns = stack.split_columns(X.shape[1])
        told = [of_all, of_two]
        fields = {
            way: share_margin(each, told, X[k], columns, looks, images[k].size, network)
            for way, each in zip(WAYS, told, strict=True)
        }
        scores = selectors[target[k]].instance_scores([list_cells(seen[k])])[0]
        grid = scores.reshape(looks["closer"].cells.shape[:2])
        shape = fit_canvas(images[k].size)
        field = sum_shares([(looks["closer"].area, grid - grid.min())], shape)
        fields["region selection on its cells"] = Field(field, field, ())
        creature = drawn.boxes[chosen[k]][None].astype(float)
        canvas = lay_canvas(images[k], seen[k].looks.subject)
        for name, field in fields.items():
            masks, _ = outline_field(field, canvas)
            if masks:
                mask, scale = np.any(masks, axis=0), shape[1] / images[k].width
                parts = [cover(boxes * scale, shape) for boxes in (marks, creature)]
                inside = [float((mask & part).sum() / mask.sum()) for part in parts]
                shares.setdefault(name, []).append([*inside, float(mask.mean())])
    return {
        name: dict(zip(SHARES, np.mean(rows, axis=0).tolist(), strict=True))
        for name, rows in shares.items()
    }


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


def judge_cost(folder: Path, n_pictures: int) -> dict[str, list[float]]:
    """Return images per second of the processor of builds, and seconds of identified pictures."""
    paths = sorted(folder.rglob("*.jpg"))
    costs: dict[str, list[float]] = {"deep": [], "looks": []}
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        for k, path in enumerate(paths[:: max(1, len(paths) // n_pictures)][:n_pictures]):
            for name in ("pictures", "few") if k < 100 else ("pictures",):
                kind = root / name / f"kind {k % 20}"
                kind.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kind / path.name)

        def build(features: str, again: int) -> float:
            started = time.process_time()
            out = root / f"{features} {again}"
            guide = Guide.build(root / "pictures", out, features=features, **QUICK)
            return guide.n_specimens / (time.process_time() - started)

        def answer() -> list[float]:
            out = root / "answers"
            options = {**QUICK, "marks": True, "places": True}
            guide = Guide.build(root / "pictures", out, features="looks", **options)
            guide.identify(paths[:3])
            seconds = []
            for path in paths[10 : 10 + N_ANSWERS]:
                started = time.process_time()
                guide.identify([path])
                seconds.append(time.process_time() - started)
            return seconds

        for features in costs:  # what is compiled and opened once is not counted
            out = root / f"{features} first"
            Guide.build(root / "few", out, features=features, **QUICK)
        for again in range(N_BUILDS):
            for features, rates in costs.items():
                rates.append(keep(f"build-{features}-{again}", partial(build, features, again)))
        costs["seconds of an answer"] = keep(f"answers-{OUTLINES}", answer)
    return costs


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
            shown = " | ".join(f"{value:.3f}" for value in values)
            falls = np.array([row["falls"] for row in rows if "falls" in row])
            judges = ("", ", by a key that has not seen it")[: falls.shape[1]]
            for judge, fall in zip(judges, falls.mean(axis=0), strict=True):
                told = " | ".join(f"{value:.3f}" for value in fall)
                ratios = f"{fall[0] / fall[1]:.2f}; {fall[0] / fall[2]:.2f}"
                lines.append(f"| {name}{judge} | {shown} | {told} | {ratios} |")
        lines.append("")
    if "cost" in result:
        cost = {name: np.array(values) for name, values in result["cost"].items()}
        share = cost["looks"] / cost["deep"]
        lines.append(
            f"A build, images per second of the processor: {cost['deep'].mean():.1f} with the "
            f"first look, {cost['looks'].mean():.1f} with both, {share.mean():.2f} of it "
            f"({share.min():.2f} to {share.max():.2f}); one picture identified and explained in "
            f"{np.median(cost['seconds of an answer']):.3f} s of it."
        )
        lines.append("")
    lines += [f"| drawn specimens | {' | '.join(SHARES)} |", "|---|---|---|---|"]
    for name, told in result["specimens"].items():
        lines.append(f"| {name} | {' | '.join(interval(told[column]) for column in SHARES)} |")
    return "\n".join(lines)
