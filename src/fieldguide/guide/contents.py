"""What is stored in a guide: its tree, kinds, words and specimens, with the owner's edits."""

import os
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from PIL import Image

from fieldguide._languages import spoken
from fieldguide.errors import GuideError
from fieldguide.features import FeatureStack, draw_words_plate
from fieldguide.guide import folder as files
from fieldguide.guide.calling import find_branch, find_kind
from fieldguide.guide.catalogue import Catalogue
from fieldguide.guide.couplets import make_couplets
from fieldguide.guide.edited import EditedCatalogue, Overlay
from fieldguide.guide.edits.log import EditLog, Reading
from fieldguide.guide.edits.records import Edit
from fieldguide.guide.finding import Finder
from fieldguide.guide.found_kinds import are_found
from fieldguide.guide.key_choice import KEYS
from fieldguide.guide.models import Models
from fieldguide.guide.movement import Movements, read_movements
from fieldguide.guide.naming import display_name
from fieldguide.guide.originals import Original, find_original, read_original
from fieldguide.guide.pairs import KindPair, compare_kinds
from fieldguide.guide.teaching import TaughtWord
from fieldguide.guide.telling import tell_growth, tell_summary, tell_verdict
from fieldguide.guide.validation import UnsoundError
from fieldguide.guide.views import (
    Branch,
    Couplet,
    CoupletWords,
    Exemplar,
    Facet,
    Kind,
    QueryResult,
    Specimen,
    Unreadable,
    VisualWord,
)
from fieldguide.guide.visual_words import read_visual_words

if TYPE_CHECKING:
    from fieldguide.chapters.check.records import Report
    from fieldguide.chapters.marks.records import KindMarks
    from fieldguide.chapters.walk.characters import Characters
    from fieldguide.chapters.walk.dichotomy import GrownKey

Value = TypeVar("Value")
_FLAT = (KEYS["ova"].__name__, KEYS["ovo"].__name__)


class GuideContents:
    """What a guide holds; :class:`~fieldguide.guide.Guide` is asked about images besides."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._open(Path(folder))

    def _open(self, folder: Path, checked: object = None) -> None:
        """Open a guide; its catalogue is checked unless it is that of the stamp ``checked``."""
        self.folder = folder
        self._stamp = files.stamp_info(self.folder)
        self.about = files.read_info(self.folder)
        self.edition = files.find_edition(self.folder, self.about)
        self.title: str = self.about["title"]
        self.n_specimens: int = self.about["n_specimens"]
        self._plain = Catalogue(self.edition / files.CATALOGUE)
        if self._stamp is None or self._stamp != checked:
            self._plain.check(self.about)
        self._models = Models(self.edition, self.about, self._plain.kind_names())
        self._log = EditLog(self.folder)
        self.refresh()

    def is_current(self) -> bool:
        """Whether the guide has not been built again or edited since it was opened."""
        is_built_again = files.stamp_info(self.folder) not in (self._stamp, None)
        return not is_built_again and self._log.stamp() == self._log_stamp

    # -- the owner's edits ----------------------------------------------------------------

    def refresh(self) -> None:
        """Show what the log of edits holds now; of this edition, whatever was built meanwhile."""
        self._log_stamp = self._log.stamp()
        self._show(self._log.read())
        self._models.reword(self.overlay.word_names, self.overlay.hidden_words)
        self._models.lessons = self.edited_catalogue.hand.lessons if self._is_edited else {}

    def _show(self, reading: Reading) -> None:
        """Lay what the log holds over the catalogue."""
        self._reading = reading
        shown = ("branches", "kinds", "words", "sources", "couplets", "_kind_by_name", "_finder")
        for name in (*shown, "edits", "edited_catalogue", "_worded", "_report"):
            self.__dict__.pop(name, None)
        self._catalogue = self.edited_catalogue if self._is_edited else self._plain

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """Return the guide as it would be with more edits, which are written nowhere."""
        other, known = copy(self), self._reading
        numbered = (replace(e, number=known.last + k) for k, e in enumerate(edits, start=1))
        other._show(known._replace(edits=(*known.edits, *numbered)))
        return other

    @cached_property
    def edited_catalogue(self) -> EditedCatalogue:
        """The catalogue with the edits laid over it."""
        return EditedCatalogue(self._plain, self._reading.active, self._models.learn)

    @property
    def overlay(self) -> Overlay:
        """What of the guide is edited: merged kinds, excluded specimens, hidden branches, notes."""
        return self.edited_catalogue.overlay if self._is_edited else Overlay()

    @property
    def _is_edited(self) -> bool:
        """Whether edits hold, or one that taught a word was undone, which a build may know of."""
        is_taught = any(edit.verb == "teach" for edit in self._reading.edits)
        return is_taught or bool(self._reading.active)

    @property
    def ids(self) -> list[int]:
        """The specimens that are not excluded."""
        return [i for i in range(self.n_specimens) if i not in self.overlay.excluded]

    @property
    def n_shown(self) -> int:
        """How many specimens are not excluded."""
        return self.n_specimens - len(self.overlay.excluded)

    # -- what the guide holds -------------------------------------------------------------

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The tree in words, in pre-order; branch 0 is the whole collection."""
        return self._catalogue.branches()

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds, by name: labels, or without labels branches of the tree, which
        ``kinds_are_found`` says; empty where there is neither."""
        return self._catalogue.kinds()

    @cached_property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """Files that were skipped, and why."""
        return self._catalogue.unreadable()

    @cached_property
    def words(self) -> tuple[tuple[str, int, int | None], ...]:
        """Each word, the number of specimens that show it, and the branch that it names."""
        named: dict[str, int] = {}
        shown = (b for b in self.branches if b.id not in self.overlay.hidden)
        for branch in sorted(shown, key=lambda b: -b.count):
            for word in branch.words:
                named.setdefault(word, branch.id)
        return tuple((word, n, named.get(word)) for word, n in self._catalogue.words())

    @cached_property
    def sources(self) -> dict[str, str]:
        """Where each word comes from: "annotation", "network", "picture", ….

        ``docs/words.md`` has the list.
        """
        return self._catalogue.sources()

    @property
    def taught(self) -> dict[str, TaughtWord]:
        """The words that the owner taught, each with what came of it; see ``docs/words.md``."""
        return self.edited_catalogue.taught if self._is_edited else {}

    @cached_property
    def visual_words(self) -> tuple[VisualWord, ...]:
        """A few of the visual words; empty in a guide whose features hold none."""
        return self._read_part(files.VISUAL_WORDS, "visual words", read_visual_words) or ()

    @cached_property
    def movements(self) -> Movements:
        """What is said of how clips move; empty in a guide with too few clips for that."""
        found = self._read_part(files.MOVEMENT, "movements", read_movements)
        return found or Movements({}, 0, 0)

    def _read_part(self, name: str, what: str, read: Callable[[Any], Value]) -> Value | None:
        """Return what a file of the guide holds; None where there is no such file."""
        path = self.edition / name
        if not path.exists():
            return None
        try:
            return read(files.read_json(path))
        except UnsoundError as error:
            raise GuideError(
                f"The {what} {str(path)!r} cannot be read ({error}); build the guide again."
            ) from None

    @property
    def key(self) -> Any:
        """The fitted key, an estimator of :mod:`fieldguide.identify`; None without two kinds."""
        return self._models.key

    @property
    def stack(self) -> FeatureStack | None:
        """What makes rows of pictures; None where they are the network's first look."""
        return self._models.stack

    @cached_property
    def couplets(self) -> tuple[Couplet, ...]:
        """The key as numbered couplets; empty for a guide without a key, or with a flat one."""
        if self.about["settings"].get("key") in (None, *_FLAT) or self._models.key is None:
            return ()
        kinds = [str(name) for name in self._models.key.classes_]
        return make_couplets(self._models.key.graph_, kinds, self._find_examples())

    def _find_examples(self) -> dict[int, tuple[tuple[Exemplar, ...], ...]]:
        """Return the specimens that went −, both ways and + at the nodes of which it is known."""
        examples = getattr(self._models.key, "examples_", None)
        if examples is None:
            return {}
        labelled = self._catalogue.labelled()
        if examples.rows.max(initial=-1) >= len(labelled):
            raise GuideError(
                "The examples of the key are not specimens of this guide; build it again."
            )
        excluded = self.overlay.excluded
        return {
            int(node): tuple(
                tuple(labelled[i] for i in way if i >= 0 and labelled[i].specimen not in excluded)
                for way in ways
            )
            for node, ways in zip(examples.node, examples.rows, strict=True)
        }

    def describe_couplet(self, number: int) -> CoupletWords:
        """Return what tells the sides of a couplet apart; nothing in a guide without marks."""
        known = self._models.part("marks")
        if known is None:
            return CoupletWords()
        if number not in self._worded:
            couplet = self.couplets[number - 1]
            self._worded[number] = known.word_sides(couplet.minus, couplet.plus)
        return self._worded[number]

    @cached_property
    def _worded(self) -> dict[int, CoupletWords]:
        return {}

    def draw_visual_words(self, n_words: int = 24) -> Image.Image:
        """Return a plate of visual words, to print or to look at."""
        if self._models.stack is None or "words" not in self._models.stack.descriptors_:
            raise GuideError(
                "This guide was built without visual words; build it with `features=words`, or "
                "with a stack that holds them, such as words+hog."
            )
        bag = self._models.stack.descriptors_["words"]
        return draw_words_plate(bag, n_words=n_words, title=f"Visual words of {self.title}")

    @cached_property
    def _kind_by_name(self) -> dict[str, Kind]:
        known = {kind.name: kind for kind in self.kinds}
        return known | {name: known[kind] for name, kind in self.overlay.aliases.items()}

    @property
    def summary(self) -> str:
        """One sentence on what the collection is and holds."""
        return tell_summary(self)

    @property
    def verdict(self) -> str:
        """One sentence on how well the key does on specimens that it has not seen."""
        return tell_verdict(self.about)

    @property
    def kinds_are_found(self) -> bool:
        """Whether the kinds are branches of the tree, because the collection has no labels."""
        return are_found(self.about)

    def find_kind_branch(self, kind: str) -> int | None:
        """Return the branch that serves as a kind; None for a kind that is a label."""
        return (self.about.get("kind_branches") or {}).get(kind)

    @property
    def growth(self) -> str:
        """What is known of kinds that the key learnt without being trained again; "" if none."""
        return tell_growth(self.about)

    def kind(self, name: str) -> Kind:
        """Return a kind by its name."""
        return self._kind_by_name[name]

    def shown_name(self, kind: str) -> str:
        """Return how a kind is written for people: "Cardinal" for "017.Cardinal"."""
        known = self._kind_by_name.get(kind)
        return display_name(kind) if known is None else known.shown

    def find_kind(self, name: str) -> str:
        """Return the name of a kind from how a person may write it: "Crocodile head"."""
        return find_kind(self, self._kind_by_name, name)

    def marks(self, kind: str) -> "KindMarks | None":
        """Return what tells a kind from the others; None in a guide without marks."""
        kind, known = self.find_kind(kind), self._models.part("marks")
        if known is None:
            return None
        marks: KindMarks | None
        marks = known.of_kind(self.kind(kind), self.shown_name, self._models.maps)
        return marks

    def list_mark_pictures(self) -> list[str]:
        """Return the addresses of the pictures that marks are shown by, besides specimens."""
        known = self._models.part("marks")
        return [] if known is None else known.pictures

    @property
    def characters(self) -> "Characters | None":
        """What a person can be asked about a find; None in a guide without marks."""
        walk = self._models.part("walk")
        return None if walk is None else walk.read(self._models)

    @property
    def dichotomy(self) -> "GrownKey | None":
        """A dichotomous key of characters; None in a guide without marks."""
        walk = self._models.part("walk")
        return None if walk is None else walk.grow(self._models)

    def check(self) -> "Report | None":
        """Return what needs a look: doubtful labels, copies, bad pictures, few and alike kinds.

        None in a guide that was built by an earlier version.
        """
        known = self._models.part("check")
        if known is None:
            return None
        if spoken() not in self._reports:
            self._reports[spoken()] = known.report(self, self._models)
        return self._reports[spoken()]

    @cached_property
    def _reports(self) -> "dict[str, Report]":
        """What needs a look, by the language that it was told in."""
        return {}

    def compare(self, kind: str, other: str) -> KindPair:
        """Return two kinds side by side: what sets them apart, and how often they are confused.

        What sets them apart is in ``parts["marks"]``, in a guide with marks.
        """
        kind, other = self.find_kind(kind), self.find_kind(other)
        if kind == other:
            raise GuideError(f"{self.shown_name(kind)!r} is one kind; give two to compare.")
        return compare_kinds(self, self._models, self.kind(kind), self.kind(other))

    def specimen(self, i: int) -> Specimen:
        """Return one specimen."""
        return self._catalogue.specimens([i])[0]

    def specimens(self, ids: Iterable[int]) -> list[Specimen]:
        """Return specimens in the order of ``ids``."""
        return self._catalogue.specimens([int(i) for i in ids])

    def members(
        self, *, branch: int | None = None, kind: str | None = None, word: str | None = None
    ) -> np.ndarray:
        """Return the ids of a branch (here and below), of a kind, or that show a word.

        Most typical first; of a word, surest first.
        """
        found = self._catalogue.members(branch=branch, kind=kind, word=word)
        return np.array(found, dtype=np.int64)

    def original(self, i: int) -> Path | None:
        """Return where the image of a specimen is; None where its folder is gone or lacks it."""
        return find_original(self.folder, self.about, self.specimen(i).path)

    def read_original(self, i: int) -> Original | None:
        """Return the image of a specimen as its owner has it; None where it is gone or changed."""
        path = self.specimen(i).path
        return read_original(self.folder, self.about, path, self.digests[int(i)])

    def words_of(self, i: int) -> tuple[tuple[str, float], ...]:
        """Return the attributes that a specimen shows, surest first, the picture's own last."""
        return self._catalogue.words_of(int(i))

    def sentence(self, branch: int) -> str:
        """Return the path to a branch as a sentence: "animal › winged › red cap"."""
        phrases = [", ".join(self.branches[b].words) for b in self.path(branch)[1:]]
        return " › ".join(phrases) or "the whole collection"

    def path(self, branch: int) -> list[int]:
        """Return the branches from the whole collection down to ``branch``."""
        path = [branch]
        while (parent := self.branches[path[-1]].parent) is not None:
            path.append(parent)
        return path[::-1]

    def find_branch(self, name: str) -> int:
        """Return a branch by its number, its page, its words or its whole sentence.

        ``"7"``, ``"branch/7.html"``, ``"bird"`` and ``"animal > bird"`` may all be the same one.
        """
        return find_branch(self, name)

    @cached_property
    def _finder(self) -> Finder:
        words = [(word, n) for word, n, _ in self.words]
        kinds = [(kind.name, kind.count) for kind in self.kinds]
        renamed = [(kind.name, kind.count, kind.shown) for kind in self.kinds]
        overlay = self.overlay
        return Finder(
            self._catalogue,
            words,
            kinds,
            excluded=overlay.excluded,
            renamed=[each for each in renamed if each[0] in overlay.aliases.values()],
        )

    def find(self, query: str, *, limit: int | None = 60, start: int = 0) -> QueryResult:
        """Return the specimens that fit a query.

        Parameters
        ----------
        query : str
            Terms with commas between: words, kinds, names of files or folders, each as it is
            written, in the singular or plural, in part, or with a slip of the pen; ``date:`` and a
            date; *doubt*, where the key says another kind than the label. All must hold;
            a minus or *not* before a term excludes it. ``docs/find.md`` has more.
        limit : int, optional
            The most to list; None lists all.
        start : int
            How many to skip.

        Returns
        -------
        QueryResult
            The finds, best first; how many there are; and what each term was taken for.
        """
        return self._finder.find(query, limit, start)

    def narrow(self, query: str | None = None, *, word: str = "") -> tuple[Facet, ...]:
        """Return the words and kinds of a query's finds, each with how many would remain.

        In place of a query, ``word`` is one word of the guide.
        """
        return self._finder.narrow(query, word=word)

    @cached_property
    def digests(self) -> list[str]:
        """The digest of each specimen's image, by id: the same image has it in every guide."""
        return self._catalogue.digests()

    def neighbours(self, ids: Iterable[int], n: int = 8) -> np.ndarray:
        """Return the ``n`` specimens that look most like each of ``ids``, nearest first."""
        ids = np.array([int(i) for i in ids], dtype=np.int64)
        excluded = self.overlay.excluded
        among = np.setdiff1d(np.arange(self.n_specimens), [*excluded]) if excluded else None
        return self._models.nearest.find(self._models.rows[ids], n, own=ids, among=among)

    # -- asking about new images ----------------------------------------------------------
