"""The imagefolder with Croissant metadata: ``croissant.json`` says what its files and columns are.

The form is version 1.0 of Croissant, JSON-LD with the vocabulary of schema.org.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from fieldguide._files import encode_json
from fieldguide.exports.imagefolder import METADATA, ImageFolder, write_pictures
from fieldguide.exports.order import Order
from fieldguide.exports.specimen_rows import SpecimenRow

CROISSANT = "croissant.json"
_TYPES = {str: "sc:Text", int: "sc:Integer", float: "sc:Float"}
_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject"),
    *("fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField"),
    *("path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in _TERMS},
}


def write(order: Order) -> Path:
    """Write the folder, or bring an earlier one up to date."""
    return write_pictures(order, _Described(order))


class _Described(ImageFolder):
    """The imagefolder, and the file that describes it."""

    form, first = "croissant", CROISSANT

    def list_names(self) -> list[str]:
        """Return the name of every file."""
        return [*super().list_names(), CROISSANT]

    def write(self, work: Path, progress: Callable[[str, int, int], None] | None) -> None:
        """Write every file below ``work``."""
        super().write(work, progress)
        digest = hashlib.sha256((work / METADATA).read_bytes()).hexdigest()
        (work / CROISSANT).write_bytes(encode_json(self._describe(digest)))

    def _describe(self, digest: str) -> dict[str, Any]:
        guide = self.order.guide
        table = {
            "@type": "cr:FileObject",
            "@id": "metadata",
            "name": METADATA,
            "contentUrl": METADATA,
            "encodingFormat": "application/jsonlines",
            "sha256": digest,
        }
        pictures = {
            "@type": "cr:FileSet",
            "@id": "pictures",
            "name": "pictures",
            "encodingFormat": "image/*",
            "includes": "images/*",
        }
        fields = [_describe_column("file_name", str)]
        fields += [_describe_column(*each) for each in get_type_hints(SpecimenRow).items()]
        return {
            "@context": _CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": guide.title,
            "description": guide.summary,
            "dateCreated": guide.about["created"],
            "distribution": [table, pictures],
            "recordSet": [
                {
                    "@type": "cr:RecordSet",
                    "@id": "specimens",
                    "name": "specimens",
                    "key": {"@id": "specimens/id"},
                    "field": fields,
                }
            ],
        }


def _describe_column(name: str, hint: Any) -> dict[str, Any]:
    is_list = get_origin(hint) is tuple
    plain = get_args(hint)[0] if is_list or isinstance(hint, UnionType) else hint
    repeated = {"repeated": True} if is_list else {}
    return {
        "@type": "cr:Field",
        "@id": f"specimens/{name}",
        "name": name,
        # Readers take a column of this name for times, whatever it is said to be.
        "dataType": "sc:DateTime" if name == "date" else _TYPES[plain],
        **repeated,
        "source": {"fileObject": {"@id": "metadata"}, "extract": {"column": name}},
    }
