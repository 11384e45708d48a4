"""Does a person who walks the key by hand come to the right kind, and after how many questions?

A person is simulated: asked about a specimen, it answers by what is true of it, and wrongly now and
then. Half of the specimens of each kind make the table of a walk, as a guide makes it of the
owner's attributes; the other half are walked, each until the walk itself would end: a kind has a
probability of 0.9, or nothing is left to ask that would tell more.

- **specimens**: the drawn collection with the attributes that it was drawn by.
- **CUB-200**: an attribute is true of a bird where at least half of the votes for its species say
  so. The votes are of species and not of pictures, so that all birds of a species have the same.
- **CUB-200, by votes**: of each bird, each attribute is drawn by the share of the votes, as if each
  question were answered by another annotator: the person and the table are both as unsure as those
  annotators were.

The constants of the walk were chosen on seed 0; the figures are of seeds 1 to 5.

    python benchmarks/run.py --only walks --data DIR
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide.chapters.marks.model import Marks
from fieldguide.chapters.marks.pool import OWNER, Column, Pool
from fieldguide.chapters.walk.belief import to_levels
from fieldguide.chapters.walk.characters import read_characters
from fieldguide.chapters.walk.questions import Question, Questions
from fieldguide.chapters.walk.walking import Walk
from fieldguide.datasets import load_cub200, load_specimens
from fieldguide.guide.apart import deal_folds

SEEDS = range(1, 6)
N_WALKS = 400  # of each seed
WRONG = (0.0, 0.1, 0.2)


class Known(NamedTuple):
    """Specimens with their true attributes."""

    kinds: tuple[str, ...]
    index: np.ndarray  # (n,) the number of the kind
    names: tuple[str, ...]  # of the attributes
    shows: np.ndarray  # (n, n_attributes) bool


class Walked(NamedTuple):
    """How a walk ended."""

    is_right: bool
    n_questions: int
    probability: float  # of the kind that it names


def run(data: Path | None, *, tiny: bool) -> dict:
    sets = {"specimens": know_specimens(8 if tiny else 24)}
    if data is not None and not tiny:
        sets |= know_birds(data / "cub200")
    seeds, n_walks = (SEEDS[:1], 20) if tiny else (SEEDS, N_WALKS)
    rows = []
    for name, known in sets.items():
        for wrong in WRONG:
            runs = [judge_walks(known, wrong, seed, n_walks) for seed in seeds]
            rows.append({"data": name, "wrong": wrong, **summarise(runs)})
    return {"rows": rows}


def know_specimens(n_per_kind: int) -> Known:
    drawn = load_specimens(n_per_kind=n_per_kind, size_px=64)
    names = tuple(drawn.target_names), tuple(drawn.attribute_names)
    return Known(names[0], np.asarray(drawn.target), names[1], np.asarray(drawn.attributes) > 0)


def know_birds(folder: Path) -> dict[str, Known]:
    birds = load_cub200(folder)
    index, votes = np.asarray(birds.target), np.asarray(birds.attributes)
    drawn = np.random.default_rng(0).random(votes.shape) < votes
    names = tuple(birds.target_names), tuple(birds.attribute_names)
    return {
        "CUB-200": Known(names[0], index, names[1], votes >= 0.5),
        "CUB-200, by votes": Known(names[0], index, names[1], drawn),
    }


def judge_walks(known: Known, wrong: float, seed: int, n_walks: int) -> list[Walked]:
    """Walk some of the specimens that did not make the table."""
    rng = np.random.default_rng(seed)
    is_half = np.zeros(len(known.index), dtype=bool)
    for k in range(len(known.kinds)):
        own = rng.permutation(np.flatnonzero(known.index == k))
        is_half[own[: len(own) // 2]] = True
    questions, columns = make_questions(known, is_half)
    others = rng.permutation(np.flatnonzero(~is_half))[:n_walks]
    return [
        walk(questions, known.shows[i, columns], int(known.index[i]), wrong, rng) for i in others
    ]


def make_questions(known: Known, rows: np.ndarray) -> tuple[Questions, np.ndarray]:
    """Return what a guide of these rows asks, and the attribute of each question."""
    index = known.index[rows].astype(np.int32)
    pool = Pool(tuple(Column(name, OWNER) for name in known.names), known.shows[rows], None)
    found = read_characters(Marks(known.kinds, index, deal_folds(index, 0), pool, ()))
    asked = tuple(Question(*each) for each in found.characters)
    return Questions(found.kinds, asked, to_levels(found.shares), len(asked)), found.columns


def walk(
    questions: Questions, true: np.ndarray, kind: int, wrong: float, rng: np.random.Generator
) -> Walked:
    """Answer by what is true, and wrongly now and then, until the walk ends."""
    walked = Walk(questions)
    while not walked.is_decided and (j := walked.next_question(by_couplets=False)) is not None:
        walked.answer(j, bool(true[j]) != (rng.random() < wrong))
    belief = walked.belief
    return Walked(int(belief.argmax()) == kind, len(walked.answers), float(belief.max()))


def summarise(runs: list[list[Walked]]) -> dict[str, Any]:
    accuracies = [np.mean([each.is_right for each in walks]) for walks in runs]
    every = [each for walks in runs for each in walks]
    return {
        "accuracy": float(np.mean(accuracies)),
        "spread": float(np.std(accuracies)),
        "questions": float(np.mean([each.n_questions for each in every])),
        "most": int(np.quantile([each.n_questions for each in every], 0.9)),
        "said": float(np.mean([each.probability for each in every])),
    }


def table(result: dict) -> str:
    lines = ["| data | wrong answers | right | questions | nine in ten within | it says |"]
    lines.append("|---|---|---|---|---|---|")
    for row in result["rows"]:
        right = f"{row['accuracy']:.3f} ± {row['spread']:.3f}"
        lines.append(
            f"| {row['data']} | {row['wrong']:.0%} | {right} | {row['questions']:.1f} "
            f"| {row['most']} | {row['said']:.2f} |"
        )
    return "\n".join(lines)
