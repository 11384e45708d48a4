"""Places: where the mark of a kind is, on its best examples and in a new image."""

from fieldguide.chapters.places.chapter import NAME, build, open_part

__all__ = ["NAME", "build", "open_part"]
