"""The table of every kind, gathered from the body plans, and the words that describe them."""

from fieldguide.datasets import (
    _beetles,
    _butterflies,
    _dragonflies,
    _ducks,
    _fishes,
    _leaves,
    _mushrooms,
    _owls,
    _snails,
    _songbirds,
)
from fieldguide.datasets._kind import Kind
from fieldguide.datasets._scenery import SCENES

KINDS: tuple[Kind, ...] = (
    *_songbirds.KINDS,
    *_ducks.KINDS,
    *_owls.KINDS,
    *_fishes.KINDS,
    *_beetles.KINDS,
    *_butterflies.KINDS,
    *_dragonflies.KINDS,
    *_snails.KINDS,
    *_leaves.KINDS,
    *_mushrooms.KINDS,
)

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
