"""What a guide says of a new image: its kinds, its place in the tree, its words, its way."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide.chapters import OPTIONAL
from fieldguide.features import TAUGHT, WordModel
from fieldguide.features.vocabulary import YES
from fieldguide.guide.answer import (
    Answer,
    AnswerBranch,
    NamedKind,
    Neighbour,
    ShownWord,
)
from fieldguide.guide.couplets import leaf_classes
from fieldguide.guide.found_kinds import BRANCHES, LABELS
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.views import KeyPath, PathStep
from fieldguide.identify import cost_of_classes, trace_path

if TYPE_CHECKING:
    from fieldguide.guide.guide import Guide

N_KINDS = 10
AGREEMENT = 0.6  # a new image sits at the deepest branch that holds this share of its neighbours
GROUP_CONFIDENCE = 0.9  # with which a group of kinds holds, where the kind alone is unsure


def answer_sighting(guide: "Guide", sighting: Sighting) -> Answer:
    """Return all that a guide says of one new image."""
    nearest = np.array([i for i in sighting.nearest if i not in guide.overlay.excluded])
    branch = place_row(guide, nearest)
    return Answer(
        merge_kinds(guide, sighting)[:N_KINDS],
        AnswerBranch(branch, guide.sentence(branch)),
        find_words(guide, sighting),
        tuple(Neighbour(s.id, s.path, s.kind) for s in guide.specimens(nearest)),
        path=follow_key(guide, sighting) if guide.couplets else None,
        none_of_these=bool(sighting.kinds) and sighting.is_stranger,
        nothing_to_see=sighting.is_empty,
        group=tuple(dict.fromkeys(guide.overlay.kind(name) for name in find_group(sighting))),
        kinds_from=_find_origin(guide) if sighting.kinds else None,
        parts=answer_parts(sighting),
    )


def merge_kinds(guide: "Guide", sighting: Sighting) -> tuple[NamedKind, ...]:
    """Return the kinds of an image, most probable first; those that the owner merged are one."""
    if not guide.overlay.aliases:
        return sighting.kinds
    probability: dict[str, float] = {}
    for kind in sighting.kinds:
        name = guide.overlay.kind(kind.name)
        probability[name] = probability.get(name, 0.0) + kind.probability
    return tuple(NamedKind(*pair) for pair in sorted(probability.items(), key=lambda p: -p[1]))


def _find_origin(guide: "Guide") -> str:
    return BRANCHES if guide.kinds_are_found else LABELS


def find_group(sighting: Sighting) -> tuple[str, ...]:
    """Return the kinds among which an image is, nine times in ten; () where that is not known."""
    key = sighting.models.key
    if key is None or not len(getattr(key, "rank_doubts_", ())):
        return ()
    members = key.predict_likeliest(sighting.row, GROUP_CONFIDENCE)[0]
    names = {str(name) for name in key.classes_[members]}
    return tuple(kind.name for kind in sighting.kinds if kind.name in names)


def answer_parts(sighting: Sighting) -> dict[str, Any]:
    """Return what the optional chapters say of an image; nothing where there are no kinds."""
    if not sighting.kinds:
        return {}
    opened = ((name, sighting.models.part(name)) for name in OPTIONAL)
    said = ((name, part.answer(sighting)) for name, part in opened if part is not None)
    return {name: record for name, record in said if record is not None}


def follow_key(guide: "Guide", sighting: Sighting) -> KeyPath:
    """Return the way of an image through the key, and what the answer costs."""
    key, row = sighting.models.key, sighting.row
    couplets = {couplet.node: couplet for couplet in guide.couplets}
    traced = trace_path(key, row)
    end = leaf_classes(key.graph_, -1 - traced[-1].child)
    steps = []
    for step in traced:
        couplet, side = couplets[step.node], "plus" if step.margin > 0 else "minus"
        kinds = (couplet.minus, couplet.both, couplet.plus)
        words = (
            tuple(word.name for word in said.words)
            for said in guide.describe_couplet(couplet.number)
        )
        steps.append(PathStep(couplet.number, side, step.margin, step.probability, *kinds, *words))
    return KeyPath(
        tuple(steps),
        tuple(str(key.classes_[k]) for k in end),
        int(key.evaluations(row)[0]),
        cost_of_classes(key.graph_),
    )


def place_row(guide: "Guide", nearest: np.ndarray) -> int:
    """Return the deepest branch that holds most of the nearest specimens."""
    votes = np.zeros(len(guide.branches))
    for specimen in guide.specimens(nearest):
        votes[guide.path(specimen.branch)] += 1 / len(nearest)
    agreed = [0, *np.flatnonzero(votes >= AGREEMENT)]
    return int(max(agreed, key=lambda b: guide.branches[b].depth))


def find_words(guide: "Guide", sighting: Sighting) -> tuple[ShownWord, ...]:
    """Return the words that a new image shows, surest first, those of the picture itself last."""
    model, scores = sighting.models.word_model, sighting.word_scores
    is_picture = np.array([s in WordModel.AROUND for s in model.sources_], dtype=bool)
    order = [j for j in np.lexsort((-scores, is_picture)) if scores[j] >= YES]
    found = [
        (bool(is_picture[j]), float(scores[j]), guide.overlay.word(model.names_[j]))
        for j in order
        if model.sources_[j] != TAUGHT
    ]
    taught = ((name, word.score(sighting.row)) for name, word in guide.taught.items())
    found += [(False, score, name) for name, score in taught if score >= YES]
    found.sort(key=lambda each: (each[0], -each[1]))
    return tuple(ShownWord(name, score) for _, score, name in found if name is not None)
