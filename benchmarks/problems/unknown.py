"""Does a guide know what it does not know?

Ten kinds of a collection are left out (a quarter of a small one), a third of the specimens of the
others are new pictures, and the rest is the guide: how well are new pictures of its kinds told from
pictures of kinds that it has not? Beside how familiar a picture is (what a guide goes by), its mean
likeness to the three nearest specimens alone, the probability and the margin of the key. Area under
the ROC curve, and the share of strangers that are taken in where 5 % of the others are refused;
then what the guide's own threshold, which is found on its specimens alone, refuses: of new pictures
of its kinds, of kinds that it has not, of the pictures of other collections, of Caltech-101's faces
(where they are not in the guide) and of drawn pages of print, all seen as the guide's own pictures
are.

How it is measured was chosen on splits 100 to 103, and the figures are of splits 0 to 4.

    python benchmarks/run.py --only unknown --data DIR
"""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from sklearn.metrics import roc_auc_score

from benchmarks.problems.guide_tree import look_at_collections
from benchmarks.seen import Seen, look_at
from fieldguide.features import find_largest
from fieldguide.guide.familiarity import Familiarity, learn_familiarity, measure_nearest
from fieldguide.guide.key_choice import KEY_C
from fieldguide.guide.nearest import find_near
from fieldguide.identify import OneVsAllClassifier

N_LEFT_OUT, N_SPLITS, N_OTHERS, N_PAGES = 10, 5, 400, 60
N_NEAR = 10
REFUSED = 0.05
CALTECH = "Caltech-101"


def run(data: Path | None, *, tiny: bool) -> dict:
    collections = look_at_collections(data, tiny=tiny)
    n_pages, n_splits = (2, 1) if tiny else (N_PAGES, N_SPLITS)
    rows: list[dict[str, Any]] = []
    for name, own in collections.items():
        elsewhere = look_elsewhere(name, collections, n_pages)
        splits = [judge_split(own, elsewhere, seed) for seed in range(n_splits)]
        mean = {key: float(np.mean([split[key] for split in splits])) for key in splits[0]}
        rows.append({"data": name, **mean})
    return {"rows": rows}


def look_elsewhere(name: str, collections: dict[str, Seen], n_pages: int) -> dict[str, np.ndarray]:
    """Return rows of pictures that are not of a collection, seen as its own pictures are."""
    own = collections[name]
    sources = {"pages": draw_pages(n_pages)}
    for other, seen in collections.items():
        if other != name:
            order = np.random.default_rng(0).permutation(len(seen.sources))[:N_OTHERS]
            sources[other] = [seen.sources[i] for i in order]
    if name != CALTECH and CALTECH in collections:
        faces = collections[CALTECH]
        pairs = zip(faces.sources, faces.kinds, strict=True)
        sources["faces"] = [source for source, kind in pairs if kind.startswith("Faces")]
    return {
        other: look_at(
            f"{name}_{len(own.sources)}_sees_{other}_{len(strange)}",
            *(strange, [other] * len(strange), own.sources),
        ).weigh_as(own)
        for other, strange in sources.items()
    }


def judge_split(own: Seen, elsewhere: dict[str, np.ndarray], seed: int) -> dict[str, float]:
    """Return the figures of one choice of kinds that are left out."""
    X, kinds = own.X, np.array(own.kinds)
    rng = np.random.default_rng(seed)
    names = np.unique(kinds)
    left_out = rng.choice(names, min(N_LEFT_OUT, len(names) // 4), replace=False)
    is_left_out = np.isin(kinds, left_out)
    order = rng.permutation(np.flatnonzero(~is_left_out))
    new, known = np.split(order, [len(order) // 3])
    strangers = np.flatnonzero(is_left_out)
    key = OneVsAllClassifier(C=KEY_C).fit(X[known], kinds[known])
    familiarity = learn(key, X[known], kinds[known])

    def score(rows: np.ndarray) -> dict[str, np.ndarray]:
        likeness, probability = rows @ X[known].T, key.predict_proba(rows)
        named = (str(key.classes_[k]) for k in probability.argmax(axis=1))
        nearest = find_largest(likeness, N_NEAR)
        both = (
            familiarity.measure(row[None], X[known], near, kind)
            for row, near, kind in zip(rows, nearest, named, strict=True)
        )
        return {
            "familiarity": np.array(list(both)),
            "nearest alone": measure_nearest(likeness),
            "probability": probability.max(axis=1),
            "margin": key.decision_function(rows).max(axis=1),
        }

    known_ones, others = score(X[new]), score(X[strangers])
    figures: dict[str, float] = {}
    for way in known_ones:
        is_own = np.repeat([True, False], [len(new), len(strangers)])
        both = np.concatenate([known_ones[way], others[way]])
        figures[f"{way}: area"] = roc_auc_score(is_own, both)
        threshold = np.quantile(known_ones[way], REFUSED)
        figures[f"{way}: taken in"] = float((others[way] >= threshold).mean())
    refused = {"own": known_ones, "left out": others}
    refused |= {other: score(rows) for other, rows in elsewhere.items()}
    for other, scores in refused.items():
        is_refused = scores["familiarity"] < familiarity.least
        figures[f"refused: {other}"] = float(is_refused.mean())
    return figures


def learn(key: OneVsAllClassifier, X: np.ndarray, kinds: np.ndarray) -> Familiarity:
    """Return what a guide of these rows goes by."""
    answers: list[str | None] = [None] * len(X)
    held_out = key.held_out_
    assert held_out is not None
    for i, answer in zip(held_out.rows, held_out.answer, strict=True):
        answers[i] = str(key.classes_[answer])
    found = learn_familiarity(X, find_near(X, N_NEAR), [str(k) for k in kinds], answers)
    assert found is not None
    return found


def draw_pages(n: int) -> list[Image.Image]:
    """Return scans of printed pages: lines of words in one or two columns, a little askew."""
    rng, pages = np.random.default_rng(0), []
    for _ in range(n):
        paper = int(rng.integers(215, 256))
        page = Image.new("RGB", (240, 320), (paper, paper, paper - int(rng.integers(0, 25))))
        pen, size = ImageDraw.Draw(page), int(rng.integers(7, 14))
        n_columns, font = int(rng.integers(1, 3)), ImageFont.load_default(size)
        wide = 208 // n_columns
        for column in range(n_columns):
            for top in range(18, 300 - size, round(1.4 * size)):
                letters = rng.choice(list("etaoinshrdlucmfwyp      "), 80)
                line = "".join(letters)
                while pen.textlength(line, font) > wide - 10:
                    line = line[:-1]
                pen.text((16 + column * wide, top), line, fill=(40, 40, 45), font=font)
        turned = page.rotate(float(rng.normal(0, 1.5)), fillcolor=(paper,) * 3)
        pages.append(turned.resize((160, 213)))
    return pages


def table(result: dict) -> str:
    ways = ("familiarity", "nearest alone", "probability", "margin")
    lines = [
        "| data | " + " | ".join(f"{way}: area, taken in" for way in ways) + " |",
        "|---|---|---|---|---|",
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
