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

CELLS = Path("out/bench/seen")
VERSION = 2  # raise it when pictures are seen in another way
N_JOBS = 2


class Seen(NamedTuple):
    """What a build sees of a collection."""

    kinds: list[str]
    stems: list[str]
    X: np.ndarray  # (n, n_columns), rows of length 1
    probabilities: np.ndarray  # (n, 1000), by both looks
    seen: np.ndarray  # (n, n_words) of subjects
    first: np.ndarray  # (n, 1000), by the first look


def look_at(name: str, sources: list[Any], kinds: list[str]) -> Seen:
    """Return what both looks see; from the folder of cells if it is known."""
    file = CELLS / f"{name}-{VERSION}.npz"
    if not file.exists():
        network = Network()
        drawn = np.sort(np.random.default_rng(0).permutation(len(sources))[:300])
        stack = FeatureStack("looks", n_jobs=N_JOBS).fit(
            [sources[i] for i in drawn], network=network
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
        CELLS.mkdir(parents=True, exist_ok=True)
        np.savez(file, X=X, probabilities=probabilities, seen=seen, first=first)
    known = np.load(file)
    stems = [str(s.stem) if isinstance(s, Path) else str(i) for i, s in enumerate(sources)]
    arrays = (known[name] for name in ("X", "probabilities", "seen", "first"))
    return Seen(kinds, stems, *arrays)
