"""Half of the species are annotated: is what detectors say of the other half true?

CUB-200, by rows of the first look: ten times 100 species drawn at random have their 312 attributes
(the share of votes), and detectors learnt from them say which the other 100 show, by the cuts of
``fieldguide.describe.group_cuts``. An attribute is said of a species when 60 % of its pictures show
it, and right when most votes give it. Eight pictures of each species, every third of the attributes
that an annotated species has.

Beside precision and recall, those of the sigmoid of each attribute (believed where it ranks
held-out kinds with an area of 0.75), and the share of what the others show that at least one, or
two, annotated species show too.

    python benchmarks/run.py --only half_annotated --data DIR
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.keys import load_rows, prepare
from fieldguide.datasets import load_cub200
from fieldguide.describe import AttributeDetectors, cut_margins
from fieldguide.describe.group_cuts import MOST, SHOWN
from fieldguide.guide.annotation import LEAST_AUC

N_DRAWS, N_PICTURES, EVERY = 10, 8, 3
_FIRST = 60  # seed; the rule was chosen with draws of others


def run(data: Path | None, *, tiny: bool) -> dict[str, Any]:
    if data is None or tiny or not (data / "cub200").is_dir():
        return {"skipped": "it needs --data with cub200, at full size"}
    prepare(data, "cub200 deep")
    X, y = load_rows("cub200 deep")
    shares = load_cub200(data / "cub200").class_attributes.astype(np.float64)
    return {"draws": [judge_draw(X, y, shares, _FIRST + draw) for draw in range(N_DRAWS)]}


def judge_draw(X: np.ndarray, y: np.ndarray, shares: np.ndarray, seed: int) -> dict[str, Any]:
    """Judge what detectors of one half of the species say of the other."""
    order = np.random.default_rng(seed).permutation(len(shares))
    given, judged = np.split(order, [len(order) // 2])
    n_given = (shares[given] >= SHOWN).sum(axis=0)
    used = np.flatnonzero(n_given)[::EVERY]
    learnt, new = (
        np.concatenate([np.flatnonzero(y == k)[:N_PICTURES] for k in half])
        for half in (given, judged)
    )
    A = shares[y[learnt]][:, used]
    detectors = AttributeDetectors().fit(X[learnt], A, y[learnt])
    cuts = cut_margins(detectors.held_out_margins_, A, y[learnt])
    is_ranked = (detectors.held_out_.roc_auc >= LEAST_AUC) & ~detectors.is_constant_
    shown = {
        "cuts": cuts.score(detectors.decision_function(X[new])) >= SHOWN,
        "sigmoids": (detectors.predict_proba(X[new]) >= SHOWN) & is_ranked,
    }
    truth = shares[judged] >= SHOWN
    result: dict[str, Any] = {}
    for name, rows in shown.items():
        said = np.stack([rows[y[new] == k].mean(axis=0) >= MOST for k in judged])
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
    lines = ["| CUB-200, half of the species annotated | precision | recall |", "|---|---|---|"]
    for name in ("cuts", "sigmoids"):
        values = ([draw[name][column] for draw in draws] for column in ("precision", "recall"))
        figures = (f"{np.mean(v):.2f} ± {np.std(v):.2f}" for v in values)
        lines.append(f"| {name} | {' | '.join(figures)} |")
    least = min(draw["cuts"]["precision"] for draw in draws)
    one, two = (
        np.mean([draw[name] for draw in draws]) for name in ("shown by one", "shown by two")
    )
    lines += [
        "",
        f"The least precise of {len(draws)} draws: {least:.2f}. Of what the others show, an "
        f"annotated species shows {one:.3f}, two show {two:.3f}.",
    ]
    return "\n".join(lines)
