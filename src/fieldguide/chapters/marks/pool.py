"""What marks are chosen from: columns with a meaning, for every specimen and for a new image.

==============  ==============================================================================
owner           the owner's attributes and keywords, and the words that the owner taught
network         plain words for what a thing is: "water bird", "stringed instrument"
subject         what the found subject looks like: "black above", "orange and black"
surroundings    what is around it: "on green"
picture         what the picture is like: "black and white", "plain background"
==============  ==============================================================================

No column knows the kind of a specimen. The network's words are read together with those of the
nearest pictures, as for a new image, and not with those of the kind; names of kinds and of folders
are no columns at all.

Beside the columns, which are seen or not, stand the measures by which two kinds are compared:
"darker", "more yellow below".
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from fieldguide._parallel import map_in_order
from fieldguide.chapters.marks.choosing import Measured
from fieldguide.features import (
    MAP_WORDS,
    MEASURES,
    TAUGHT,
    AttributeMatrix,
    WordModel,
    around_maps,
    measure_maps,
    score_maps,
)
from fieldguide.features.properties import FORMAT_NAMES
from fieldguide.features.vocabulary import YES, word_chances

OWNER, NETWORK, SUBJECT = "owner", "network", "subject"
SURROUNDINGS, PICTURE = "surroundings", "picture"
SOURCES = (OWNER, NETWORK, SUBJECT, SURROUNDINGS, PICTURE)
_SOURCE_OF = {
    "annotation": OWNER,
    TAUGHT: OWNER,
    "keyword": OWNER,
    "network": NETWORK,
    "vocabulary": NETWORK,
    "subject": SUBJECT,
    "surroundings": SURROUNDINGS,
    "picture": PICTURE,
}
SURE = 0.8  # score of a word of the network, from which on it counts
_BLOCK = 256  # specimens whose words are read at once


class Column(NamedTuple):
    """Something that a picture shows or does not show."""

    text: str
    source: str  # one of SOURCES
    colours: tuple[str, ...] = ()  # of the subject, that it is about
    part: str = ""  # of the subject; "" for the whole
    same_as: str = ""  # text of a column of the owner's that the very same specimens show


class Pool(NamedTuple):
    """What every specimen shows."""

    columns: tuple[Column, ...]
    shows: np.ndarray  # (n_specimens, n_columns) bool
    measured: Measured | None  # None without a second look


class Observed(NamedTuple):
    """What a build or a sighting knows of some pictures."""

    logits: np.ndarray | None  # (n, 1000) of the network; None where it has other outputs
    properties: np.ndarray  # (n, n_properties)
    seen: np.ndarray | None  # words of the subject
    maps: np.ndarray | None  # of the subject


def list_columns(
    model: WordModel, *, has_maps: bool, left_out: Collection[str] = ()
) -> tuple[Column, ...]:
    """Return the columns of a guide; the subject's own words give way to those of its map.

    Words that are ``left_out`` are no columns.

    Of the owner's attributes that the very same pictures show, a guide has one as a word; here all
    are columns, since each is true of a kind. One that is also a word of the map ("mostly red")
    stands for both, and is seen where the word of the map is.
    """
    columns = [
        Column(name, _SOURCE_OF[source])
        for name, source in zip(model.names_, model.sources_, strict=True)
        if name not in left_out and _is_column(name, source, has_maps)
    ]
    columns += [Column(name, OWNER, same_as=other) for name, other in model.same_.items()]
    if has_maps:
        words = {word.name: word for word in MAP_WORDS}
        for i, column in enumerate(columns):
            if column.source == OWNER and column.text in words:
                word = words.pop(column.text)
                columns[i] = column._replace(colours=word.colours, part=word.part)
        columns += [Column(word.name, SUBJECT, word.colours, word.part) for word in words.values()]
    return tuple(sorted(columns, key=lambda column: SOURCES.index(column.source)))


def read_pool(
    model: WordModel,
    matrix: AttributeMatrix,
    near: np.ndarray,
    observed: Observed,
    *,
    left_out: Collection[str] = (),
    n_jobs: int | None = 1,
) -> Pool:
    """Return what every specimen shows; ``near`` are the nearest of each, (n, k)."""
    logits, chances = observed.logits, None
    if logits is not None:
        starts = range(0, len(logits), _BLOCK)
        parts = map_in_order(lambda i: _tell_words(logits[i : i + _BLOCK]), starts, n_jobs=n_jobs)
        chances = model.pool(np.concatenate(list(parts)), near)
    scores = model.transform(None, observed.properties, seen=observed.seen, chances=chances).scores
    is_own = [source not in WordModel.MEASURED for source in matrix.sources]
    scores[:, is_own] = matrix.scores[:, is_own]
    columns = list_columns(model, has_maps=observed.maps is not None, left_out=left_out)
    shows = see_columns(columns, score_columns(columns, model, scores, observed.maps))
    return Pool(columns, shows, None if observed.maps is None else measure_subjects(observed.maps))


def _tell_words(logits: np.ndarray) -> np.ndarray:
    return word_chances(softmax(logits, axis=1))


def see_columns(columns: Sequence[Column], scores: np.ndarray) -> np.ndarray:
    """Return which columns pictures show, from their scores.

    What a thing is must be surer than the rest: the network may be wrong of a whole kind, which
    no specimen left out would tell, but it is then seldom sure.
    """
    return scores >= np.array([SURE if c.source == NETWORK else YES for c in columns])


def measure_subjects(maps: np.ndarray) -> Measured:
    """Return what subjects are compared by, from their maps."""
    return Measured(measure_maps(maps), around_maps(maps))


def score_columns(
    columns: Sequence[Column], model: WordModel, scores: np.ndarray, maps: np.ndarray | None
) -> np.ndarray:
    """Return how far pictures show each column, from the scores of a guide's words, (n, n_words),
    and from maps; 0 where nothing is known."""
    parts = {
        (name, _SOURCE_OF.get(source, "")): row
        for name, source, row in zip(model.names_, model.sources_, scores.T, strict=True)
    }
    if maps is not None:
        of_maps = score_maps(maps).T
        parts |= {(w.name, SUBJECT): row for w, row in zip(MAP_WORDS, of_maps, strict=True)}
    values = [np.nan_to_num(parts[c.same_as or c.text, c.source]) for c in columns]
    return np.array(values).reshape(len(columns), len(scores)).T


def name_measure(index: int, sign: int) -> Column:
    """Return what is said of the kind with more of a measure (sign 1), or with less (−1)."""
    measure = MEASURES[index]
    colours = (measure.colour,) if measure.colour else ()
    return Column(measure.more if sign > 0 else measure.less, SUBJECT, colours, measure.part)


def _is_column(name: str, source: str, has_maps: bool) -> bool:
    if source not in _SOURCE_OF or name in FORMAT_NAMES:
        return False
    return not (has_maps and source == "subject")
