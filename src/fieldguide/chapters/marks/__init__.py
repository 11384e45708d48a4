"""Field marks: what tells a kind from the others, and which of it a new image shows."""

from fieldguide.chapters.marks.chapter import NAME, build, open_part

__all__ = ["NAME", "build", "open_part"]
