"""Words for any folder: one named attribute matrix from what is known of each image.

Columns come from ten sources, in this order:

============ =================================================================================
annotation   the owner's attribute columns with values in [0, 1]
taught       words that the owner taught by a few specimens, with scores in [0, 1]
keyword      the owner's keywords and captions, in the owner's words
folder       words in the names of the folders around the kind: "2019", "river"
kind         what the names of several kinds share: "Cape May Warbler" is a warbler
vocabulary   words of the owner's list, from a network whose pictures and texts meet
network      words of the vocabulary, from the class probabilities of an ImageNet network
subject      what is seen of the subject: mostly red, with white, yellow below
surroundings what is seen around it: on green
picture      measured properties of the picture: mostly green, dark, plain background
============ =================================================================================

A word that two sources have is taken from the first: the owner knows best. The owner's "animals"
and the network's "animal" are one word; see `fieldguide.features.own_words`.

Every score is in [0, 1], and at least 0.5 means yes. How a network word gets from a probability to
a yes is in `fieldguide.features.vocabulary`, and which of them a collection supports in
`fieldguide.features.word_support`; the measures behind the picture's words are in
`fieldguide.features.properties`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.features.own_words import (
    OWN_SOURCES,
    correct_words,
    fill_silent,
    find_own_words,
    stem_word,
)
from fieldguide.features.properties import PROPERTY_NAMES
from fieldguide.features.subject_words import SUBJECT_NAMES, SURROUNDING_NAMES
from fieldguide.features.vocabulary import (
    YES,
    find_above,
    load_vocabulary,
    score_words,
    word_chances,
)
from fieldguide.features.word_support import N_NEAR, find_supported, pool_chances, pool_new

MEASURED = ("network", "subject", "surroundings", "picture")
AROUND = ("surroundings", "picture")
TAUGHT, VOCABULARY = "taught", "vocabulary"
SOURCES = ("annotation", TAUGHT, *OWN_SOURCES, VOCABULARY, *MEASURED)
_COLOURED = ("mostly ", "some ")  # words on the colours of the whole picture
_FORMAT = 2
COMMON = 0.9  # share of the images that show a word of the whole collection


class AttributeMatrix(NamedTuple):
    """Named attributes of n images.

    Attributes
    ----------
    scores : ndarray of shape (n, D), float32, in [0, 1]
        At least 0.5 means yes; NaN where nothing is known, as of a subject that was not found.
    names : tuple of D different words
    sources : tuple of D of `SOURCES`

    Examples
    --------
    >>> scores = np.array([[0.9, np.nan], [0.2, 0.6]], dtype=np.float32)
    >>> A = AttributeMatrix(scores, ("winged", "red"), ("attribute", "subject"))
    >>> [name for name, score in zip(A.names, A.scores[0]) if score >= 0.5]
    ['winged']
    """

    scores: np.ndarray
    names: tuple[str, ...]
    sources: tuple[str, ...]


class WordModel:
    """The words chosen for one collection, kept so that a new image is described in the same.

    A column is kept when it says yes for at least ``min_images`` images and ``min_share`` of them,
    and for at most ``max_share``: a word for two images is no attribute of a collection, and one
    for nearly all tells nothing apart. Of columns of one source that say yes for exactly the same
    images the first is kept, which for network words is the most general.

    Parameters
    ----------
    min_share, max_share : float in [0, 1]
    min_images : int
    kind_words : bool
        Whether a folder that carries the name of the kind gives words too.

    Attributes
    ----------
    names_, sources_ : tuple of str
        The columns, after `fit_transform`.
    common_ : tuple of str
        What nearly all images show, said once of the collection: the most specific of the
        network's words, and the owner's.
    same_ : dict of str
        Attributes of the owner's that are no columns, since exactly the images of a column show
        them: the name of each, and of that column.

    Examples
    --------
    >>> model = WordModel(min_images=1)
    >>> paths = ["2019/river/heron/a.jpg", "2020/river/coot/b.jpg", "2020/sea/gull/c.jpg"]
    >>> model.fit_transform(None, paths=paths).names
    ('2019', '2020', 'river', 'sea')
    """

    N_NEAR: ClassVar = N_NEAR  # nearest images that the network's words are read with
    MEASURED: ClassVar = MEASURED  # sources that a new image has too
    AROUND: ClassVar = AROUND  # of what is not the subject

    def __init__(
        self,
        *,
        min_share: float = 0.003,
        max_share: float = 0.98,
        min_images: int = 3,
        kind_words: bool = False,
    ) -> None:
        check_number("WordModel", "min_share", min_share, 0, 1)
        check_number("WordModel", "max_share", max_share, 0, 1)
        check_number("WordModel", "min_images", min_images, 0, 2**31, integer=True)
        self.min_share = min_share
        self.max_share = max_share
        self.min_images = min_images
        self.kind_words = kind_words
        self.names_: tuple[str, ...] = ()
        self.sources_: tuple[str, ...] = ()
        self.common_: tuple[str, ...] = ()
        self.same_: dict[str, str] = {}

    def fit_transform(
        self,
        probabilities: np.ndarray | None,
        properties: np.ndarray | None = None,
        *,
        seen: np.ndarray | None = None,
        near: np.ndarray | None = None,
        kinds: Sequence[str | None] | None = None,
        paths: Sequence[str] | None = None,
        keywords: Sequence[Iterable[str]] | None = None,
        annotated: np.ndarray | None = None,
        annotated_names: Sequence[str] | None = None,
        taught: Mapping[str, np.ndarray] | None = None,
        vocabulary: tuple[Sequence[str], np.ndarray] | None = None,
        corrected: Mapping[int, Mapping[str, bool]] | None = None,
    ) -> AttributeMatrix:
        """Choose the words of a collection and return its attribute matrix.

        Parameters
        ----------
        probabilities : array of shape (n, 1000) or None
            Softmax outputs of an ImageNet network; None for one with other outputs.
        properties : array of shape (n, P), optional
            A row of `measure_properties` for each image.
        seen : array of shape (n, S), optional
            A row of `measure_subject` for each image; NaN where it has no subject. Colours of the
            whole picture are then left out.
        near : int array of shape (n, k), optional
            The images most like each, itself not among them: the network's words are those that
            they support together. Without, every image is read alone.
        kinds : sequence of n names, optional
            None for an image without a kind. A folder of that name gives no words.
            Without ``kinds``, the folder that holds the image is taken for its kind.
        paths : sequence of n paths relative to the collection, optional
        keywords : sequence of n collections of str, optional
            Empty for an image without keywords.
        annotated : array of shape (n, A), in [0, 1], optional
        annotated_names : sequence of A names
        taught : mapping of str to array of shape (n,), optional
            How far each image shows the words that its owner taught, in [0, 1].
        vocabulary : (names of V words, scores of shape (n, V)), optional
            Of a list of the owner's; the network's own words are then left out.
        corrected : mapping of int to (mapping of str to bool), optional
            What the owner has said of single images since: which words an image shows and which it
            does not, whatever the other sources say.
        """
        n = _count_images(probabilities, properties, seen, kinds, paths, keywords, annotated)
        parts: list[tuple[str, Sequence[str], np.ndarray]] = []
        if annotated is not None:
            parts.append(("annotation", *_check_annotated(annotated, annotated_names)))
        if taught:
            parts.append((TAUGHT, [*taught], np.stack([*taught.values()], 1).astype(np.float32)))
        own = find_own_words(
            n,
            paths=paths,
            kinds=kinds,
            keywords=keywords,
            kind_words=self.kind_words,
            least=self._least_images(n),
        )
        if vocabulary is not None:
            parts += [*own, (VOCABULARY, *vocabulary)]
        elif probabilities is not None:
            near = np.empty((n, 0), dtype=np.int64) if near is None else near
            scores = score_words(pool_chances(word_chances(probabilities), near, kinds))
            scores[:, ~find_supported(scores, kinds)] = 0
            named = ("network", load_vocabulary().names, scores)
            if keywords is not None:
                own = [fill_silent(words, keywords, *named[1:]) for words in own]
            parts += [*own, named]
        else:
            parts += own
        if seen is not None:
            seen = _check_seen(seen)
            parts.append(("subject", SUBJECT_NAMES, seen[:, : len(SUBJECT_NAMES)]))
            parts.append(("surroundings", SURROUNDING_NAMES, seen[:, len(SUBJECT_NAMES) :]))
        if properties is not None:
            scores = _check_properties(properties).copy()
            if seen is not None:
                scores[:, [name.startswith(_COLOURED) for name in PROPERTY_NAMES]] = 0
            parts.append(("picture", PROPERTY_NAMES, scores))
        if corrected:
            parts = correct_words(parts, corrected)
        self.common_ = _find_common(parts)
        columns: dict[str, tuple[str, np.ndarray]] = {}
        ideas: set[str] = set()
        for source, names, scores in parts:
            new = [k for k, name in enumerate(names) if stem_word(name) not in ideas]
            chosen = [new[k] for k in self._choose(scores[:, new])]
            ideas |= {stem_word(names[k]) for k in chosen}
            if source == "annotation":
                self.same_ = _find_same(names, scores, chosen)
            columns |= {names[k]: (source, scores[:, k]) for k in chosen}
        self.names_ = tuple(columns)
        self.sources_ = tuple(source for source, _ in columns.values())
        matrix = np.empty((n, len(columns)), np.float32)
        for k, (_, column) in enumerate(columns.values()):
            matrix[:, k] = column
        return AttributeMatrix(matrix, self.names_, self.sources_)

    def transform(
        self,
        probabilities: np.ndarray | None,
        properties: np.ndarray | None = None,
        *,
        seen: np.ndarray | None = None,
        near: Sequence[np.ndarray] | None = None,
        chances: np.ndarray | None = None,
    ) -> AttributeMatrix:
        """Return the same columns for new images.

        An image that comes alone has no folder, keywords or annotations: those columns are 0.
        ``near`` are, for each image, the probabilities (k, 1000) of the images of the collection
        that are most like it. ``chances``, (n, V), are what comes of both, where that is known.
        """
        n = _count_images(probabilities if chances is None else chances, properties)
        scores = np.zeros((n, len(self.names_)), np.float32)
        for source in MEASURED:
            at = [k for k, other in enumerate(self.sources_) if other == source]
            if not at:
                continue
            names: tuple[str, ...]
            if source == "network":
                if chances is not None:
                    p = chances
                else:
                    p = word_chances(_need(probabilities, "probabilities"))
                    if near is not None:
                        pairs = zip(p, near, strict=True)
                        p = np.stack([pool_new(own, word_chances(others)) for own, others in pairs])
                names, found = load_vocabulary().names, score_words(p)
            elif source == "picture":
                names, found = PROPERTY_NAMES, _check_properties(_need(properties, "properties"))
            else:
                names = (*SUBJECT_NAMES, *SURROUNDING_NAMES)
                found = _check_seen(_need(seen, "seen"))
            scores[:, at] = found[:, [names.index(self.names_[k]) for k in at]]
        return AttributeMatrix(scores, self.names_, self.sources_)

    @staticmethod
    def pool(chances: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return the chances of pictures of a collection as :meth:`transform` takes them.

        ``chances``, (n, V), are of each picture alone
        (:func:`~fieldguide.features.vocabulary.word_chances`); ``near``, (n, k), are the pictures
        most like each.
        """
        return pool_chances(chances, near)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain values that JSON can hold."""
        return {
            "format": _FORMAT,
            "min_share": self.min_share,
            "max_share": self.max_share,
            "min_images": self.min_images,
            "kind_words": self.kind_words,
            "names": list(self.names_),
            "sources": list(self.sources_),
            "common": list(self.common_),
            "same": dict(self.same_),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "WordModel":
        """Make a model from what `to_dict` returned."""
        said = list(zip(values.get("names", ()), values.get("sources", ()), strict=True))
        measured = {
            "network": load_vocabulary().names,
            "subject": SUBJECT_NAMES,
            "surroundings": SURROUNDING_NAMES,
            "picture": PROPERTY_NAMES,
        }
        words = (*values.get("names", ()), *values.get("sources", ()), *values.get("common", ()))
        is_known = all(isinstance(word, str) for word in words) and all(
            name in measured.get(source, (name,)) for name, source in said
        )
        if values.get("format") != _FORMAT or not is_known:
            raise InvalidArgument(
                "These words were stored by another version with another vocabulary; "
                "build the guide again with this one."
            )
        settings = ("min_share", "max_share", "min_images", "kind_words")
        model = cls(**{name: values[name] for name in settings})
        model.names_ = tuple(values["names"])
        model.sources_ = tuple(values["sources"])
        model.common_ = tuple(values["common"])
        model.same_ = {str(name): str(other) for name, other in values.get("same", {}).items()}
        if not set(model.same_.values()) <= set(model.names_):
            raise ValueError("what the same images show is not among its words")
        return model

    def _least_images(self, n: int) -> float:
        """Return of how many of ``n`` images a word must be said."""
        return max(self.min_images, self.min_share * n)

    def _choose(self, scores: np.ndarray) -> list[int]:
        """Return the positions of the columns that tell images apart, in order."""
        yes = scores >= YES
        n_yes = yes.sum(axis=0)
        least = self._least_images(len(scores))
        kept: dict[bytes, int] = {}
        for k in np.flatnonzero((n_yes >= least) & (n_yes <= self.max_share * len(scores))):
            kept.setdefault(np.packbits(yes[:, k]).tobytes(), int(k))
        return list(kept.values())


def _find_same(names: Sequence[str], scores: np.ndarray, chosen: Sequence[int]) -> dict[str, str]:
    """Return the names left out because exactly the images of a chosen one show them, with it."""
    packed = np.packbits(scores >= YES, axis=0)
    first = {packed[:, k].tobytes(): names[k] for k in chosen}
    found = {name: first.get(packed[:, k].tobytes(), name) for k, name in enumerate(names)}
    return {name: other for name, other in found.items() if other != name}


def _find_common(parts: Sequence[tuple[str, Sequence[str], np.ndarray]]) -> tuple[str, ...]:
    """Return the words that nearly all images show, without those that others imply."""
    found: dict[str, None] = {}
    for source, names, scores in parts:
        if source not in ("subject", *AROUND) and len(scores) > 1:
            shares = (scores >= YES).mean(axis=0)
            found |= dict.fromkeys(names[int(k)] for k in np.flatnonzero(shares >= COMMON))
    vocabulary = load_vocabulary()
    place = {name: k for k, name in enumerate(vocabulary.names)}
    implied = {
        vocabulary.names[above]
        for name in found
        if name in place
        for above in find_above(place[name])
    }
    return tuple(name for name in found if name not in implied)


def _check_properties(properties: np.ndarray) -> np.ndarray:
    properties = np.asarray(properties, np.float32)
    if properties.ndim != 2 or properties.shape[1] != len(PROPERTY_NAMES):
        raise InvalidArgument(
            f"properties must have shape (n, {len(PROPERTY_NAMES)}); got {properties.shape}. "
            "Pass a row of measure_properties for each image."
        )
    return properties


def _check_seen(seen: np.ndarray) -> np.ndarray:
    seen = np.asarray(seen, np.float32)
    width = len(SUBJECT_NAMES) + len(SURROUNDING_NAMES)
    if seen.ndim != 2 or seen.shape[1] != width:
        raise InvalidArgument(
            f"seen must have shape (n, {width}); got {seen.shape}. "
            "Pass a row of measure_subject for each image."
        )
    return seen


def _check_annotated(
    annotated: np.ndarray, names: Sequence[str] | None
) -> tuple[Sequence[str], np.ndarray]:
    annotated = np.asarray(annotated, np.float32)
    names = [str(name) for name in names] if names is not None else []
    if annotated.ndim != 2 or len(set(names)) != len(names) or len(names) != annotated.shape[1]:
        raise InvalidArgument(
            "annotated must have shape (n, A), with A different annotated_names; "
            f"got shape {annotated.shape} and {len(set(names))} different names."
        )
    if not ((annotated >= 0) & (annotated <= 1)).all():
        raise InvalidArgument("annotated must hold values in [0, 1]; scale or fill them first.")
    return names, annotated


def _need(values: np.ndarray | None, name: str) -> np.ndarray:
    if values is None:
        raise InvalidArgument(
            f"{name} must be given: this WordModel was fitted with them. "
            "Compute them for the new images as for the collection."
        )
    return values


def _count_images(*inputs: Any) -> int:
    lengths = sorted({len(values) for values in inputs if values is not None})
    if len(lengths) != 1:
        raise InvalidArgument(
            "All inputs must describe the same images, with one entry for each image; "
            f"got {', '.join(map(str, lengths)) or 'no'} entries."
        )
    return lengths[0]
