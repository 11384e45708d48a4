"""Half of the species are annotated: is what a guide says of the other half true?

CUB-200, by the rows and the maps of subjects of a guide: ten times 100 species drawn at random have
their 312 attributes (the share of votes), and ``fieldguide.describe.fill_groups`` says which the
other 100 show. An attribute is said of a species when 60 % of its pictures show it, and right when
most votes give it. Eight pictures of each species, every third of the attributes that an annotated
species has. Once with the colours that names of attributes speak of (``measure_named``), once
without.

Beside precision and recall, the share of what the others show that at least one, or two, annotated
species show too: more than the first can not be learnt.

    python benchmarks/run.py --only half_annotated --data DIR
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.marks import GUIDES
from fieldguide import Guide
from fieldguide.datasets import load_cub200
from fieldguide.describe import fill_groups
from fieldguide.describe.group_evidence import MOST, SHOWN
from fieldguide.features import measure_named

N_DRAWS, N_PICTURES, EVERY = 10, 8, 3
_FIRST = 60  # seed; the evidence was chosen with draws of others


def run(data: Path | None, *, tiny: bool) -> dict[str, Any]:
    if data is None or tiny or not (data / "cub200").is_dir():
        return {"skipped": "it needs --data with cub200, at full size"}
    birds = load_cub200(data / "cub200")
    shares = birds.class_attributes.astype(np.float64)
    X, maps, y = read_rows(data / "cub200", birds.target_names)
    kept = np.concatenate([np.flatnonzero(y == k)[:N_PICTURES] for k in range(len(shares))])
    measured = measure_named(maps[kept], birds.attribute_names)
    drawn = range(_FIRST, _FIRST + N_DRAWS)
    return {"draws": [judge_draw(X[kept], y[kept], shares, measured, seed) for seed in drawn]}


def read_rows(folder: Path, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, maps of subjects and species of the pictures, of a guide that is built once."""
    place = GUIDES / "cub200"
    if (place / "guide.json").exists():
        guide = Guide.open(place)
    else:
        guide = Guide.build(folder / "images", place, tree="agglomerative")
    numbers = {name: k for k, name in enumerate(names)}
    kinds = [str(guide.specimen(i).kind) for i in range(guide.n_specimens)]
    y = np.array([numbers[kind.split(".", 1)[1]] for kind in kinds])
    rows, maps = guide._models.rows, guide._models.maps
    return np.asarray(rows), np.asarray(maps), y


def judge_draw(
    X: np.ndarray, y: np.ndarray, shares: np.ndarray, measured: np.ndarray, seed: int
) -> dict[str, Any]:
    """Judge what is said of one half of the species by what the other half taught."""
    order = np.random.default_rng(seed).permutation(len(shares))
    given, judged = np.split(order, [len(order) // 2])
    n_given = (shares[given] >= SHOWN).sum(axis=0)
    used = np.flatnonzero(n_given)[::EVERY]
    A = np.where(np.isin(y, given)[:, None], shares[y][:, used], np.nan)
    truth = shares[judged] >= SHOWN
    result: dict[str, Any] = {}
    for name, named in (("with colours of names", measured[:, used]), ("without", None)):
        shown = fill_groups(X, A, y, named) >= SHOWN
        said = np.stack([shown[y == k].mean(axis=0) >= MOST for k in judged])
        right = (said & truth[:, used]).sum()
        result[name] = {
            "precision": right / max(said.sum(), 1),
            "recall": right / truth[:, used].sum(),
        }
    for name, least in (("shown by one", 1), ("shown by two", 2)):
        result[name] = truth[:, n_given >= least].sum() / truth.sum()
    return result


def table(result: dict[str, Any]) -> str:
    draws = result["draws"]
    lines = [
        "| CUB-200, half of the species annotated | precision | least precise | recall |",
        "|---|---|---|---|",
    ]
    for name in ("with colours of names", "without"):
        precision, recall = ([draw[name][c] for draw in draws] for c in ("precision", "recall"))
        figures = (f"{np.mean(v):.2f} ± {np.std(v):.2f}" for v in (precision, recall))
        first, last = figures
        lines.append(f"| {name} | {first} | {min(precision):.2f} | {last} |")
    one, two = (
        np.mean([draw[name] for draw in draws]) for name in ("shown by one", "shown by two")
    )
    lines += [
        "",
        f"Of what the others show, an annotated species shows {one:.3f}, two show {two:.3f}.",
    ]
    return "\n".join(lines)
