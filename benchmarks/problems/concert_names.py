"""Which of a network's classes are selected for a kind, by name, as in Figure 7 of the document.

Ten kinds of drawn specimens and the 1,000 ImageNet outputs of the whole picture and of its centre,
mapped to [0, 1] by 32 other specimens. Thirty draws of 10 pictures of each kind, k = 50, as printed
and with the free bias of our default. Listed are the outputs that vote for the kind (those that
vote by being small are left out), the most often selected first, with the share of the draws.

    python benchmarks/run.py --only concert_names
"""

from pathlib import Path

import numpy as np

from benchmarks import printed
from fieldguide.datasets import load_specimens
from fieldguide.features.classifier_pool import ClassifierPool
from fieldguide.features.vocabulary import class_names
from fieldguide.select import ConcertSelector

N_KINDS, N_PICTURES, N_IMAGES, N_DRAWS, N_SHOWN = 10, 20, 10, 30, 5
FORMS = {"as printed": printed.CONCERT_VOTES, "with a bias": {"p1": 0.5}}


def run(data: Path | None, *, tiny: bool) -> dict:
    n_kinds, n_pictures, n_images, n_draws = (
        (2, 3, 2, 2) if tiny else (N_KINDS, N_PICTURES, N_IMAGES, N_DRAWS)
    )
    drawn = load_specimens(n_pictures)
    kinds = np.linspace(0, len(drawn.target_names) - 1, n_kinds).round().astype(int)
    rows = np.flatnonzero(np.isin(drawn.target, kinds))
    y = np.array(drawn.target_names)[drawn.target[rows]]
    outputs = ClassifierPool(kind="outputs", windows=("whole",) if tiny else ("whole", "centre"))
    others = load_specimens(1, random_state=1).images
    outputs.fit(list(others[:4] if tiny else others))
    F = outputs.transform([drawn.images[i] for i in rows])
    found: dict[str, dict[str, list[tuple[str, float]]]] = {}
    flat: dict[str, float] = {}
    for form, settings in FORMS.items():
        votes = np.zeros((n_kinds, F.shape[1]))
        chosen = np.zeros((n_kinds, F.shape[1]))
        for draw in range(n_draws):
            rng = np.random.default_rng([draw, 7])
            train = np.concatenate(
                [rng.permutation(np.flatnonzero(y == kind))[:n_images] for kind in np.unique(y)]
            )
            model = ConcertSelector(k=50, **settings).fit(F[train], y[train])
            chosen += model.weights_ > 0
            votes += (model.weights_ > 0) & ~model.flips_
        found[form] = {
            str(kind): name_outputs(votes[c] / n_draws)
            for c, kind in enumerate(model.classes_.tolist())
        }
        first = np.sort(chosen / n_draws, axis=1)[:, ::-1][:, :50]
        flat[form] = float(first.mean())
    return {"names": found, "share": flat}


def name_outputs(share: np.ndarray) -> list[tuple[str, float]]:
    """Return the most often selected outputs by name and window."""
    names, n = class_names(), len(class_names())
    order = np.argsort(-share, kind="stable")[:N_SHOWN]
    windows = ("", ", centre")
    return [(f"{names[j % n]}{windows[j // n]}", float(share[j])) for j in order if share[j] > 0]


def table(result: dict) -> str:
    lines = [f"| kind | {' | '.join(FORMS)} |", "|---" * (len(FORMS) + 1) + "|"]
    for kind in next(iter(result["names"].values())):
        cells = [
            "; ".join(f"{name} {share:.2f}" for name, share in result["names"][form][kind])
            for form in FORMS
        ]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    shares = ", ".join(f"{share:.2f} {form}" for form, share in result["share"].items())
    return "\n".join([*lines, "", f"Share of the draws, mean of the 50 most selected: {shares}."])
