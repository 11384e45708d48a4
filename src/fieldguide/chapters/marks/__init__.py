"""Field marks: what tells a kind from the others, and which of it a new image shows."""

from fieldguide.chapters.marks.chapter import NAME, build, open_part
from fieldguide.chapters.marks.records import ImageMarks as ANSWER

__all__ = ["ANSWER", "NAME", "build", "open_part"]
