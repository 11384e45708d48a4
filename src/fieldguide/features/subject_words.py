"""What is seen of the subject of a picture, in words, and apart from it of its surroundings.

The pixels of the subject are found on a copy of the picture whose longest side is at most 96 px
(:mod:`~fieldguide.features.subject_outline`). With H_c and O_c the shares of the colour c in the
subject and in the rest, what counts for a colour is

    rise_c = H_c − λ_c O_c,

since a little of the surroundings is always taken for the subject, and it has their colours.

As with the properties of a whole picture, each word is one measure with a threshold t and a width
w, and its score σ((measure − t) / w). They were set by drawn specimens, whose pixels are known, and
by what people said of the species of CUB-200: on one of them, a word is said of at most 15 % that
do not show it. Words that do not get there, or that looked wrong on photographs, were left out,
among them striped, spotted, round, elongated and how many subjects there are.
"""

from typing import NamedTuple

import numpy as np

from fieldguide.errors import InvalidArgument
from fieldguide.features.colour_names import COLOURS, NO_NAME, name_colours, name_grounds
from fieldguide.features.properties import shrink_picture, squash
from fieldguide.features.subject_finder import Subject
from fieldguide.features.subject_outline import outline_colours

_LEAST_PX = 12  # a subject of fewer pixels says nothing
_LEAST_CONFIDENCE = 0.15  # of one that hardly stands out, neither do its colours
# Foliage is around most things that live, and its leaves reach over them.
LENT = np.array([1.0 if c == "green" else 0.7 for c in COLOURS])
_END = 0.35  # of each column of the subject: what is above, and what is below
_RANK_POWER = 0.5


class SubjectWord(NamedTuple):
    """A word, what is measured for it, and from where on it is said."""

    name: str
    measure: str
    threshold: float
    width: float


_MOSTLY = tuple(c for c in COLOURS if c != "grey")  # which people see as black or brown in light
_WITH = ("black", "white", "red", "orange", "brown", "yellow")
_ENDS = (("yellow", "below"), ("red", "above"), ("brown", "above"))
NEIGHBOURS = (
    {"black", "grey"}, {"grey", "white"}, {"grey", "brown"}, {"black", "brown"}, {"grey", "blue"},
    {"grey", "green"}, {"brown", "red"}, {"brown", "orange"}, {"brown", "yellow"},
    {"brown", "green"}, {"red", "orange"}, {"orange", "yellow"}, {"red", "pink"}, {"pink", "white"},
    {"purple", "pink"}, {"blue", "purple"}, {"yellow", "green"}, {"green", "blue"},
)  # fmt: skip
_AROUND = ("green", "brown", "white", "blue", "grey", "black")
SUBJECT_WORDS = (
    *(SubjectWord(f"mostly {c}", f"rise of {c}", 0.4, 0.1) for c in _MOSTLY),
    *(SubjectWord(f"with {c}", f"rise of {c}", 0.12, 0.04) for c in _WITH),
    *(
        SubjectWord(f"{c} {end}", f"share of {c} {end} less elsewhere", 0.25, 0.06)
        for c, end in _ENDS
    ),
    SubjectWord("of one colour", "share of its first colour", 0.77, 0.05),
    SubjectWord("two-coloured", "rises of its first two colours, neither a trace", 0.68, 0.06),
    SubjectWord("large in the picture", "share of the picture's pixels", 0.22, 0.03),
)
SURROUNDING_WORDS = (
    *(SubjectWord(f"on {c}", f"share of {c} in the surroundings", 0.5, 0.1) for c in _AROUND),
)
SUBJECT_NAMES: tuple[str, ...] = tuple(w.name for w in SUBJECT_WORDS)
SURROUNDING_NAMES: tuple[str, ...] = tuple(w.name for w in SURROUNDING_WORDS)
_THRESHOLDS = np.array([w.threshold for w in (*SUBJECT_WORDS, *SURROUNDING_WORDS)])
_WIDTHS = np.array([w.width for w in (*SUBJECT_WORDS, *SURROUNDING_WORDS)])


class SeenSubject(NamedTuple):
    """A small copy of a picture, and which of its pixels are of the subject.

    Examples
    --------
    >>> image = np.full((40, 40, 3), (60, 150, 60), np.uint8)
    >>> is_subject = np.zeros((40, 40), bool)
    >>> is_subject[10:30, 10:30] = True
    >>> seen = SeenSubject(image, name_colours(image), is_subject)
    >>> score_subject(seen).shape == (len(SUBJECT_NAMES) + len(SURROUNDING_NAMES),)
    True
    """

    image: np.ndarray  # (height, width, 3) uint8
    names: np.ndarray  # (height, width), positions in `COLOURS`
    is_subject: np.ndarray  # (height, width) bool

    def rise(self) -> np.ndarray:
        """Return the shares of colours in the subject less what its surroundings may have lent."""
        inside, outside = (
            share_names(self.names[where]) for where in (self.is_subject, ~self.is_subject)
        )
        rise: np.ndarray = inside - LENT * outside
        return rise


def measure_subject(image: np.ndarray, subject: Subject) -> np.ndarray:
    """Return the score of every word of one picture's subject, then of its surroundings.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
    subject : Subject
        As found in that picture.

    Returns
    -------
    ndarray of shape (n_words,), float32, in [0, 1]
        In the order of `SUBJECT_NAMES`, then `SURROUNDING_NAMES`; at least 0.5 means yes. Of a
        picture without a subject all are NaN: not known.

    Examples
    --------
    >>> from fieldguide.features import SUBJECT_NAMES, SURROUNDING_NAMES, Subject, measure_subject
    >>> picture = np.full((60, 60, 3), (70, 160, 60), np.uint8)
    >>> picture[20:40, 20:40] = (200, 20, 30)
    >>> scores = np.zeros((6, 6), np.float32)
    >>> scores[2:4, 2:4] = 1
    >>> box = (1 / 3, 1 / 3, 2 / 3, 2 / 3)
    >>> mask = np.kron(scores, np.ones((6, 6))) > 0
    >>> subject = Subject(scores, mask, box, (0.5, 0.5), 1.0, (box,))
    >>> found = measure_subject(picture, subject)
    >>> names = (*SUBJECT_NAMES, *SURROUNDING_NAMES)
    >>> [name for name, score in zip(names, found) if score >= 0.5]
    ['mostly red', 'with red', 'of one colour', 'on green']
    """
    return score_subject(see_subject(image, subject))


def score_subject(seen: SeenSubject | None) -> np.ndarray:
    """Return what :func:`measure_subject` does, of pixels that were seen; None is no subject.

    Examples
    --------
    >>> image = np.full((40, 40, 3), (60, 150, 60), np.uint8)  # green
    >>> image[10:30, 10:30] = (200, 20, 30)  # and a red square
    >>> is_subject = image[..., 0] == 200
    >>> scores = score_subject(SeenSubject(image, name_colours(image), is_subject))
    >>> [name for name, score in zip(SUBJECT_NAMES, scores) if score > 0.5]
    ['mostly red', 'with red', 'of one colour', 'large in the picture']
    """
    if seen is None:
        return np.full(len(_THRESHOLDS), np.nan, dtype=np.float32)
    return squash((_measure(seen) - _THRESHOLDS) / _WIDTHS)


def measure_colours(image: np.ndarray, subject: Subject) -> np.ndarray:
    """Return how much of the subject has each of the `COLOURS`, (11,) in [0, 1].

    That is its share in the subject, less what surroundings may have lent. NaN without a subject.

    Parameters
    ----------
    image : uint8 array of shape (height, width, 3)
    subject : Subject
        Of the same picture.

    Examples
    --------
    >>> image = np.full((40, 40, 3), (60, 150, 60), np.uint8)  # green
    >>> image[10:30, 10:30] = (200, 20, 30)  # and a red square
    >>> scores, box = np.zeros((4, 4), np.float32), (0.25, 0.25, 0.75, 0.75)
    >>> scores[1:3, 1:3] = 1
    >>> rise = measure_colours(image, Subject(scores, scores > 0, box, (0.5, 0.5), 0.9, (box,)))
    >>> COLOURS[rise.argmax()]
    'red'
    """
    seen = see_subject(image, subject)
    if seen is None:
        return np.full(len(COLOURS), np.nan, dtype=np.float32)
    risen: np.ndarray = np.maximum(seen.rise(), 0).astype(np.float32)
    return risen


def rank_colours(shares: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how characteristic each colour is of each kind.

    That is the mean m of its share over the specimens of the kind, weighed by the square root of
    its ratio to the mean over kinds: half of the birds are brown somewhere, and one that is blue
    somewhere is a blue bird.

    Parameters
    ----------
    shares : ndarray of shape (n, 11)
        Of `measure_colours`; rows of NaN do not count.
    kinds : array-like of shape (n,)
        Of each specimen.

    Returns
    -------
    kinds : ndarray of shape (n_kinds,)
        In the order of the rows.
    weights : ndarray of shape (n_kinds, 11)
        The largest of a row is the kind's first colour; all zero where nothing is known.

    Examples
    --------
    >>> from fieldguide.features import COLOURS, rank_colours
    >>> shares = np.zeros((3, 11))
    >>> shares[:2, COLOURS.index("brown")] = 0.4, 0.5
    >>> shares[1:, COLOURS.index("blue")] = 0.3, 0.6
    >>> kinds, weights = rank_colours(shares, ["wren", "tit", "tit"])
    >>> [(kind, COLOURS[k]) for kind, k in zip(kinds.tolist(), weights.argmax(axis=1))]
    [('tit', 'blue'), ('wren', 'brown')]
    """
    shares = np.asarray(shares, dtype=np.float64)
    names, of_kind = np.unique(np.asarray(kinds), return_inverse=True)
    if shares.ndim != 2 or shares.shape != (len(of_kind), len(COLOURS)):
        raise InvalidArgument(
            f"shares of rank_colours must have a row for each of the {len(of_kind)} specimens and "
            f"{len(COLOURS)} columns; got the shape {shares.shape}."
        )
    is_known = np.isfinite(shares).all(axis=1)
    n_known = np.bincount(of_kind[is_known], minlength=len(names))
    means = np.zeros((len(names), len(COLOURS)))
    np.add.at(means, of_kind[is_known], shares[is_known])
    means /= np.maximum(n_known, 1)[:, None]
    usual = np.maximum(means.sum(axis=0) / max(np.count_nonzero(n_known), 1), 1e-12)
    return names, means * (means / usual) ** _RANK_POWER


def see_subject(image: np.ndarray, subject: Subject) -> SeenSubject | None:
    """Return the pixels of the subject of a small copy; None where there is nothing to see.

    Parameters
    ----------
    image : uint8 array of shape (height, width, 3)
    subject : Subject
        Of the same picture.

    Examples
    --------
    >>> image = np.full((40, 40, 3), (60, 150, 60), np.uint8)  # green
    >>> image[10:30, 10:30] = (200, 20, 30)  # and a red square
    >>> scores, box = np.zeros((4, 4), np.float32), (0.25, 0.25, 0.75, 0.75)
    >>> scores[1:3, 1:3] = 1
    >>> seen = see_subject(image, Subject(scores, scores > 0, box, (0.5, 0.5), 0.9, (box,)))
    >>> bool(seen.is_subject[20, 20]), bool(seen.is_subject[0, 0])
    (True, False)
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise InvalidArgument(
            "image must be a uint8 array of shape (height, width, 3) with at least one pixel; "
            f"got {image.dtype} of shape {image.shape}. Convert it to RGB first."
        )
    if subject.confidence < _LEAST_CONFIDENCE or not subject.scores.max() > 0:
        return None
    small = shrink_picture(image)
    is_subject = outline_colours(small, subject.scores) > 0.5
    if np.count_nonzero(is_subject) < _LEAST_PX:
        return None
    return SeenSubject(small, name_colours(small), is_subject)


def share_names(names: np.ndarray) -> np.ndarray:
    """Return the share of each of the `COLOURS` among the names of some pixels."""
    return np.bincount(names, minlength=NO_NAME + 1)[:NO_NAME] / max(len(names), 1)


def _measure(seen: SeenSubject) -> np.ndarray:
    """Return the measure of each of `SUBJECT_WORDS` and `SURROUNDING_WORDS`."""
    inside, rise = share_names(seen.names[seen.is_subject]), seen.rise()
    around = share_names(name_grounds(seen.image[~seen.is_subject]))
    return np.array(
        [
            *(rise[COLOURS.index(c)] for c in (*_MOSTLY, *_WITH)),
            *_measure_ends(seen),
            inside.max(),
            _measure_pair(np.maximum(rise, 0)),
            seen.is_subject.mean(),
            *(around[COLOURS.index(c)] for c in _AROUND),
        ]
    )


def _measure_ends(seen: SeenSubject) -> list[float]:
    """Return by how much each colour of `_ENDS` is more frequent at its end than elsewhere."""
    mask = seen.is_subject
    depth = (mask.cumsum(axis=0) - 0.5) / np.maximum(mask.sum(axis=0), 1)
    above = share_names(seen.names[mask & (depth < _END)])
    below = share_names(seen.names[mask & (depth > 1 - _END)])
    lent = LENT * share_names(seen.names[~mask])
    rises = {
        "above": above - np.maximum(below, lent),
        "below": below - np.maximum(above, lent),
    }
    return [rises[end][COLOURS.index(colour)] for colour, end in _ENDS]


def _measure_pair(shares: np.ndarray) -> float:
    """Return how much of the subject its first two colours are, less where one is a mere mark.

    Neighbours such as black and grey are one colour in light and shade, and count 0.
    """
    second, first = np.argsort(shares, kind="stable")[-2:]
    if {COLOURS[first], COLOURS[second]} in NEIGHBOURS:
        return 0.0
    return float(shares[first] + shares[second] - 2 * max(0.0, 0.25 - shares[second]))
