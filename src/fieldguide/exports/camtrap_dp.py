"""Specimens as observations of Camtrap DP 1.0: the columns of its table ``observations``.

A specimen has up to two rows: its label, classified by a human, and what the key says of it when it
is held out, classified by a machine with a probability. The table knows no type of observation for
things, so that both are of ``animal``. ``deploymentID`` is the folder of the
picture. Where cameras stood and when, which ``deployments`` and ``media`` need, a guide does not
know.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fieldguide._csv import write_table
from fieldguide.exports.darwin_core import name_classifier
from fieldguide.exports.order import Order
from fieldguide.exports.specimen_rows import SpecimenRow, list_rows
from fieldguide.guide.answer import N_DIGITS

COLUMNS = (
    *("observationID", "deploymentID", "mediaID", "eventID", "eventStart", "eventEnd"),
    *("observationLevel", "observationType", "cameraSetupType", "scientificName", "count"),
    *("lifeStage", "sex", "behavior", "individualID", "individualPositionRadius"),
    *("individualPositionAngle", "individualSpeed", "bboxX", "bboxY", "bboxWidth", "bboxHeight"),
    *("classificationMethod", "classifiedBy", "classificationTimestamp"),
    *("classificationProbability", "observationTags", "observationComments"),
)


def write(order: Order) -> Path:
    """Write the table."""
    classifier, built = name_classifier(order), order.guide.about["created"]
    rows = (
        [values.get(column) for column in COLUMNS]
        for row in list_rows(order)
        for values in _describe(row, classifier, built)
    )
    write_table(order.target, COLUMNS, rows)
    return order.target


def _describe(row: SpecimenRow, classifier: str, built: str) -> Iterator[dict[str, Any]]:
    shared = {
        "deploymentID": row.path.rpartition("/")[0] or ".",
        "mediaID": row.path,
        "eventStart": row.date,
        "eventEnd": row.date,
        "observationLevel": "media",
        "observationType": "unclassified",
        **_word_box(row),
        "observationTags": " | ".join(row.words),
        "observationComments": row.caption,
    }
    if row.kind is None and row.answer is None:
        yield {**shared, "observationID": row.path}
    if row.kind is not None:
        human = {"classificationMethod": "human", "scientificName": row.kind}
        yield {**shared, **human, "observationType": "animal", "observationID": f"{row.path}#human"}
    if row.answer is not None:
        yield {
            **shared,
            "observationID": f"{row.path}#machine",
            "observationType": "animal",
            "scientificName": row.answer,
            "classificationMethod": "machine",
            "classifiedBy": classifier,
            "classificationTimestamp": built,
            "classificationProbability": row.confidence,
        }


def _word_box(row: SpecimenRow) -> dict[str, float]:
    if row.subject_x0 is None:
        return {}
    x0, y0, x1, y1 = row.subject_x0, row.subject_y0, row.subject_x1, row.subject_y1
    assert y0 is not None
    assert x1 is not None
    assert y1 is not None
    box = {"bboxX": x0, "bboxY": y0, "bboxWidth": x1 - x0, "bboxHeight": y1 - y0}
    return {name: round(value, N_DIGITS) for name, value in box.items()}
