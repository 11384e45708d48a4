"""Specimens as Simple Darwin Core: an occurrence each, with the terms of the standard as columns.

A label is ``verbatimIdentification``: whether it is a scientific name, only the owner knows. What
the key says of the held-out specimen stands in ``identificationRemarks`` and, for programs, in
``dynamicProperties``.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fieldguide._csv import write_table
from fieldguide.exports.order import Order
from fieldguide.exports.specimen_rows import SpecimenRow, list_rows

COLUMNS = (
    "occurrenceID",
    "basisOfRecord",
    "datasetName",
    "eventDate",
    "decimalLatitude",
    "decimalLongitude",
    "geodeticDatum",
    "verbatimIdentification",
    "identifiedBy",
    "identificationRemarks",
    "associatedMedia",
    "occurrenceRemarks",
    "dynamicProperties",
)


def name_classifier(order: Order) -> str:
    """Return who classified: the program, its version, and what kind of key it was."""
    key = order.guide.about["settings"].get("key")
    return f"Fieldguide {version('fieldguide')}{f', {key}' if key else ''}"


def write(order: Order) -> Path:
    """Write the table."""
    classifier = name_classifier(order)
    rows = (_describe(order, row, classifier) for row in list_rows(order))
    write_table(order.target, COLUMNS, rows)
    return order.target


def _describe(order: Order, row: SpecimenRow, classifier: str) -> tuple[Any, ...]:
    said: str | None = None
    properties: dict[str, Any] = {}
    if row.answer is not None:
        said = f"the key, when it had not seen this picture, says {row.answer}"
        properties = {
            "classifiedBy": classifier,
            "classificationMethod": "machine",
            "classifiedAs": row.answer,
            "classificationProbability": row.confidence,
        }
    if row.words:
        properties["words"] = list(row.words)
    return (
        row.path,
        "MachineObservation",  # evidence that a camera recorded
        order.guide.title,
        row.date,
        row.latitude,
        row.longitude,
        None if row.latitude is None else "WGS84",
        row.kind if row.kind is not None else row.answer,
        None if row.kind is not None else (classifier if row.answer else None),
        said,
        row.path,
        row.caption,
        json.dumps(properties, ensure_ascii=False) if properties else None,
    )
