"""A place for stand-in guides: the upper left corner."""

from fieldguide.chapters.places.records import Located, Place


def locate_corner(kind):
    ring = ((0.0, 0.0), (0.25, 0.0), (0.25, 0.3), (0.0, 0.3))
    return Located(kind, "teal", 0.7, 0.08, (Place((0.0, 0.0, 0.25, 0.3), (ring,), 0.7),))
