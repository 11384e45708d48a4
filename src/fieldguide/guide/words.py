"""The words of a guide: what each specimen shows, as one matrix of attributes with names."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from fieldguide.errors import GuideError
from fieldguide.features import AttributeMatrix, TextVocabulary, WordModel
from fieldguide.guide import annotation, nearest, rows, specimens
from fieldguide.guide import folder as files
from fieldguide.guide.annotation import Filled
from fieldguide.guide.nearest import find_near
from fieldguide.guide.specimens import Table
from fieldguide.guide.teaching import learn_word
from fieldguide.guide.workspace import Workspace

NAME = "words"


class Words(NamedTuple):
    """What specimens show, and which are alike."""

    matrix: AttributeMatrix
    near: np.ndarray  # (n_specimens, k), the nearest specimens of each
    model: WordModel
    doubtful: frozenset[str] = frozenset()  # taught words that do not hold on other pictures


def build(work: Workspace) -> None:
    """Put every specimen into words: the network's, the picture's, and the owner's."""
    work.progress("finding words", 0, 1)
    table: Table = work.built[specimens.NAME]
    filled: Filled = work.built[annotation.NAME]
    X = work.built[rows.NAME].X
    reduced = work.built.get(nearest.NAME)
    near = find_near(X, WordModel.N_NEAR, reduced=reduced, n_jobs=work.n_jobs)
    model = WordModel()
    logits, vocabulary, told = read_said(work), find_words(work), None
    if vocabulary is not None:
        told = vocabulary.tell(np.asarray(table.features["embedding"]), near, table.kinds)
        files.write_model(work.draft, files.TEXTS, *vocabulary.to_state())
    lessons = table.hand.lessons.items()
    taught = {word: learn_word(X, lesson) for word, lesson in lessons if lesson.is_enough}
    words: AttributeMatrix = model.fit_transform(
        None if logits is None else softmax(logits, axis=1),
        np.asarray(table.features["properties"]),
        seen=work.built[rows.NAME].seen,
        near=near,
        kinds=table.kinds,
        paths=[record.path for record in table.records],
        keywords=[
            work.collection.items[row].keywords + record.keywords
            for row, record in zip(table.item_rows, table.records, strict=True)
        ],
        annotated=filled.attributes,
        annotated_names=filled.names if filled.attributes is not None else None,
        taught={word: learnt.scores for word, learnt in taught.items()},
        vocabulary=told,
        corrected=table.hand.words,
    )
    doubtful = (word for word, learnt in taught.items() if not learnt.reliability.holds)
    work.built[NAME] = Words(words, near, model, frozenset(doubtful))
    work.info["n_words"] = len(words.names)
    work.info["common_words"] = list(model.common_)
    np.save(work.draft.new(files.feature_file("attributes")), np.nan_to_num(words.scores))
    files.write_record(work.draft, files.WORDS, model.to_dict())


def find_words(work: Workspace) -> TextVocabulary | None:
    """Return the list of words that pictures are told in: the one that was asked for, the one of
    the guide that is added to, or the one beside the network; None where there is none."""
    asked, earlier = work.settings.vocabulary, work.earlier.folder
    if asked is not None:
        return TextVocabulary.open(Path(asked))
    if work.settings.adds_to is not None:
        return None if earlier is None else open_texts(earlier)
    return TextVocabulary.find(work.settings.embedder)


def read_said(work: Workspace) -> np.ndarray | None:
    """Return what the network says of each specimen, (n, n_classes): the logarithms of what both
    looks make of its classes, or the logits of the first look. None where it has no classes."""
    said = work.built[rows.NAME].said
    if said is None:
        said = work.built[specimens.NAME].features.get("logits")
    return None if said is None else np.asarray(said)


def open_texts(edition: Path) -> TextVocabulary | None:
    """Return the list of words that a guide's pictures are told in; None where there is none."""
    if not (edition / f"{files.TEXTS}.safetensors").exists():
        return None
    return files.read_model(edition, files.TEXTS, "vocabulary", TextVocabulary.from_state)


def open_words(edition: Path) -> WordModel:
    """Return what puts an image into words."""
    path = edition / files.WORDS
    try:
        return WordModel.from_dict(files.read_json(path))
    except GuideError:
        raise
    except Exception as error:  # a damaged file may say anything
        raise GuideError(
            f"The words {str(path)!r} cannot be read ({str(error).rstrip('.')}); build the guide "
            "again."
        ) from None
