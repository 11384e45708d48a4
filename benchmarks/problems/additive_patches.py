"""Patches of the visual words with the largest weights, as in Figure 3 of the document.

Drawn birds beside other drawn specimens: 80 of each to find 300 words in and to select by FS-χ².
``docs/pictures/additive_patches.jpg``: the six words with the largest weights, from heavy to light,
and ten windows that are nearest to each. With ``--data`` the same of photographs (birds of CUB-200
beside objects, animals beside other objects, trucks beside automobiles), in ``out/bench/patches``.
A word is *of the positives* where they have more of it.

    python benchmarks/run.py --only additive_patches --data DIR
"""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.problems.additive_pictures import (
    FOLDERS,
    PROBLEMS,
    SMALL,
    draw_files,
    list_files,
)
from fieldguide.datasets import load_specimens
from fieldguide.features import BagOfWords
from fieldguide.select import AdditiveKernelSelector

PICTURES, OWN = Path("docs/pictures"), Path("out/bench/patches")
N_EACH, N_WORDS, N_SHOWN, N_PATCHES, GAP_PX = 80, 300, 6, 10, 2


def run(data: Path | None, *, tiny: bool) -> dict:
    n_each, n_words = (8, 20) if tiny else (N_EACH, N_WORDS)
    folder = OWN.with_name("patches-tiny") if tiny else PICTURES
    rows = show(*draw_birds(n_each), n_words, folder / "additive_patches.jpg", "drawn birds", {})
    if data is not None and not tiny and all((data / name).is_dir() for name in FOLDERS):
        for name in PROBLEMS:
            files = [draw_files(each, n_each) for each in list_files(data, name)]
            windows: dict[str, Any] = SMALL if name == "trucks" else {}
            rows += show(*files, n_words, OWN / f"{name}.jpg", name, windows)
    return {"rows": rows}


def draw_birds(n_each: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return drawn birds, and as many other specimens."""
    drawn = load_specimens(-(-n_each // 8))  # 8 kinds are birds
    birds = np.array([drawn.taxonomy[name][0] == "birds" for name in drawn.target_names])
    rng = np.random.default_rng(0)
    sides = (rng.permutation(np.flatnonzero(birds[drawn.target] == own)) for own in (True, False))
    return tuple([np.asarray(drawn.images[i]) for i in side[:n_each]] for side in sides)


def show(
    positive: list, negative: list, n_words: int, path: Path, name: str, windows: dict[str, Any]
) -> list[dict]:
    """Write the sheet of one problem, and return what is known of the words on it."""
    bag = BagOfWords(n_words, pyramid=((1, 1),), n_examples=N_PATCHES, n_jobs=1, **windows).fit(
        [*positive, *negative]
    )
    X = np.asarray(bag.transform([*positive, *negative]), dtype=np.float64)
    X /= np.maximum(X.sum(axis=1, keepdims=True), 1e-12)
    y = np.repeat([1, -1], [len(positive), len(negative)])
    selector = AdditiveKernelSelector("chi2", C="cv").fit(X, y)
    share = selector.weights_ * selector.spreads_
    heaviest = np.argsort(-share, kind="stable")[:N_SHOWN]
    heaviest = heaviest[share[heaviest] > 0]
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_sheet(bag.patches_[heaviest]).save(path, quality=85, optimize=True)
    more = X[y > 0].mean(axis=0) > X[y < 0].mean(axis=0)
    return [
        {
            "problem": name,
            "words": f"{(share > 0).sum()} of {n_words}",
            "share": float(share[k] / share.sum()),
            "of the positives": bool(more[k]),
        }
        for k in heaviest
    ]


def draw_sheet(patches: np.ndarray) -> Image.Image:
    """Return a line of patches for each word."""
    n, m, side = patches.shape[:3]
    sheet = np.full((n * (side + GAP_PX), m * (side + GAP_PX), 3), 255, dtype=np.uint8)
    for i in range(n):
        for j in range(m):
            y, x = i * (side + GAP_PX), j * (side + GAP_PX)
            sheet[y : y + side, x : x + side] = patches[i, j]
    return Image.fromarray(sheet)


def table(result: dict) -> str:
    lines = ["| problem | words with a weight | word | share | more of it in |", "|---" * 5 + "|"]
    place: dict[str, int] = {}
    for row in result["rows"]:
        place[row["problem"]] = place.get(row["problem"], 0) + 1
        side = "positives" if row["of the positives"] else "negatives"
        lines.append(
            f"| {row['problem']} | {row['words']} | {place[row['problem']]} "
            f"| {row['share']:.3f} | {side} |"
        )
    return "\n".join(lines)
