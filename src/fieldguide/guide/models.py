"""The models of a guide, each read from its folder when it is first needed."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fieldguide._check import check_choice
from fieldguide._device import DEVICES
from fieldguide.chapters import OPTIONAL
from fieldguide.errors import GuideError
from fieldguide.features import MAP_SIZE, FeatureStack, TextVocabulary, WordModel
from fieldguide.features.network import (
    Embedder,
    Network,
    list_embedders,
    open_network,
    split_builtin,
)
from fieldguide.guide import folder as files
from fieldguide.guide.annotation import Annotation, open_annotation
from fieldguide.guide.chapters import load_chapter
from fieldguide.guide.edits.hand import Lesson
from fieldguide.guide.familiarity import Familiarity
from fieldguide.guide.key import open_familiarity, open_key
from fieldguide.guide.nearest import Nearest, open_nearest
from fieldguide.guide.row_measuring import SAID
from fieldguide.guide.rows import count_columns, open_rows, open_stack
from fieldguide.guide.teaching import TaughtWord, learn_word
from fieldguide.guide.words import open_texts, open_words

Value = TypeVar("Value")


class Models:
    """What a guide needs to say something of a new image.

    Parameters
    ----------
    folder : Path
        Of the edition.
    about : dict
        guide.json.
    kinds : frozenset of str
        Of the catalogue: models speak of no others.
    """

    def __init__(self, folder: Path, about: dict[str, Any], kinds: frozenset[str]) -> None:
        self._folder = folder
        self._about = about
        self._kinds = kinds
        self._embedder: tuple[str, ...] = ()
        self.device = "cpu"
        self._parts: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}
        self.lessons: Mapping[str, Lesson] = {}  # by the words that they teach, as they are built
        self._taught: dict[Lesson, TaughtWord] = {}
        self._words: tuple[Mapping[str, str], Collection[str]] = ({}, ())

    def reword(self, names: Mapping[str, str], hidden: Collection[str]) -> None:
        """Call words as their owner renamed them, and say nothing of hidden ones."""
        if self._words != (names, hidden):
            self._words = names, hidden
            self._kept.clear()

    def use_embedder(self, embedder: Embedder) -> None:
        """Say where the ONNX file is that the guide was built with; or files, in their order."""
        self._embedder = list_embedders(embedder)
        self.__dict__.pop("network", None)
        self._kept.clear()

    def use_device(self, device: str) -> None:
        """Say where the network runs: "cpu", "cuda" or "auto"."""
        check_choice("Guide", "device", device, DEVICES)
        self.device = device
        self.__dict__.pop("network", None)

    def share_network(self, other: "Models") -> None:
        """Take the network that another edition of the guide has opened, if it is the same one."""
        self._embedder, self.device = other._embedder, other.device
        if "network" in other.__dict__ and other._about["embedder"] == self._about["embedder"]:
            self.network = other.network

    @cached_property
    def network(self) -> Network:
        """The network that the guide was built with."""
        own = self._about["settings"]["embedder"]
        if own and not self._embedder:
            names = split_builtin(own)
            if names is None:
                raise GuideError(
                    f"This guide was built with the network {own!r}; give its file with --embedder."
                )
            self._embedder = names
        network = open_network(self._embedder, device=self.device)
        if network.name != self._about["embedder"]:
            raise GuideError(
                f"This guide was built with {self._about['embedder']} and the network given is "
                f"{network.name}; give the one that it was built with, or build it again."
            )
        return network

    @cached_property
    def annotation(self) -> Annotation | None:
        """Detectors of the owner's attributes; None where there are none."""
        return open_annotation(self._folder, self.rows.shape[1])

    @cached_property
    def rows(self) -> np.ndarray:
        """What specimens are compared by, (n_specimens, n_columns) of length 1."""
        return open_rows(self._folder, self._about)

    @cached_property
    def nearest(self) -> Nearest:
        """What finds the specimens that look most like a picture."""
        return open_nearest(self._folder, self.rows)

    @cached_property
    def subjects(self) -> np.ndarray:
        """Box and confidence of each specimen's subject, (n_specimens, 5)."""
        found = self._read("subjects", 5)
        if not np.isfinite(found).all():
            raise GuideError(
                f"The subjects of the guide {str(self._folder)!r} hold NaN or infinity; build the "
                "guide again."
            )
        return found

    @cached_property
    def familiarity(self) -> Familiarity | None:
        """How familiar a picture of a kind of the guide is at least; None where it is not known."""
        return open_familiarity(self._folder, self._about["n_specimens"])

    @property
    def least_subject(self) -> float | None:
        """How sure a subject is at least; None where it is not known."""
        said = self._about.get("least_subject")
        return float(said) if isinstance(said, int | float) else None

    @cached_property
    def maps(self) -> np.ndarray | None:
        """The map of each specimen's subject, (n_specimens, MAP_SIZE); None without a second
        look."""
        if "maps" not in self._about["features"]:
            return None
        return self._read("maps", MAP_SIZE)

    @cached_property
    def said(self) -> np.ndarray | None:
        """What the network said of each specimen, (n_specimens, 1000): the logarithms of what both
        looks make of its classes, or the logits of the first. None where it has no classes."""
        for name in (SAID, "logits"):
            if name in self._about["features"]:
                return self._read(name)
        return None

    @cached_property
    def stack(self) -> FeatureStack | None:
        """What makes such rows of images; None where they are the embedding."""
        return open_stack(self._folder, self._about)

    def keep(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return what a chapter needs besides its part, such as a network; made once."""
        if name not in self._kept:
            self._kept[name] = compute()
        value: Value = self._kept[name]
        return value

    def learn(self, lesson: Lesson) -> TaughtWord:
        """Return what some specimens teach of a word; learnt once."""
        if lesson not in self._taught:
            self._taught[lesson] = learn_word(self.rows, lesson)
        return self._taught[lesson]

    @property
    def embedder(self) -> tuple[str, ...]:
        """The ONNX files of the network; none for the built-in one."""
        assert self.network is not None  # the one that the guide was built with
        return self._embedder

    def part(self, name: str) -> Any:
        """What the guide holds of an optional chapter; None where it holds nothing."""
        if name not in OPTIONAL:
            return None
        if name not in self._parts:
            opened = load_chapter(name).open_part(self._folder, self._about)
            self._check_kinds(name, getattr(opened, "kinds", ()))
            self._parts[name] = opened
        part = self._parts[name]
        if any(self._words) and hasattr(part, "reword"):
            return self.keep(f"{name} reworded", lambda: part.reword(*self._words))
        return part

    @cached_property
    def attributes(self) -> np.ndarray:
        """How far each specimen shows each word, (n_specimens, n_words)."""
        return self._read("attributes", self._about.get("n_words"))

    @cached_property
    def vocabulary(self) -> TextVocabulary | None:
        """The list of words that pictures are told in; None where it is the network's own."""
        return open_texts(self._folder)

    def embeddings(self, ids: np.ndarray) -> np.ndarray:
        """Return what the network's first look gave of some specimens, (len(ids), dim)."""
        return np.asarray(self._read("embedding")[ids])

    @cached_property
    def word_model(self) -> WordModel:
        """What puts an image into words."""
        return open_words(self._folder)

    @cached_property
    def key(self) -> Any:
        """The key; None with fewer than two kinds."""
        key = open_key(self._folder)
        self._check_kinds("key", () if key is None else key.classes_.tolist())
        if key is not None and key.n_features_in_ != count_columns(self._folder, self._about):
            raise GuideError(
                f"The key of the guide {str(self._folder)!r} does not fit its features; build the "
                "guide again."
            )
        return key

    def _read(self, name: str, n_columns: int | None = None) -> np.ndarray:
        return files.read_features(self._folder, name, self._about["n_specimens"], n_columns)

    def _check_kinds(self, what: str, names: Iterable[Any]) -> None:
        """Refuse a model that speaks of kinds which the catalogue does not know."""
        unknown = [name for name in names if name not in self._kinds]
        if unknown:
            raise GuideError(
                f"The {what} of the guide {str(self._folder)!r} speaks of {unknown[0]!r:.80}, "
                "which is no kind of it; build the guide again."
            )
