"""What a network is worth here: accuracy, places, time and size, for any number of networks.

    python benchmarks/run.py --only networks --data DIR [--embedder lite0 --embedder a.onnx …]

``--embedder`` takes what ``fieldguide build`` takes; networks that are to stand side by side are
joined by a plus. For each network, with the default key (one-vs-all, C = 1):

- accuracy on CUB-200 (the first 100 species) and on every second photograph of Caltech-101 (no
  background class), from 1, 5 and 10 photographs of each kind and from all but those that are
  asked about: the last 7 of a species, half of a kind. Kinds with too few photographs for a column
  are left out of it. Ten splits for 10 photographs, five for the others, mean and half a 95 %
  interval of the mean over kinds;
- the same on 20 drawn specimens of each kind;
- how often the words are true that are said of pictures of CUB-200 and of drawn specimens
  (``network_words``);
- CorLoc at .5 of the subjects that are found on CUB-200 without labels;
- seconds of the processor that a picture of CUB-200 takes, by the first look and by both;
- the size of the network's file.

What a network sees is kept in ``out/bench/networks``, 100 pictures a file, so that a run that was
stopped goes on. ``NETWORKS_ONLY=cub200,specimens`` names the collections.
"""

import csv
import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from scipy.special import log_softmax
from threadpoolctl import threadpool_limits

from benchmarks.cells import keep_cell
from benchmarks.problems import network_words
from benchmarks.problems.network_words import FAMILIES, Shown, list_shapes, list_words
from benchmarks.problems.region_selection import interval
from benchmarks.problems.subject_words import find_drawn, find_voted
from fieldguide.datasets import load_cub200, load_specimens
from fieldguide.errors import EmbedderError
from fieldguide.features import FeatureStack, measure_subject, say_of_both
from fieldguide.features._efficientnet import VARIANTS
from fieldguide.features.network import Network, builtin_graph, open_network
from fieldguide.identify import OneVsAllClassifier
from fieldguide.metrics import corloc

CELLS = Path("out/bench/networks")
VERSION = 2  # raise it when pictures are seen in another way
EMBEDDERS = ("lite0", "lite1", "lite2", "lite0+lite2")
N_KINDS, N_PER_FILE, N_TIMED = 100, 100, 16
N_ASKED = 7
SIZES = (1, 5, 10, None)  # photographs of each kind to learn from; None: all but those asked about
N_SPLITS = {10: 10}
SEEN = ("X", "boxes", "said", "seen")


class Pictures(NamedTuple):
    """A collection with kinds and, where they are known, boxes in shares of the picture."""

    name: str
    images: list[Any]
    target: np.ndarray
    boxes: np.ndarray | None
    is_half: bool  # whether half of a kind is asked about
    shown: Shown | None = None  # by which words are judged


def run(data: Path | None, *, tiny: bool, embedders: Sequence[str] = EMBEDDERS) -> dict:
    if tiny:
        return {"rows": [judge("lite0", [draw_specimens(6, 3)])]}
    if data is None:
        return {"skipped": "it needs --data"}
    loaders = {
        "cub200": lambda: load_birds(data / "cub200"),
        "caltech101": lambda: load_objects(data / "caltech101"),
        "specimens": lambda: draw_specimens(20),
    }
    wanted = os.environ.get("NETWORKS_ONLY", ",".join(loaders)).split(",")
    collections = [load() for name, load in loaders.items() if name in wanted]
    rows = []
    with threadpool_limits(1):
        for embedder in embedders:
            try:
                rows.append(judge(embedder, collections, is_kept=True))
            except EmbedderError as error:
                rows.append({"network": embedder, "left out": str(error)})
    return {"rows": rows}


def draw_specimens(n_per_kind: int, n_kinds: int | None = None) -> Pictures:
    drawn = load_specimens(n_per_kind=n_per_kind)
    few = np.flatnonzero(drawn.target < (n_kinds or len(drawn.target_names)))
    families = [drawn.taxonomy[drawn.target_names[drawn.target[i]]][-1] for i in few]
    listed = list_words([[FAMILIES[family]] for family in families])
    of_subject = {word: is_shown[few] for word, is_shown in find_drawn(drawn).items()}
    images = [Image.fromarray(drawn.images[i]) for i in few]
    return Pictures("specimens", images, drawn.target[few], None, True, Shown(listed, of_subject))


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
    boxes = corners / np.tile(sizes, 2)
    birds = load_cub200(folder)
    votes, attributes = birds.class_attributes, birds.attribute_names
    shares = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    shown = Shown(
        list_shapes(votes, attributes, target), find_voted(votes, attributes, target, shares)
    )
    return Pictures("CUB-200", paths, target, boxes, False, shown)


def load_objects(folder: Path) -> Pictures:
    every = sorted(folder.rglob("*.jpg"))
    paths = [p for p in every if p.parent.name != "BACKGROUND_Google"][::2]
    names = sorted({path.parent.name for path in paths})
    target = np.array([names.index(path.parent.name) for path in paths])
    return Pictures("Caltech-101", paths, target, None, True)


def judge(embedder: str, collections: Sequence[Pictures], *, is_kept: bool = False) -> dict:
    """Return the row of a network."""
    network = open_network(embedder.split("+"))
    row: dict[str, Any] = {
        "network": embedder,
        "mb": find_size(embedder),
        "accuracy": {},
        "words": {},
    }
    for pictures in collections:
        parts, found = see_all(network, pictures, is_kept)
        file = CELLS / f"{slug(network)}-{pictures.name}-{VERSION}.json"
        measure = partial(judge_rows, parts, pictures)
        row["accuracy"][pictures.name] = keep_cell(file, measure) if is_kept else measure()
        if pictures.boxes is not None and network.stride_px is not None:
            row["corloc"] = corloc(pictures.boxes, found["boxes"])
        if pictures.shown is not None:
            seen = (found[what] for what in ("X", "said", "seen"))
            row["words"][pictures.name] = network_words.judge_words(
                *seen, pictures.shown, pictures.target
            )
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
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the rows of the first look and of both, and all that is seen (``SEEN``)."""
    images = pictures.images
    drawn = np.sort(np.random.default_rng(0).permutation(len(images))[:150])
    has_map = network.stride_px is not None
    stack = FeatureStack("looks" if has_map else "deep", n_jobs=1)
    stack.fit([open_picture(images[i]) for i in drawn], network=network)
    parts: list[dict[str, np.ndarray]] = []
    for start in range(0, len(images), N_PER_FILE):
        file = CELLS / f"{slug(network)}-{pictures.name}-{start}-{VERSION}.npz"
        if is_kept and file.exists():
            parts.append(dict(np.load(file)))
            continue
        each = [see(source, network, stack) for source in images[start : start + N_PER_FILE]]
        columns = zip(*each, strict=True)
        parts.append({what: np.stack(rows) for what, rows in zip(SEEN, columns, strict=True)})
        if is_kept:
            CELLS.mkdir(parents=True, exist_ok=True)
            np.savez(file, **parts[-1])
    found = {what: np.concatenate([part[what] for part in parts]) for what in SEEN}
    X = found["X"]
    looks = {"first look": X[:, stack.split_columns(X.shape[1])["deep"]]}
    return looks | ({"both looks": X} if has_map else {}), found


def see(source: Any, network: Network, stack: FeatureStack) -> tuple[np.ndarray, ...]:
    """Return what is seen of a picture: its row, the box of its subject, words of both.

    Words are the probabilities of the network's classes, and the scores of the subject's words;
    where there are none, an empty array.
    """
    image = open_picture(source)
    looks, first = stack.look_closer(image, network), network.see([image])
    row = stack.describe([image], first.embedding, [looks] if looks else [])[0]
    said = seen = np.empty(0, dtype=np.float32)
    if first.logits is not None:
        logits = first.logits[0]
        both = log_softmax(logits) if looks is None else say_of_both(logits, looks, network)
        said = np.exp(both).astype(np.float32)
    if looks is None:
        return row, np.zeros(4, dtype=np.float32), said, seen
    seen = measure_subject(np.asarray(image), looks.subject).astype(np.float32)
    return row, np.array(looks.subject.box, dtype=np.float32), said, seen


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
    lines += ["", *network_words.table(rows)]
    left = [f"Left out: {row['left out']}" for row in result["rows"] if "left out" in row]
    return "\n".join([*lines, *left])


def tell(values: list[float] | None) -> str:
    """Return the mean over splits and half a 95 % interval."""
    return interval(values) if values and None not in values else "–"
