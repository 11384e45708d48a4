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
N_PER_PART = 1500  # pictures
SEEN = ("X", "probabilities", "seen", "first")


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

    def weigh_plainly(self) -> np.ndarray:
        """Return the rows as of a collection without labels, which say nothing of the quarters."""
        start, stop, weight = self.quarters
        before = FeatureStack("looks").quarters_weight
        return reweigh(self.X, slice(int(start), int(stop)), weight, before)


def look_at(name: str, sources: list[Any], kinds: list[str], of: list[Any] | None = None) -> Seen:
    """Return what both looks see; from the folder of cells if it is known.

    The looks are learnt from these pictures, or from those ``of`` another collection. Pictures are
    seen in parts, each a sample of all, so that a run that was stopped goes on.
    """
    file = CELLS / f"{name}-{VERSION}.npz"
    if not file.exists():
        network, stack = learn_looks(sources if of is None else of)
        n_parts = -(-len(sources) // N_PER_PART)
        parts = [see_part(name, k, n_parts, sources, network, stack) for k in range(n_parts)]
        order = np.argsort(
            np.concatenate([np.arange(len(sources))[k::n_parts] for k in range(n_parts)])
        )
        found = {what: np.concatenate([part[what] for part in parts])[order] for what in SEEN}
        found["X"], quarters = weigh_quarters(found["X"], kinds, stack)
        np.savez(file, **found, quarters=quarters)
        for k in range(n_parts):
            _name_part(name, k, n_parts).unlink()
    known = np.load(file)
    stems = [str(s.stem) if isinstance(s, Path) else str(i) for i, s in enumerate(sources)]
    return Seen(sources, kinds, stems, *(known[name] for name in Seen._fields[3:]))


def learn_looks(sources: list[Any]) -> tuple[Network, FeatureStack]:
    network = Network()
    drawn = np.sort(np.random.default_rng(0).permutation(len(sources))[:300])
    stack = FeatureStack("looks", n_jobs=N_JOBS)
    return network, stack.fit([sources[i] for i in drawn], network=network)


def see_part(
    name: str, k: int, n_parts: int, sources: list[Any], network: Network, stack: FeatureStack
) -> dict[str, np.ndarray]:
    """Return what both looks see of every so many-th picture, seen only once."""

    def see(source: Any) -> tuple[np.ndarray, ...]:
        image = source if isinstance(source, Image.Image) else Image.open(source).convert("RGB")
        looks = stack.look_closer(image, network)
        assert looks is not None
        first = network.see([image])
        assert first.logits is not None
        row = stack.describe([image], first.embedding, [looks])[0]
        said = np.exp(say_of_both(first.logits[0], looks, network))
        seen = measure_subject(np.asarray(image), looks.subject)
        return row, said, seen, softmax(first.logits[0])

    file = _name_part(name, k, n_parts)
    if not file.exists():
        found = zip(*map_in_order(see, sources[k::n_parts], n_jobs=N_JOBS), strict=True)
        values = {
            what: np.stack(rows).astype(np.float32) for what, rows in zip(SEEN, found, strict=True)
        }
        CELLS.mkdir(parents=True, exist_ok=True)
        np.savez(file, **values)
    with np.load(file) as known:
        return dict(known)


def _name_part(name: str, k: int, n_parts: int) -> Path:
    return CELLS / f"{name}-{VERSION} {k + 1} of {n_parts}.npz"


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
