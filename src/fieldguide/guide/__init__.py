"""The guide: everything that is known of a collection, in one folder."""

from fieldguide.guide.answer import Answer
from fieldguide.guide.guide import Guide
from fieldguide.guide.views import Branch, Kind, Specimen, Unreadable, Word

__all__ = ["Answer", "Branch", "Guide", "Kind", "Specimen", "Unreadable", "Word"]
