"""How much of a subject has the colour that a name speaks of: "red crown", "belly color: buff".

A name speaks of one of the `COLOURS`, or of a shade of some ("chestnut": brown, red or orange). A
word for a part of the body says where to look: a crown is above, a belly below. Elsewhere the whole
subject counts.
"""

import re
from collections.abc import Sequence

import numpy as np

from fieldguide.features.colour_names import COLOURS
from fieldguide.features.subject_map import MEASURES, measure_maps

_SHADES = {
    **{colour: (colour,) for colour in COLOURS},
    "gray": ("grey",),
    "silver": ("grey", "white"),
    **dict.fromkeys(("cream", "ivory"), ("white", "yellow")),
    **dict.fromkeys(("crimson", "scarlet", "maroon"), ("red",)),
    **dict.fromkeys(("chestnut", "rufous", "rust", "rusty", "ginger"), ("brown", "red", "orange")),
    **dict.fromkeys(("buff", "beige", "tan", "tawny", "ochre"), ("brown", "yellow", "orange")),
    **dict.fromkeys(("gold", "golden"), ("yellow", "orange")),
    "olive": ("green", "brown", "yellow"),
    **dict.fromkeys(("turquoise", "teal", "cyan"), ("blue", "green")),
    **dict.fromkeys(("violet", "lilac", "mauve"), ("purple", "pink")),
    "iridescent": ("blue", "green", "purple"),
}
_TONES = {"dark": ("black",), "pale": ("white",)}  # of a name that speaks of no colour
_PARTS = {
    "above": "above back cap crest crown forehead head nape top upper upperparts",
    "below": "belly below bottom breast chest lower throat under underparts underside",
}


def read_colours(name: str) -> tuple[tuple[str, ...], str]:
    """Return the colours that a name speaks of, () for none, and the part of the subject.

    Examples
    --------
    >>> read_colours("red crown"), read_colours("wing color: rufous"), read_colours("web-footed")
    ((('red',), 'above'), (('red', 'orange', 'brown'), ''), ((), ''))
    """
    words = set(re.findall(r"[a-z]+", name.lower()))
    named = {colour for word in words for colour in _SHADES.get(word, ())}
    named = named or {colour for word in words for colour in _TONES.get(word, ())}
    parts = [part for part, said in _PARTS.items() if words & set(said.split())]
    part = parts[0] if named and len(parts) == 1 else ""
    return tuple(colour for colour in COLOURS if colour in named), part


def measure_named(maps: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return how much of each subject has the colours of each name, (n, len(names)).

    That is their share, less what the surroundings may have lent; NaN where a name speaks of no
    colour, and without a subject.

    Parameters
    ----------
    maps : array of shape (n, MAP_SIZE)
        Of subjects, as :func:`~fieldguide.features.map_subject` returns them.
    names : sequence of str

    Examples
    --------
    >>> from fieldguide.features.subject_map import MAP_SIZE
    >>> measure_named(np.full((1, MAP_SIZE), np.nan), ["red crown", "web-footed"])
    array([[nan, nan]])
    """
    measures = measure_maps(maps)
    place = {(measure.colour, measure.part): j for j, measure in enumerate(MEASURES)}
    columns = np.full((len(measures), len(names)), np.nan)
    for j, name in enumerate(names):
        colours, part = read_colours(name)
        if colours:
            columns[:, j] = measures[:, [place[colour, part] for colour in colours]].sum(axis=1)
    return columns
