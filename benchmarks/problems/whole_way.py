"""From a folder to names and places, beside what one would write by hand with the same network.

- names: the first look's embeddings and scikit-learn's logistic regression, its C by three folds of
  the pictures that it learns from; beside both looks and the default key, as a guide has them.
  CUB-200 with 10 photographs of each species, Caltech-101 with half of each kind, the mean over
  kinds; splits that chose nothing here.
- places: the class activation map of the likeliest of the network's own classes (Zhou et al. 2016),
  at the two sizes at which a guide looks, cut at a fifth of its largest value, the box around the
  largest part; beside the subject that a guide finds and a box in the middle. CorLoc at .5 on the
  species with odd numbers: settings of the finder were chosen on the others.

    python benchmarks/run.py --only whole_way --data DIR
"""

import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks.problems.second_look import split
from fieldguide.datasets import load_specimens
from fieldguide.features import FeatureStack, fit_whole
from fieldguide.features.network import Network
from fieldguide.identify import OneVsAllClassifier
from fieldguide.metrics import corloc

KEEP = Path("out/bench/whole_way")
GRID = {"C": [1.0, 10.0, 100.0]}
SEEDS = (100, 101, 102, 103, 104)
CUT = 0.2
MIDDLE = [0.2, 0.2, 0.8, 0.8]


def run(data: Path | None, *, tiny: bool) -> dict[str, Any]:
    if tiny or data is None:
        drawn = load_specimens(4, 64)
        few = drawn.target < 3
        images = [Image.fromarray(each) for each in drawn.images[few]]
        seen = look(images)
        boxes = np.tile(MIDDLE, (len(images), 1))
        names = judge_names(seen, drawn.target[few], 2, SEEDS[:1])
        return {"names": {"drawn": names}, "places": judge_places(seen, boxes)}
    result: dict[str, Any] = {"names": {}}
    with threadpool_limits(1):
        birds = list_birds(data / "cub200")
        seen = keep_seen("cub200", [path for path, _ in birds])
        target = number([path.parent.name for path, _ in birds])
        result["names"]["CUB-200, 10 of each"] = judge_names(seen, target, 10, SEEDS)
        odd = target % 2 == 1
        told = np.array([box for _, box in birds])[odd]
        result["places"] = judge_places({k: v[odd] for k, v in seen.items()}, told)
        things = sorted(
            p for p in (data / "caltech101").rglob("*.jpg") if "BACKGROUND" not in str(p)
        )
        seen = keep_seen("caltech101", things)
        target = number([path.parent.name for path in things])
        result["names"]["Caltech-101, half"] = judge_names(seen, target, None, SEEDS)
    return result


def list_birds(folder: Path) -> list[tuple[Path, list[float]]]:
    """Return photographs with the boxes of their birds, in shares of the sides."""
    found = []
    with open(folder / "images.csv", newline="", encoding="utf-8") as file:
        for entry in csv.DictReader(file):
            path = folder / "images" / entry["path"]
            with Image.open(path) as image:
                width, height = image.size
            x, y, w, h = (float(entry[key]) for key in ("x", "y", "width", "height"))
            found.append((path, [x / width, y / height, (x + w) / width, (y + h) / height]))
    return found


def number(kinds: list[str]) -> np.ndarray:
    numbers: np.ndarray = np.unique(kinds, return_inverse=True)[1]
    return numbers


def keep_seen(name: str, paths: list[Path]) -> dict[str, np.ndarray]:
    """Return what is seen of pictures, and the seconds it took; from a file if it is known."""
    file = KEEP / f"{name}.npz"
    if not file.exists():
        seen = look([Image.open(path).convert("RGB") for path in paths])
        KEEP.mkdir(parents=True, exist_ok=True)
        np.savez(file, **seen)
    return dict(np.load(file))


def look(images: list[Image.Image]) -> dict[str, np.ndarray]:
    """Return embeddings, rows of both looks, boxes and seconds, one for each picture."""
    network = Network()
    few = images[:: -(-len(images) // 400)]
    stack = FeatureStack("looks", n_jobs=1, random_state=0).fit(few, network=network)
    assert network.head is not None
    weight = network.head[0]
    found: dict[str, list[Any]] = {
        name: [] for name in ("embedding", "rows", "subject", "first map", "closer map", "seconds")
    }
    for image in images:
        started = time.process_time()
        outputs = network.see([image], cells=True)
        first = time.process_time()
        (looks,) = stack.look_closer_all([image], network)
        row = stack.describe([image], outputs.embedding, [looks])[0]
        found["seconds"].append([first - started, time.process_time() - started])
        found["embedding"].append(outputs.embedding[0])
        found["rows"].append(row)
        found["subject"].append(looks.subject.box)
        assert outputs.cells is not None
        assert outputs.logits is not None
        pull = weight[:, int(outputs.logits[0].argmax())]
        area = network.find_area((0.0, 0.0, 1.0, 1.0), *image.size)
        found["first map"].append(find_box(outputs.cells[0] @ pull, area))
        pixels = np.asarray(image.resize(fit_whole(image.size, network), Image.Resampling.BICUBIC))
        found["closer map"].append(find_box(network.map(pixels[None])[0] @ pull, (0, 0, 1, 1)))
    return {name: np.array(values, dtype=np.float32) for name, values in found.items()}


def find_box(evidence: np.ndarray, area: tuple[float, ...]) -> list[float]:
    """Return the box, in shares of the picture, around the largest part that a map is high in.

    ``area`` is the part of the picture that the map is of.
    """
    fine = ndimage.zoom(evidence, 8, order=1, mode="nearest", grid_mode=True)
    parts, _ = ndimage.label(fine >= CUT * fine.max())
    largest = np.bincount(parts.ravel())[1:].argmax() + 1
    rows, columns = (np.flatnonzero((parts == largest).any(axis=axis)) for axis in (1, 0))
    x0, y0, x1, y1 = area
    left, right = columns[0] / fine.shape[1], (columns[-1] + 1) / fine.shape[1]
    top, bottom = rows[0] / fine.shape[0], (rows[-1] + 1) / fine.shape[0]
    width, height = x1 - x0, y1 - y0
    return [x0 + left * width, y0 + top * height, x0 + right * width, y0 + bottom * height]


def judge_names(
    seen: dict[str, np.ndarray], target: np.ndarray, n_train: int | None, seeds: tuple[int, ...]
) -> dict[str, dict[str, list[float]]]:
    """Return how often each way names new pictures rightly, the mean over kinds."""
    looks = seen["seconds"].mean(axis=0) * 1e3
    found: dict[str, dict[str, list[float]]] = {}
    for seed in seeds:
        old, new = split(target, n_train, seed)
        ways = {
            "embedding, logistic regression": (normalize(seen["embedding"]), None, looks[0]),
            "embedding, our key": (normalize(seen["embedding"]), OneVsAllClassifier(), looks[0]),
            "both looks, our key": (seen["rows"], OneVsAllClassifier(), looks[1]),
        }
        for name, (X, key, cost) in ways.items():
            started = time.process_time()
            if key is None:
                n_folds = min(3, int(np.bincount(target[old]).min()))
                key = GridSearchCV(LogisticRegression(max_iter=1000), GRID, cv=n_folds)
            answer = key.fit(X[old], target[old]).predict(X[new])
            seconds = time.process_time() - started
            n = np.bincount(target[new])
            right = np.bincount(target[new], answer == target[new], len(n))
            told = found.setdefault(name, {"right": [], "ms a picture": [], "training, s": []})
            told["right"].append(float((right[n > 0] / n[n > 0]).mean()))
            told["ms a picture"].append(float(cost))
            told["training, s"].append(seconds)
    return found


def judge_places(seen: dict[str, np.ndarray], truth: np.ndarray) -> dict[str, float]:
    """Return how many boxes overlap the true one by half."""
    ways = {
        "a box in the middle": np.tile(MIDDLE, (len(truth), 1)),
        "class activation map, 224 px": seen["first map"],
        "class activation map, at the size of a guide's": seen["closer map"],
        "the subject of a guide": seen["subject"],
    }
    true = [box[None] for box in truth]
    return {name: float(corloc(true, [box[None] for box in boxes])) for name, boxes in ways.items()}


def table(result: dict[str, Any]) -> str:
    lines = [
        "| pictures | way | right, mean over kinds | ms a picture | training, s |",
        "|---" * 5 + "|",
    ]
    for pictures, ways in result["names"].items():
        for way, told in ways.items():
            right = np.array(told["right"])
            half = 2.776 * right.std(ddof=1) / len(right) ** 0.5 if len(right) > 1 else 0.0
            lines.append(
                f"| {pictures} | {way} | {right.mean():.3f} ± {half:.3f} "
                f"| {np.mean(told['ms a picture']):.0f} | {np.mean(told['training, s']):.1f} |"
            )
    lines += ["", "| CUB-200, odd species | boxes that overlap the bird's by half |", "|---|---|"]
    lines += [f"| {way} | {share:.3f} |" for way, share in result["places"].items()]
    return "\n".join(lines)
