"""What the collection knows about a kind, apart from how its body plan is drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fieldguide.datasets.specimens.canvas import Pen


@dataclass(frozen=True)
class Stance:
    """One way in which a kind is seen.

    Attributes
    ----------
    words : tuple of str
        Attributes that hold for every specimen in this stance.
    weight : float
        How often it occurs, relative to the other stances of the kind.
    scenes : mapping of str to float
        Names of backgrounds and their relative frequencies.
    tilt : float
        Standard deviation of the rotation in radians; infinite: any direction.
    size : tuple of float
        Smallest and largest length of the creature, in fractions of the picture.
    is_grounded : bool
        Whether it stands on something, and so casts its shadow there.
    is_directed : bool
        Whether it faces left or right.
    """

    words: tuple[str, ...]
    weight: float
    scenes: Mapping[str, float]
    tilt: float = 0.12
    size: tuple[float, float] = (0.55, 0.9)
    is_grounded: bool = False
    is_directed: bool = False


DrawFunction = Callable[[Pen, np.random.Generator, Any, str, float], set[str]]


@dataclass(frozen=True)
class Kind:
    """One kind of the collection.

    Attributes
    ----------
    name, family, group : str
        The three levels of the taxonomy, from the finest.
    draw : callable
        ``draw(pen, rng, look, stance, phase)`` draws one specimen about the origin and returns
        the words that hold for this specimen alone; ``phase`` in [0, 1) is the moment of the
        movement (a wing beat, a swing of the tail).
    look : object
        Colours and proportions, of whatever type the body plan wants.
    words : tuple of str
        Attributes that hold for every specimen.
    marks : mapping of str to tuple of str
        Field marks, each with the attributes that hold where it can be seen.
    stances : mapping of str to Stance
        The ways in which it is seen.
    """

    name: str
    family: str
    group: str
    draw: DrawFunction
    look: Any
    words: tuple[str, ...]
    marks: Mapping[str, tuple[str, ...]]
    stances: Mapping[str, Stance] = field(default_factory=dict)
