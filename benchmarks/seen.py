"""What a build sees of a collection, kept in ``out/bench/seen`` for several benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from scipy.special import softmax

from fieldguide._parallel import map_in_order
from fieldguide.features import FeatureStack, measure_subject, say_of_both
from fieldguide.features.network import Network
from fieldguide.features.stack import QUARTERS
from fieldguide.guide.row_weights import choose_weight, draw_labelled, reweigh

CELLS = Path("out/bench/seen")
VERSION = 3  # raise it when pictures are seen in another way
N_JOBS = 2


class Seen(NamedTuple):
    """What a build sees of a collection."""

    sources: list[Any]  # paths or images
    kinds: list[str]
    stems: list[str]
    X: np.ndarray  # (n, n_columns), rows of length 1
    probabilities: np.ndarray  # (n, 1000), by both looks
    seen: np.ndarray  # (n, n_words) of subjects
    first: np.ndarray  # (n, 1000), by the first look
    quarters: np.ndarray  # the first of their columns, the one after the last, and their weight

    def weigh_as(self, other: Seen) -> np.ndarray:
        """Return the rows with quarters that count what they count in another collection."""
        start, stop, weight = self.quarters
        return reweigh(self.X, slice(int(start), int(stop)), weight, other.quarters[2])


def look_at(name: str, sources: list[Any], kinds: list[str], of: list[Any] | None = None) -> Seen:
    """Return what both looks see; from the folder of cells if it is known.

    The looks are learnt from these pictures, or from those ``of`` another collection.
    """
    file = CELLS / f"{name}-{VERSION}.npz"
    if not file.exists():
        network = Network()
        learnt = sources if of is None else of
        drawn = np.sort(np.random.default_rng(0).permutation(len(learnt))[:300])
        stack = FeatureStack("looks", n_jobs=N_JOBS).fit(
            [learnt[i] for i in drawn], network=network
        )

        def see(source: Any) -> tuple[np.ndarray, ...]:
            image = source if isinstance(source, Image.Image) else Image.open(source).convert("RGB")
            looks = stack.look_closer(image, network)
            assert looks is not None
            first = network.run(network.crop(image)[None])
            assert first.logits is not None
            row = stack.describe([image], first.embedding, [looks])[0]
            said = np.exp(say_of_both(first.logits[0], looks, network))
            seen = measure_subject(np.asarray(image), looks.subject)
            return row, said, seen, softmax(first.logits[0])

        parts = zip(*map_in_order(see, sources, n_jobs=N_JOBS), strict=True)
        X, probabilities, seen, first = (np.stack(part).astype(np.float32) for part in parts)
        X, quarters = weigh_quarters(X, kinds, stack)
        CELLS.mkdir(parents=True, exist_ok=True)
        np.savez(file, X=X, probabilities=probabilities, seen=seen, first=first, quarters=quarters)
    known = np.load(file)
    stems = [str(s.stem) if isinstance(s, Path) else str(i) for i, s in enumerate(sources)]
    return Seen(sources, kinds, stems, *(known[name] for name in Seen._fields[3:]))


def weigh_quarters(
    X: np.ndarray, kinds: list[str], stack: FeatureStack, old: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with quarters that count what a guide of these kinds lets them, and how much.

    The guide has the rows ``old``, or all.
    """
    part, before = stack.split_columns(X.shape[1])[QUARTERS], stack.quarters_weight
    old = np.arange(len(X)) if old is None else old
    drawn, y = draw_labelled([kinds[i] for i in old], 0)
    weight = choose_weight(X[old[drawn]], part, before, y, seed=0)
    return reweigh(X, part, before, weight), np.array([part.start, part.stop, weight])
