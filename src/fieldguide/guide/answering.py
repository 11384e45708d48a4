"""What a guide says of a new image: its kinds, its place in the tree, its words, its way."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from fieldguide.chapters import OPTIONAL
from fieldguide.features import WordModel
from fieldguide.features.vocabulary import YES
from fieldguide.guide.answer import (
    Answer,
    AnswerBranch,
    Neighbour,
    ShownWord,
)
from fieldguide.guide.couplets import leaf_classes
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.summaries import find_largest
from fieldguide.guide.views import KeyPath, PathStep
from fieldguide.identify import cost_of_classes, trace_path

if TYPE_CHECKING:
    from fieldguide.guide.guide import Guide

N_KINDS = 10
N_NEIGHBOURS = 10
AGREEMENT = 0.6  # a new image sits at the deepest branch that holds this share of its neighbours
GROUP_CONFIDENCE = 0.9  # with which a group of kinds holds, where the kind alone is unsure


def answer_sighting(guide: "Guide", sighting: Sighting) -> Answer:
    """Return all that a guide says of one new image."""
    models, row = sighting.models, sighting.row
    nearest = find_largest(row @ models.rows.T, min(N_NEIGHBOURS, guide.n_specimens))[0]
    branch = place_row(guide, nearest)
    return Answer(
        sighting.kinds[:N_KINDS],
        AnswerBranch(branch, guide.sentence(branch)),
        word_sighting(sighting, nearest),
        tuple(Neighbour(s.id, s.path, s.kind) for s in guide.specimens(nearest)),
        path=follow_key(guide, sighting) if guide.couplets else None,
        parts=answer_parts(sighting),
    )


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
        steps.append(PathStep(couplet.number, side, step.margin, step.probability, *kinds))
    group: tuple[str, ...] = ()  # the kinds among which the row is, nine times in ten, if known
    if len(key.doubts_):
        members = key.predict_groups(row, GROUP_CONFIDENCE).members[0]
        group = tuple(str(kind) for kind in key.classes_[members])
    return KeyPath(
        tuple(steps),
        tuple(str(key.classes_[k]) for k in end),
        int(key.evaluations(row)[0]),
        cost_of_classes(key.graph_),
        group,
    )


def place_row(guide: "Guide", nearest: np.ndarray) -> int:
    """Return the deepest branch that holds most of the nearest specimens."""
    votes = np.zeros(len(guide.branches))
    for specimen in guide.specimens(nearest):
        votes[guide.path(specimen.branch)] += 1 / len(nearest)
    agreed = np.flatnonzero(votes >= AGREEMENT)
    return int(max(agreed, key=lambda b: guide.branches[b].depth))


def word_sighting(sighting: Sighting, nearest: np.ndarray) -> tuple[ShownWord, ...]:
    """Return the words of a new image.

    What the network says is read as for the specimens, together with what it says of the nearest
    ones; what the picture and its subject show is measured. The owner's words, which a new image
    lacks, are what detectors say that were trained on the annotated specimens; words without
    a good detector are those that most of its nearest specimens show.
    """
    models, logits = sighting.models, sighting.see("whole")[0].logits
    chances, near = None, None
    if logits is not None and models.logits is not None:
        chances = softmax(logits, axis=1)
        near = [softmax(np.asarray(models.logits[nearest]), axis=1)]
    seen = sighting.seen
    measured = models.word_model.transform(chances, sighting.properties, seen=seen, near=near)
    borrowed = models.attributes[nearest].mean(axis=0)
    is_measured = np.array([s in WordModel.MEASURED for s in measured.sources], dtype=bool)
    scores = np.where(is_measured, np.nan_to_num(measured.scores[0]), borrowed)
    if models.annotation is not None:
        place = {name: j for j, name in enumerate(measured.names)}
        for name, score in zip(
            models.annotation.names, models.annotation.detect(sighting.row)[0], strict=True
        ):
            if name in place:
                scores[place[name]] = score
    is_picture = np.array([s in WordModel.AROUND for s in measured.sources], dtype=bool)
    order = [j for j in np.lexsort((-scores, is_picture)) if scores[j] >= YES]
    return tuple(ShownWord(measured.names[j], float(scores[j])) for j in order)
