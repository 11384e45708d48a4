"""What a network is worth here: accuracy, places, time and size, for any number of networks.

    python benchmarks/run.py --only networks --data DIR [--embedder lite0 --embedder a.onnx …]

``--embedder`` takes what ``fieldguide build`` takes; networks that are to stand side by side are
joined by a plus. For each network, with the default key (one-vs-all, C = 1):

- accuracy on CUB-200 (the first 100 species) and on every second photograph of Caltech-101 (no
  background class), from 1, 5 and 10 photographs of each kind and from all but those that are
  asked about: the last 7 of a species, half of a kind. Kinds with too few photographs for a column
  are left out of it. Ten splits for 10 photographs, five for the others, mean and half a 95 %
  interval of the mean over kinds;
- CorLoc at .5 of the subjects that are found on CUB-200 without labels;
- seconds of the processor that a picture of CUB-200 takes, by the first look and by both;
- the size of the network's file.

What a network sees is kept in ``out/bench/networks``, 100 pictures a file, so that a run that was
stopped goes on.
"""

import csv
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from benchmarks.cells import keep_cell
from benchmarks.problems.region_selection import interval
from fieldguide.datasets import load_specimens
from fieldguide.errors import EmbedderError
from fieldguide.features import FeatureStack
from fieldguide.features._efficientnet import VARIANTS
from fieldguide.features.network import Network, builtin_graph, open_network
from fieldguide.identify import OneVsAllClassifier
from fieldguide.metrics import corloc

CELLS = Path("out/bench/networks")
VERSION = 1  # raise it when pictures are seen in another way
EMBEDDERS = ("lite0", "lite1", "lite2", "lite0+lite2")
N_KINDS, N_PER_FILE, N_TIMED = 100, 100, 16
N_ASKED = 7
SIZES = (1, 5, 10, None)  # photographs of each kind to learn from; None: all but those asked about
N_SPLITS = {10: 10}


class Pictures(NamedTuple):
    """A collection with kinds and, where they are known, boxes in shares of the picture."""

    name: str
    images: list[Any]
    target: np.ndarray
    boxes: np.ndarray | None
    is_half: bool  # whether half of a kind is asked about


def run(data: Path | None, *, tiny: bool, embedders: Sequence[str] = EMBEDDERS) -> dict:
    if tiny:
        drawn = load_specimens(n_per_kind=6, size_px=64)
        few = np.flatnonzero(drawn.target < 3)
        images = [Image.fromarray(drawn.images[i]) for i in few]
        return {
            "rows": [judge("lite0", [Pictures("specimens", images, drawn.target[few], None, True)])]
        }
    if data is None:
        return {"skipped": "it needs --data"}
    collections = [load_birds(data / "cub200"), load_objects(data / "caltech101")]
    rows = []
    with threadpool_limits(1):
        for embedder in embedders:
            try:
                rows.append(judge(embedder, collections, is_kept=True))
            except EmbedderError as error:
                rows.append({"network": embedder, "left out": str(error)})
    return {"rows": rows}


def load_birds(folder: Path) -> Pictures:
    with open(folder / "images.csv", newline="", encoding="utf-8") as file:
        entries = list(csv.DictReader(file))
    names = sorted({entry["path"].split("/")[0] for entry in entries})[:N_KINDS]
    entries = [entry for entry in entries if entry["path"].split("/")[0] in names]
    paths = [folder / "images" / entry["path"] for entry in entries]
    corners = np.array([[float(e[k]) for k in ("x", "y", "width", "height")] for e in entries])
    corners[:, 2:] += corners[:, :2]
    sizes = np.array([Image.open(path).size for path in paths])
    target = np.array([names.index(path.parent.name) for path in paths])
    return Pictures("CUB-200", paths, target, corners / np.tile(sizes, 2), False)


def load_objects(folder: Path) -> Pictures:
    every = sorted(folder.rglob("*.jpg"))
    paths = [p for p in every if p.parent.name != "BACKGROUND_Google"][::2]
    names = sorted({path.parent.name for path in paths})
    target = np.array([names.index(path.parent.name) for path in paths])
    return Pictures("Caltech-101", paths, target, None, True)


def judge(embedder: str, collections: Sequence[Pictures], *, is_kept: bool = False) -> dict:
    """Return the row of a network."""
    network = open_network(embedder.split("+"))
    row: dict[str, Any] = {"network": embedder, "mb": find_size(embedder), "accuracy": {}}
    for pictures in collections:
        parts, boxes = see_all(network, pictures, is_kept)
        file = CELLS / f"{slug(network)}-{pictures.name}-{VERSION}.json"
        measure = partial(judge_rows, parts, pictures)
        row["accuracy"][pictures.name] = keep_cell(file, measure) if is_kept else measure()
        if pictures.boxes is not None and network.stride_px is not None:
            row["corloc"] = corloc(pictures.boxes, boxes)
    row["cpu_ms"] = time_looks(network, collections[0])
    return row


def slug(network: Network) -> str:
    """Return a name for the files of a network."""
    return "".join(c if c.isalnum() else "-" for c in network.name)


def find_size(embedder: str) -> float:
    """Return the size of the files of a network, in MB."""
    sizes = [
        len(builtin_graph(VARIANTS[name])) if name in VARIANTS else Path(name).stat().st_size
        for name in embedder.split("+")
    ]
    return sum(sizes) / 1e6


def open_picture(source: Any) -> Image.Image:
    return source if isinstance(source, Image.Image) else Image.open(source).convert("RGB")


def see_all(
    network: Network, pictures: Pictures, is_kept: bool
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the rows of the first look and of both, and boxes of subjects."""
    images = pictures.images
    drawn = np.sort(np.random.default_rng(0).permutation(len(images))[:150])
    has_map = network.stride_px is not None
    stack = FeatureStack("looks" if has_map else "deep", n_jobs=1)
    stack.fit([open_picture(images[i]) for i in drawn], network=network)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for start in range(0, len(images), N_PER_FILE):
        file = CELLS / f"{slug(network)}-{pictures.name}-{start}-{VERSION}.npz"
        if is_kept and file.exists():
            known = np.load(file)
            found.append((known["X"], known["boxes"]))
            continue
        seen = [see(source, network, stack) for source in images[start : start + N_PER_FILE]]
        X, boxes = (np.stack(part) for part in zip(*seen, strict=True))
        if is_kept:
            CELLS.mkdir(parents=True, exist_ok=True)
            np.savez(file, X=X, boxes=boxes)
        found.append((X, boxes))
    X = np.concatenate([rows for rows, _ in found])
    columns = stack.split_columns(X.shape[1])
    parts = {"first look": X[:, columns["deep"]]}
    if has_map:
        parts["both looks"] = X
    return parts, np.concatenate([boxes for _, boxes in found])


def see(source: Any, network: Network, stack: FeatureStack) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of a picture, and the box of its subject."""
    image = open_picture(source)
    looks = stack.look_closer(image, network)
    row = stack.describe([image], network.see([image]).embedding, [looks] if looks else [])[0]
    box = np.zeros(4) if looks is None else np.array(looks.subject.box)
    return row, box.astype(np.float32)


def judge_rows(parts: dict[str, np.ndarray], pictures: Pictures) -> dict[str, dict[str, list]]:
    """Return the accuracies of each split, by look and by the number to learn from."""
    found: dict[str, dict[str, list]] = {}
    for look, X in parts.items():
        for size in SIZES:
            if look == "first look" and size != 10:
                continue  # what the second look adds is asked once
            splits = [ask(X, pictures, size, k) for k in range(N_SPLITS.get(size or 0, 5))]
            found.setdefault(look, {})[str(size or "all")] = splits
    return found


def ask(X: np.ndarray, pictures: Pictures, size: int | None, seed: int) -> float | None:
    """Return the mean over kinds of the accuracy of a key that learnt from so many of each."""
    rng, learnt, asked = np.random.default_rng(seed), [], []
    for kind in np.unique(pictures.target):
        own = rng.permutation(np.flatnonzero(pictures.target == kind))
        n_asked = len(own) // 2 if pictures.is_half else min(N_ASKED, len(own) // 2)
        if len(own) - n_asked < (size or 1):
            continue
        asked += own[:n_asked].tolist()
        learnt += own[n_asked:][: size or len(own)].tolist()
    if not asked:
        return None
    y = pictures.target
    key = OneVsAllClassifier(probability=False, n_jobs=1).fit(X[learnt], y[learnt])
    is_right = key.predict(X[asked]) == y[asked]
    return float(np.mean([is_right[y[asked] == kind].mean() for kind in np.unique(y[asked])]))


def time_looks(network: Network, pictures: Pictures) -> dict[str, float]:
    """Return milliseconds of the processor for a picture, by each look: the least of three runs."""
    step = max(1, len(pictures.images) // N_TIMED)
    images = [open_picture(source) for source in pictures.images[::step][:N_TIMED]]
    has_map = network.stride_px is not None
    stack = FeatureStack("looks" if has_map else "deep", n_jobs=1).fit(images, network=network)
    first, both = [], []
    for _ in range(3):
        started = time.process_time()
        for image in images:
            network.see([image])
        middle = time.process_time()
        for image in images:
            stack.look_closer(image, network)
        first.append((middle - started) / len(images) * 1000)
        both.append((time.process_time() - started) / len(images) * 1000)
    return {"first": min(first), **({"both": min(both)} if has_map else {})}


def table(result: dict) -> str:
    rows = [row for row in result["rows"] if "left out" not in row]
    names = list(rows[0]["accuracy"]) if rows else []
    lines = []
    for name in names:
        lines += [
            f"{name}, mean over kinds",
            "",
            "| network | first look, 10 of each | both looks, 1 of each | 5 | 10 | all |",
            "|---|---|---|---|---|---|",
        ]
        for row in rows:
            said = row["accuracy"][name]
            cells = [tell(said["first look"].get("10"))]
            cells += [tell(said.get("both looks", {}).get(str(s or "all"))) for s in SIZES]
            lines.append(f"| {row['network']} | {' | '.join(cells)} |")
        lines.append("")
    lines += [
        "| network | CorLoc | ms of the processor, first look | both looks | MB |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        first, both = row["cpu_ms"]["first"], row["cpu_ms"].get("both")
        box = f"{row['corloc']:.3f}" if "corloc" in row else "–"
        told = "–" if both is None else f"{both:.0f}"
        lines.append(f"| {row['network']} | {box} | {first:.0f} | {told} | {row['mb']:.0f} |")
    left = [f"Left out: {row['left out']}" for row in result["rows"] if "left out" in row]
    return "\n".join([*lines, *left])


def tell(values: list[float] | None) -> str:
    """Return the mean over splits and half a 95 % interval."""
    return interval(values) if values and None not in values else "–"
