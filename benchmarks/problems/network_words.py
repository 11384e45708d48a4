"""How often what a network lets us say of pictures is true; ``networks`` prints it.

| words | shown by a picture |
|---|---|
| of the network, CUB-200 | *bird*, and the group of each shape that 15 % of annotators' votes say |
| of the network, specimens | the family that was drawn |
| of the subject | what ``subject_words`` takes for the truth, of the words that it knows of |

A word of the network is right if the picture shows it or a word above it, or if it is above what
the picture shows: of what was drawn as a songbird, *finch* is right. Precision is the share of the
words said that are right, ± half a 95 % interval over kinds.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from benchmarks.problems.subject_words import VOTED, WORDS
from benchmarks.problems.words import find_false
from fieldguide.features.vocabulary import (
    YES,
    load_vocabulary,
    score_words,
    word_chances,
    word_probabilities,
)
from fieldguide.features.word_support import N_NEAR, find_supported, pool_chances
from fieldguide.guide.nearest import find_near

SHAPES = {
    "duck-like": "water bird",
    "gull-like": "water bird",
    "long-legged-like": "water bird",
    "sandpiper-like": "water bird",
    "chicken-like-marsh": "water bird",
    "upright-perching_water-like": "water bird",
    "perching-like": "songbird",
    "hummingbird-like": "hummingbird",
    "hawk-like": "bird of prey",
    "owl-like": "owl",
}
FAMILIES = {
    "songbirds": "songbird",
    "ducks": "duck",
    "owls": "owl",
    "reef fishes": "fish",
    "river fishes": "fish",
    "beetles": "beetle",
    "butterflies": "butterfly",
    "moths": "butterfly",
    "dragonflies": "dragonfly",
    "snails": "snail or slug",
    "broad leaves": "plant",
    "gilled mushrooms": "mushroom",
    "ridged mushrooms": "mushroom",
}
WAYS = (
    "of the network, each picture alone",
    "of the network, in a guide without labels",
    "of the subject",
)


class Shown(NamedTuple):
    """What pictures show, as far as it is known."""

    listed: np.ndarray  # (n, n_words) bool, of the vocabulary
    of_subject: Mapping[str, np.ndarray]  # by word, (n,) bool


def list_shapes(of_species: np.ndarray, names: Sequence[str], target: np.ndarray) -> np.ndarray:
    """Return which words the pictures of birds show by the votes for the shapes of species."""
    groups = [["bird"] for _ in of_species]
    for shape, word in SHAPES.items():
        for k in np.flatnonzero(of_species[:, names.index(f"has_shape::{shape}")] >= VOTED):
            groups[k].append(word)
    return list_words([groups[k] for k in target])


def list_words(shown: Sequence[Sequence[str]]) -> np.ndarray:
    """Return which words of the vocabulary each picture shows, (n, n_words) bool."""
    names = load_vocabulary().names
    listed = np.zeros((len(shown), len(names)), dtype=bool)
    for row, words in zip(listed, shown, strict=True):
        row[[names.index(word) for word in words]] = True
    return listed


def judge_words(
    X: np.ndarray, said: np.ndarray, seen: np.ndarray, shown: Shown, target: np.ndarray
) -> dict[str, dict[str, float]]:
    """Return precision with its spread, and words a picture, of each way to say words.

    ``said`` has the probabilities of the network's classes, ``seen`` the scores of the subject's
    words; either may have no columns. ``target`` has the kinds.
    """
    found = {}
    if said.shape[1]:
        alone = score_words(word_probabilities(said)) >= YES
        scores = score_words(pool_chances(word_chances(said), find_near(X, N_NEAR)))
        in_guide = (scores >= YES) & find_supported(scores)
        for way, yes in zip(WAYS, (alone, in_guide), strict=False):
            found[way] = count_right(yes, ~find_false(yes, shown.listed), target)
    if seen.shape[1]:
        known = [word for word in WORDS if word in shown.of_subject]
        yes = seen[:, [WORDS.index(word) for word in known]] >= YES
        truth = np.stack([shown.of_subject[word] for word in known], axis=1)
        found[WAYS[-1]] = count_right(yes, truth, target)
    return {way: told for way, told in found.items() if told["said"]}


def count_right(yes: np.ndarray, is_right: np.ndarray, target: np.ndarray) -> dict[str, float]:
    """Return the share of the words said that are right, half its 95 % interval, words a picture.

    Words of one kind are right or wrong together, so that the interval is over kinds: that of the
    ratio of two sums.
    """
    kinds = np.unique(target)
    said = np.array([yes[target == kind].sum() for kind in kinds])
    right = np.array([(yes & is_right)[target == kind].sum() for kind in kinds])
    precision, n = right.sum() / max(said.sum(), 1), len(kinds)
    rest = right - precision * said
    half = student.ppf(0.975, n - 1) * np.sqrt(n / (n - 1) * (rest**2).sum()) / max(said.sum(), 1)
    return {"precision": float(precision), "half": float(half), "said": float(yes.sum() / len(yes))}


def table(rows: Sequence[dict]) -> list[str]:
    """Return the lines of a table: precision, and in brackets how many words a picture has."""
    lines = [
        f"| words' precision (words a picture) | network | {' | '.join(WAYS)} |",
        "|---|---|---|---|---|",
    ]
    for name in rows[0]["words"] if rows else ():
        for row in rows:
            cells = [tell(row["words"][name].get(way)) for way in WAYS]
            lines.append(f"| {name} | {row['network']} | {' | '.join(cells)} |")
    return lines


def tell(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "–"
    return f"{found['precision']:.3f} ± {found['half']:.3f} ({found['said']:.1f})"
