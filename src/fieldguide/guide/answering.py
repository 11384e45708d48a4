"""What a guide says of a new image: its kinds, its place in the tree, its words, its way."""

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from scipy.special import softmax

from fieldguide.errors import GuideError
from fieldguide.features.network import Outputs
from fieldguide.features.words import YES
from fieldguide.guide.answer import (
    Answer,
    AnswerBranch,
    ImageMarks,
    NamedKind,
    Neighbour,
    ShownWord,
)
from fieldguide.guide.couplets import leaf_classes
from fieldguide.guide.marks import see_marks
from fieldguide.guide.measure import describe_image
from fieldguide.guide.models import Models
from fieldguide.guide.summaries import find_largest, normalise_rows
from fieldguide.guide.views import KeyPath, Located, PathStep, SeenMarks
from fieldguide.identify import trace_path
from fieldguide.identify.cost import cost_of_classes

if TYPE_CHECKING:
    from fieldguide.guide.guide import Guide

N_KINDS = 10
N_NEIGHBOURS = 10
AGREEMENT = 0.6  # a new image sits at the deepest branch that holds this share of its neighbours
GROUP_CONFIDENCE = 0.9  # with which a group of kinds holds, where the kind alone is unsure


def answer_image(guide: "Guide", models: Models, image: Image.Image) -> Answer:
    """Return all that a guide says of one RGB image."""
    outputs, properties = describe_image(image, models.network)
    row = make_row(models, image, outputs)
    if row.shape[1] != models.rows.shape[1]:
        raise GuideError(
            f"The network gives {row.shape[1]} numbers and the guide has "
            f"{models.rows.shape[1]}; use the network that the guide was built with."
        )
    nearest = find_largest(row @ models.rows.T, min(N_NEIGHBOURS, guide.n_specimens))[0]
    kinds = name_row(models, row)
    branch = place_row(guide, nearest)
    seen = see_kind(models, image, kinds[0].name) if kinds else None
    return Answer(
        kinds[:N_KINDS],
        AnswerBranch(branch, guide.sentence(branch)),
        word_row(models, row, outputs, properties, nearest),
        tuple(Neighbour(s.id, s.path, s.kind) for s in guide.specimens(nearest)),
        path=follow_key(guide, models, row) if guide.couplets else None,
        located=locate_kind(models, image, kinds[0].name) if kinds else None,
        marks=None if seen is None else ImageMarks.from_seen(seen),
    )


def make_row(models: Models, image: Image.Image, outputs: Outputs) -> np.ndarray:
    """Return the row of a new image, (1, n_columns), as the specimens have theirs."""
    if models.stack is not None:
        return models.stack.describe([image], outputs.embedding)
    return normalise_rows(outputs.embedding)


def name_row(models: Models, row: np.ndarray) -> tuple[NamedKind, ...]:
    """Return every kind with its probability, most probable first; () without a key."""
    if models.key is None:
        return ()
    probability = models.key.predict_proba(row)[0]
    order = np.argsort(-probability, kind="stable")
    return tuple(NamedKind(str(models.key.classes_[k]), float(probability[k])) for k in order)


def locate_kind(models: Models, image: Image.Image, kind: str) -> Located | None:
    """Return where a kind shows in an image; None where the guide does not know."""
    places = models.places
    if places is None or kind not in places.kinds or models.cutter is None:
        return None
    return places.locate(models.cutter.cut(image), kind)


def see_kind(models: Models, image: Image.Image, kind: str) -> SeenMarks | None:
    """Return which marks of a kind an image shows; None where the guide knows none."""
    marks = models.marks
    if marks is None or kind not in marks.kinds:
        return None
    return see_marks(marks, kind, image, models.network, models.stack if marks.uses_stack else None)


def follow_key(guide: "Guide", models: Models, row: np.ndarray) -> KeyPath:
    """Return the way of a row through the key, and what the answer costs."""
    key = models.key
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


def word_row(
    models: Models,
    row: np.ndarray,
    outputs: Outputs,
    properties: np.ndarray,
    nearest: np.ndarray,
) -> tuple[ShownWord, ...]:
    """Return the words of a new image.

    What the network and the picture say is measured. The owner's words, which a new image
    lacks, are what detectors say that were trained on the annotated specimens; words without
    a good detector are those that most of its nearest specimens show.
    """
    logits = outputs.logits
    measured = models.word_model.transform(
        None if logits is None else softmax(logits, axis=1), properties
    )
    borrowed = models.attributes[nearest].mean(axis=0)
    is_measured = np.array([s in ("network", "picture") for s in measured.sources], dtype=bool)
    scores = np.where(is_measured, measured.scores[0], borrowed)
    if models.annotation is not None:
        place = {name: j for j, name in enumerate(measured.names)}
        for name, score in zip(
            models.annotation.names, models.annotation.detect(row)[0], strict=True
        ):
            if name in place:
                scores[place[name]] = score
    is_picture = np.array([s == "picture" for s in measured.sources], dtype=bool)
    order = [j for j in np.lexsort((-scores, is_picture)) if scores[j] >= YES]
    return tuple(ShownWord(measured.names[j], float(scores[j])) for j in order)
