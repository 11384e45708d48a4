"""The key walked by hand: what it asks about is counted from what marks keep, when it is asked for.

Nothing is measured while a guide is built, and nothing is written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from fieldguide.chapters.walk.characters import Characters, read_characters
from fieldguide.chapters.walk.dichotomy import GrownKey, grow_of_marks
from fieldguide.chapters.walk.records import ImageWalk
from fieldguide.guide.models import Models
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.views import Kind
from fieldguide.guide.workspace import Workspace

NAME = "walk"
ANSWER = ImageWalk
N_KINDS = 10  # that a link carries; the others share what is left
_SIGNS = {True: "y", False: "n"}


class WalkPart:
    """What a guide knows of walks: what it can ask about."""

    def read(self, models: Models) -> Characters | None:
        """Return what a person can be asked about; None where the guide has no marks."""
        marks = models.part("marks")
        return None if marks is None else models.keep(NAME, lambda: read_characters(marks))

    def grow(self, models: Models) -> GrownKey | None:
        """Return a dichotomous key of characters; None where the guide has no marks."""
        characters = self.read(models)
        if characters is None:
            return None
        return models.keep("dichotomy", lambda: grow_of_marks(models.part("marks"), characters))

    def answer(self, sighting: Sighting) -> ImageWalk | None:
        """Return where a walk begins with what the machine says; None without questions."""
        characters = self.read(sighting.models)
        if characters is None and getattr(sighting.models.key, "graph_", None) is None:
            return None
        seen = see_characters(sighting, characters)
        likely = [(kind.name, kind.probability) for kind in sighting.kinds]
        return ImageWalk(likely[0][0], write_link(likely, seen))

    def compare(self, kind: Kind, other: Kind, models: Models) -> None:
        """Of two kinds a walk says nothing that marks do not say."""


def build(work: Workspace) -> None:
    """Measure nothing: marks keep all that a walk asks about."""


def open_part(edition: Path, about: dict[str, Any]) -> WalkPart:
    """Return what a guide knows of walks."""
    return WalkPart()


def see_characters(sighting: Sighting, characters: Characters | None) -> np.ndarray:
    """Return which characters a new image shows, as the machine sees it, (n_characters,)."""
    if characters is None:
        return np.zeros(0, dtype=bool)
    _, shows = sighting.models.part("marks").look_for_columns(sighting)
    characters_shown: np.ndarray = shows[characters.columns]
    return characters_shown


def write_link(kinds: Sequence[tuple[str, float]], seen: np.ndarray) -> str:
    """Return the address of a walk that begins with probable kinds and with what was seen."""
    start = ",".join(f"{quote(name, safe='')}:{p:.4f}" for name, p in kinds[:N_KINDS])
    return f"walk.html#start={start}&seen={''.join(_SIGNS[bool(each)] for each in seen)}"
