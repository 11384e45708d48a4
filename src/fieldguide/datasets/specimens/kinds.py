"""Every kind of the collection, by the table ``kinds.json``, and the words that describe them.

A kind of the table names its body plan, a module here: ``draw`` draws it, and ``look`` holds the
fields of the plan's own record; ``"@NAME"`` stands for a shape that the module defines. A tilt of
``"any"`` is one in any direction.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fieldguide.datasets.specimens import (
    beetles,
    butterflies,
    dragonflies,
    ducks,
    fishes,
    leaves,
    mushrooms,
    owls,
    snails,
    songbirds,
)
from fieldguide.datasets.specimens.canvas import Pen
from fieldguide.datasets.specimens.scenery import SCENES


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


_LOOKS: dict[str, tuple[ModuleType, type]] = {
    "songbirds": (songbirds, songbirds.Plumage),
    "ducks": (ducks, ducks.Drake),
    "owls": (owls, owls.Owl),
    "fishes": (fishes, fishes.Fish),
    "beetles": (beetles, beetles.Beetle),
    "butterflies": (butterflies, butterflies.Wings),
    "dragonflies": (dragonflies, dragonflies.Dragonfly),
    "snails": (snails, snails.Snail),
    "leaves": (leaves, leaves.Leaf),
    "mushrooms": (mushrooms, mushrooms.Mushroom),
}
_OF_THE_PICTURE = (
    "facing left",
    "facing right",
    "partly hidden",
    "close up",
    "in dim light",
    "in warm light",
    "in cold light",
)
_OF_THE_SPECIMEN = ("glossy", "in a troop", "autumn colours", "mostly green", "blotched")


def _read_kinds() -> tuple[Kind, ...]:
    table = json.loads(Path(__file__).with_name("kinds.json").read_text(encoding="utf-8"))
    stances = {
        name: {stance: _read_stance(fields) for stance, fields in each.items()}
        for name, each in table["stances"].items()
    }
    return tuple(_read_kind(kind, stances[kind["stances"]]) for kind in table["kinds"])


def _read_stance(fields: dict[str, Any]) -> Stance:
    read = {name: _as_tuples(value) for name, value in fields.items()}
    return Stance(**(read | {"tilt": math.inf} if fields.get("tilt") == "any" else read))


def _read_kind(kind: dict[str, Any], stances: dict[str, Stance]) -> Kind:
    plan, make_look = _LOOKS[kind["plan"]]
    return Kind(
        kind["name"],
        kind["family"],
        kind["group"],
        plan.draw,
        make_look(**{name: _as_tuples(value, plan) for name, value in kind["look"].items()}),
        tuple(kind["words"]),
        {mark: tuple(words) for mark, words in kind["marks"].items()},
        stances,
    )


def _as_tuples(value: Any, plan: ModuleType | None = None) -> Any:
    """Return a value of the table, with lists as tuples and shapes for their names."""
    if isinstance(value, list):
        return tuple(_as_tuples(each, plan) for each in value)
    if plan is not None and isinstance(value, str) and value.startswith("@"):
        return getattr(plan, value[1:])
    return value


KINDS = _read_kinds()


def attribute_names() -> list[str]:
    """Return every attribute once: of kinds, of their marks, of stances, scenes and pictures."""
    names: dict[str, None] = {}
    for kind in KINDS:
        names.update(dict.fromkeys(kind.words))
    for kind in KINDS:
        for words in kind.marks.values():
            names.update(dict.fromkeys(words))
    names.update(dict.fromkeys(_OF_THE_SPECIMEN))
    for kind in KINDS:
        for stance in kind.stances.values():
            names.update(dict.fromkeys(stance.words))
    names.update(dict.fromkeys(word for _, word in SCENES.values()))
    names.update(dict.fromkeys(_OF_THE_PICTURE))
    return list(names)
