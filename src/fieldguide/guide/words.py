"""The words of a guide: what each specimen shows, as one matrix of attributes with names."""

from pathlib import Path

import numpy as np
from scipy.special import softmax

from fieldguide.errors import GuideError
from fieldguide.features import AttributeMatrix, WordModel
from fieldguide.guide import annotation, specimens
from fieldguide.guide import folder as files
from fieldguide.guide.annotation import Filled
from fieldguide.guide.specimens import Table
from fieldguide.guide.workspace import Workspace

NAME = "words"


def build(work: Workspace) -> None:
    """Put every specimen into words: the network's, the picture's, and the owner's."""
    work.progress("finding words", 0, 1)
    table: Table = work.built[specimens.NAME]
    filled: Filled = work.built[annotation.NAME]
    model = WordModel()
    logits = table.features.get("logits")
    words: AttributeMatrix = model.fit_transform(
        None if logits is None else softmax(np.asarray(logits), axis=1),
        np.asarray(table.features["properties"]),
        kinds=table.kinds,
        paths=[record.path for record in table.records],
        keywords=[
            work.collection.items[row].keywords + record.keywords
            for row, record in zip(table.item_rows, table.records, strict=True)
        ],
        annotated=filled.attributes,
        annotated_names=filled.names if filled.attributes is not None else None,
    )
    work.built[NAME] = words
    work.info["n_words"] = len(words.names)
    np.save(work.draft.new(files.feature_file("attributes")), words.scores)
    files.write_record(work.draft, files.WORDS, model.to_dict())


def open_words(edition: Path) -> WordModel:
    """Return what puts an image into words."""
    path = edition / files.WORDS
    try:
        return WordModel.from_dict(files.read_json(path))
    except (KeyError, ValueError, TypeError) as error:
        raise GuideError(
            f"The words {str(path)!r} cannot be read ({error}); build the guide again."
        ) from None
