"""Places: where the mark of a kind is, on its best examples and in a new image."""

from fieldguide.chapters.places.chapter import NAME, build, open_part
from fieldguide.chapters.places.records import Located as ANSWER

__all__ = ["ANSWER", "NAME", "build", "open_part"]
