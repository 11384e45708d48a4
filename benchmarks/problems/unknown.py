"""Does a guide know what it does not know?

Ten kinds of a collection are left out (a quarter of a small one), a third of the specimens of the
others are new pictures, and the rest is the guide: how well are new pictures of its kinds told from
pictures of kinds that it has not? Beside how familiar a picture is (what a guide goes by), the
probability and the margin of the key. Area under the ROC curve, and the share of strangers that are
taken in where 5 % of the others are refused; then what the guide's own threshold, which is found on
its specimens alone, refuses: of new pictures of its kinds, of kinds that it has not, and of the
pictures of other collections (their rows are those of their own subjects' finder).

    python benchmarks/run.py --only unknown --data DIR
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.problems.guide_tree import look_at_collections
from fieldguide.guide.familiarity import find_threshold, measure_familiarity
from fieldguide.guide.key_choice import KEY_C
from fieldguide.guide.words import find_near
from fieldguide.identify import OneVsAllClassifier

N_LEFT_OUT, N_SPLITS, N_OTHERS = 10, 5, 500
REFUSED = 0.05


def run(data: Path | None, *, tiny: bool) -> dict:
    seen = look_at_collections(data, tiny=tiny)
    sets = {name: (each.X, np.array(each.kinds)) for name, each in seen.items()}
    n_splits = 1 if tiny else N_SPLITS
    rows: list[dict[str, Any]] = []
    for name in sets:
        splits = [judge_split(sets, name, seed) for seed in range(n_splits)]
        mean = {key: float(np.mean([split[key] for split in splits])) for key in splits[0]}
        rows.append({"data": name, **mean})
    return {"rows": rows}


def judge_split(
    sets: dict[str, tuple[np.ndarray, np.ndarray]], name: str, seed: int
) -> dict[str, float]:
    """Return the figures of one choice of kinds that are left out."""
    X, kinds = sets[name]
    rng = np.random.default_rng(seed)
    names = np.unique(kinds)
    left_out = rng.choice(names, min(N_LEFT_OUT, len(names) // 4), replace=False)
    is_left_out = np.isin(kinds, left_out)
    order = rng.permutation(np.flatnonzero(~is_left_out))
    new, known = np.split(order, [len(order) // 3])
    strangers = np.flatnonzero(is_left_out)
    key = OneVsAllClassifier(C=KEY_C).fit(X[known], kinds[known])

    def score(rows: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "familiarity": measure_familiarity(rows @ X[known].T),
            "probability": key.predict_proba(rows).max(axis=1),
            "margin": key.decision_function(rows).max(axis=1),
        }

    own, others = score(X[new]), score(X[strangers])
    figures: dict[str, float] = {}
    for way in own:
        is_own = np.repeat([True, False], [len(new), len(strangers)])
        figures[f"{way}: area"] = roc_auc_score(is_own, np.concatenate([own[way], others[way]]))
        threshold = np.quantile(own[way], REFUSED)
        figures[f"{way}: taken in"] = float((others[way] >= threshold).mean())
    threshold = find_threshold(X[known], find_near(X[known], 10, 0))
    assert threshold is not None
    figures["refused: own"] = float((own["familiarity"] < threshold).mean())
    figures["refused: left out"] = float((others["familiarity"] < threshold).mean())
    for other, (rows, _) in sets.items():
        if other != name:
            some = rows[rng.permutation(len(rows))[:N_OTHERS]]
            refused = measure_familiarity(some @ X[known].T) < threshold
            figures[f"refused: {other}"] = float(refused.mean())
    return figures


def table(result: dict) -> str:
    ways = ("familiarity", "probability", "margin")
    lines = [
        "| data | " + " | ".join(f"{way}: area, taken in" for way in ways) + " |",
        "|---|---|---|---|",
    ]
    for row in result["rows"]:
        cells = (f"{row[f'{way}: area']:.3f}, {row[f'{way}: taken in']:.0%}" for way in ways)
        lines.append(f"| {row['data']} | {' | '.join(cells)} |")
    lines += ["", "| data | refused by the guide's threshold |", "|---|---|"]
    for row in result["rows"]:
        refused = {k.removeprefix("refused: "): v for k, v in row.items() if "refused" in k}
        told = ", ".join(f"{name} {share:.1%}" for name, share in refused.items())
        lines.append(f"| {row['data']} | {told} |")
    return "\n".join(lines)
