"""A guide: build it from a collection, open it again, ask it about a new image."""

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from fieldguide._display import make_card
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.features import FeatureStack, draw_words_plate
from fieldguide.guide import folder as files
from fieldguide.guide.adding import add_to_guide
from fieldguide.guide.answer import Answer
from fieldguide.guide.answering import answer_sighting
from fieldguide.guide.build import build_guide
from fieldguide.guide.calling import find_branch, find_kind
from fieldguide.guide.catalogue import Catalogue
from fieldguide.guide.couplets import make_couplets
from fieldguide.guide.edited import EditedCatalogue, Overlay
from fieldguide.guide.edits.editor import Edits
from fieldguide.guide.edits.log import EditLog, Reading
from fieldguide.guide.finding import Finder
from fieldguide.guide.found_kinds import are_found
from fieldguide.guide.key_choice import KEYS
from fieldguide.guide.models import Models
from fieldguide.guide.naming import display_name
from fieldguide.guide.originals import Original, find_original, read_original
from fieldguide.guide.pairs import KindPair, compare_kinds
from fieldguide.guide.sighting import Sighting, describe_subject
from fieldguide.guide.summaries import find_nearest
from fieldguide.guide.telling import count, tell_growth, tell_summary, tell_verdict
from fieldguide.guide.views import (
    Branch,
    Couplet,
    CoupletWords,
    Exemplar,
    Facet,
    Found,
    FoundSubject,
    Kind,
    Specimen,
    Unreadable,
    VisualWord,
)
from fieldguide.guide.visual_words import read_visual_words
from fieldguide.guide.workspace import Settings

if TYPE_CHECKING:
    from fieldguide.chapters.check.records import Report
    from fieldguide.chapters.marks.records import ImageMarks, KindMarks
    from fieldguide.chapters.places.records import Located
    from fieldguide.chapters.walk.characters import Characters
    from fieldguide.chapters.walk.grown import GrownKey

_FLAT = (KEYS["ova"].__name__, KEYS["ovo"].__name__)


class Guide:
    """Everything that is known of a collection.

    Make one with :meth:`build`, or :meth:`open` one that was built before.

    Attributes
    ----------
    folder : Path
    edition : Path
        Where the files of the guide are, below ``folder``. They stay as they are when the guide is
        built again: this object goes on to say what it said; see :meth:`reopen`.
    title, summary : str
    n_specimens : int
        Rows of every matrix; those that the owner has excluded since are among them: see ``ids``.
    about : dict
        Settings, seed, versions, fingerprint, held-out accuracy, confusions.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fieldguide import Collection, Guide
    >>> greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 20, 30, 220, 230, 240)]
    >>> with tempfile.TemporaryDirectory() as out:
    ...     guide = Guide.build(Collection.from_arrays(greys, list("dddlll")), out)
    ...     guide.identify([np.full((48, 48, 3), 15, dtype=np.uint8)])[0].kinds[0][0]
    'd'
    """

    def __init__(self, folder: str | os.PathLike) -> None:
        self.folder = Path(folder)
        self._stamp = files.stamp_info(self.folder)
        self.about = files.read_info(self.folder)
        self.edition = files.find_edition(self.folder, self.about)
        self.title: str = self.about["title"]
        self.n_specimens: int = self.about["n_specimens"]
        self._models = Models(self.edition, self.about)
        self._plain = Catalogue(self.edition / files.CATALOGUE)
        self._log = EditLog(self.folder)
        self.refresh()

    def __repr__(self) -> str:
        n_kinds = self.about.get("n_kinds")
        kinds = f" of {count(n_kinds, 'kind')}" if n_kinds else ""
        held = f"{count(self.n_shown, 'specimen')}{kinds}"
        return f"<Guide {self.title!r}: {held}, in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        below = [self.branches[b] for b in self.branches[0].children]
        rows = [
            (", ".join(b.words), f"{b.count:,}", ", ".join(name for name, _ in b.kinds[:4]))
            for b in below
        ]
        columns = ("branch", "specimens", "kinds")
        return make_card(self.title, [self.summary, self.verdict], columns, rows)

    @classmethod
    def open(cls, folder: str | os.PathLike) -> "Guide":
        """Open a guide. No code is loaded from it."""
        return cls(folder)

    @classmethod
    def build(
        cls,
        collection: Collection | str | os.PathLike,
        out: str | os.PathLike,
        *,
        title: str | None = None,
        seed: int = 0,
        embedder: str | os.PathLike | None = None,
        features: str = "auto",
        key: str = "auto",
        kernel: str = "linear",
        key_cost: float | None = None,
        key_loss: float | None = None,
        key_words: bool = False,
        tree: str = "auto",
        marks: bool = True,
        places: bool = True,
        n_jobs: int = -1,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> "Guide":
        """Build the guide of a collection, or bring it up to date.

        Images that have not changed since the guide was last built are not read again. A build
        that was interrupted continues where it stopped and ends in the same guide.

        Parameters
        ----------
        collection : Collection or path of a folder
        out : path
            Folder for the guide: new, empty, or an earlier guide; not inside the images' folder.
        title : str, optional
            Shown on the page; the name of the collection by default.
        seed : int
            Of everything random.
        embedder : path, optional
            ONNX file in place of the built-in network.
        features : str
            What specimens are compared by: "auto", or one or more of deep, closer, peaks,
            subject, quarters, words, hog, gist, texture, color joined by ``+``, where looks stands
            for the first five; see :class:`~fieldguide.features.FeatureStack`. "auto" is looks,
            unless deep names as many specimens of a sample rightly, or others clearly more.
        key : str
            How new specimens are named: "auto", the cheapest of one-vs-all, relaxed hierarchy and
            attention tree that is about as good on held-out specimens; or "ova", "ovo", "relaxed",
            "attention", "cut", "confusion" or "dag", with parameters as in "relaxed:rho=0.9,C=10";
            see :mod:`fieldguide.identify`.
        kernel : str
            Of the key: "linear", "chi2", "intersection", "jensen_shannon", "hellinger", "rbf" or
            "exponential_chi2".
        key_cost, key_loss : float, optional
            The largest share of one-vs-all's cost that a tree key may have, or what it may lose in
            held-out accuracy, one standard error included.
        key_words : bool
            Of splits of the relaxed hierarchy that are about as good, take the one that a word
            tells apart best; goes with the keys "auto" and "relaxed".
        tree : {"auto", "attribute", "bernoulli", "agglomerative"}
            How the tree in words is grown: by the Attribute Tree Process, by FBLM, or by
            clustering; see :mod:`fieldguide.describe`. "auto" is attribute, unless there are too
            few specimens or words for it.
        marks : bool
            Look for the field marks of each kind; without, a build is quicker.
        places : bool
            Find what the key decides by on a few exemplars of each kind, for its plate; without, a
            build is quicker, and the guide cannot locate what decides on new images.
        n_jobs : int
            Threads; -1 is all cores. The guide does not depend on it.
        progress : callable, optional
            Called with (what is being done, how many are done, how many there are).
        """
        if not isinstance(collection, Collection):
            collection = Collection.from_folder(collection)
        network = None if embedder is None else os.fspath(embedder)
        settings = Settings(
            seed=seed,
            embedder=network,
            n_jobs=n_jobs,
            title=title,
            features=features,
            key=key,
            kernel=kernel,
            key_cost=key_cost,
            key_loss=key_loss,
            key_words=key_words,
            tree=tree,
            marks=marks,
            places=places,
        )
        build_guide(collection, Path(out), settings, progress or (lambda *_: None))
        guide = cls(out)
        if network is not None:
            guide.use_embedder(network)
        return guide

    def add(
        self,
        folder: str | os.PathLike,
        *,
        kinds: str = "auto",
        n_jobs: int = -1,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> "Guide":
        """Add the images of a folder to the guide; return the guide that they are in.

        The images that the guide was built from are not needed. An attention tree learns new kinds
        without being trained again; any other key, and one that gets more images of kinds that it
        knows, is trained again: ``about["growth"]["because"]`` says what happened. The rest of the
        guide is that of all specimens.

        Parameters
        ----------
        folder : path
            Of sub-folders named after kinds, or of images of one kind and named after it.
        kinds : {"auto", "parent", "top"}
            Which folder is the kind of an image, as of
            :meth:`~fieldguide.collection.Collection.from_folder`.
        n_jobs : int
            Threads; -1 is all cores. The guide does not depend on it.
        progress : callable, optional
            Called with (what is being done, how many are done, how many there are).
        """
        add_to_guide(
            self.folder,
            Path(folder),
            kinds=kinds,
            embedder=self._models.embedder,
            n_jobs=n_jobs,
            progress=progress or (lambda *_: None),
        )
        return self.reopen()

    def is_current(self) -> bool:
        """Whether the guide has not been built again or edited since it was opened."""
        is_built_again = files.stamp_info(self.folder) not in (self._stamp, None)
        return not is_built_again and self._log.stamp() == self._log_stamp

    def reopen(self) -> "Guide":
        """Open the guide as it is now, with the same network; edits cost no model."""
        fresh = Guide(self.folder)
        if fresh._stamp == self._stamp:
            fresh._models = self._models
        else:
            fresh._models.share_network(self._models)
        return fresh

    # -- the owner's edits ----------------------------------------------------------------

    def refresh(self) -> None:
        """Show what the log of edits holds now; of this edition, whatever was built meanwhile."""
        self._log_stamp = self._log.stamp()
        self._reading: Reading = self._log.read()
        shown = ("branches", "kinds", "words", "sources", "couplets", "_kind_by_name", "_finder")
        for name in (*shown, "edits", "edited_catalogue", "_worded", "_report"):
            self.__dict__.pop(name, None)
        is_edited = bool(self._reading.active)
        self._catalogue = self.edited_catalogue if is_edited else self._plain
        self._models.reword(self.overlay.word_names, self.overlay.hidden_words)

    @cached_property
    def edits(self) -> Edits:
        """What the owner has edited, and how to edit more; see ``docs/edits.md``."""
        return Edits(self, self._log, self._reading)

    @cached_property
    def edited_catalogue(self) -> EditedCatalogue:
        """The catalogue with the edits laid over it."""
        return EditedCatalogue(self._plain, self._reading.active)

    @property
    def overlay(self) -> Overlay:
        """What of the guide is edited: merged kinds, excluded specimens, hidden branches, notes."""
        return self.edited_catalogue.overlay if self._reading.active else Overlay()

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

    @cached_property
    def visual_words(self) -> tuple[VisualWord, ...]:
        """A few of the visual words; empty in a guide whose features hold none."""
        path = self.edition / files.VISUAL_WORDS
        if not path.exists():
            return ()
        try:
            return read_visual_words(files.read_json(path))
        except (KeyError, ValueError, TypeError) as error:
            raise GuideError(
                f"The visual words {str(path)!r} cannot be read ({error}); build the guide again."
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

    def word_couplet(self, number: int) -> CoupletWords:
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
                "This guide was built without visual words; build it with --features words, or "
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
        return known.of_kind(self.kind(kind), self.shown_name, self._models.maps)

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
        return self._report

    @cached_property
    def _report(self) -> "Report | None":
        known = self._models.part("check")
        return None if known is None else known.report(self, self._models)

    def compare(self, kind: str, other: str) -> KindPair:
        """Return two kinds side by side: what sets them apart, and how often they are confused.

        What sets them apart is in ``parts["marks"]``, in a guide with marks.
        """
        kind, other = self.find_kind(kind), self.find_kind(other)
        if kind == other:
            raise GuideError(f"{self.shown_name(kind)!r} is one kind; give two to compare.")
        return compare_kinds(self, self._models, self.kind(kind), self.kind(other))

    def find_marks(self, image: Any, kind: str) -> "ImageMarks | None":
        """Say which marks of a kind an image shows, and where.

        Parameters
        ----------
        image : path, bytes of an image file, Pillow image, array or Sighting
        kind : str

        Returns
        -------
        ImageMarks, or None in a guide without marks.
        """
        known = self._models.part("marks")
        return None if known is None else known.see(self.look(image), self.find_kind(kind))

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

    def strip(self) -> "Guide":
        """Return the guide without dates and places, as one may want to show it to others.

        Captions, words and names of files stay as they are.
        """
        fresh = Guide(self.folder)
        fresh._models.share_network(self._models)
        fresh._catalogue.strip()
        return fresh

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

    def find(self, query: str, *, limit: int | None = 60, start: int = 0) -> Found:
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
        Found
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
        n = max(min(n, self.n_shown - 1), 0)
        return find_nearest(self._models.rows, ids, n, among)

    # -- asking about new images ----------------------------------------------------------

    def look(self, image: Any) -> Sighting:
        """Decode a new image, to ask several things of it: each is computed once.

        Parameters
        ----------
        image : path, bytes of an image file, Pillow image or array

        Raises
        ------
        UnreadableImageError
            With one sentence, for an image that cannot be read.
        """
        return image if isinstance(image, Sighting) else Sighting(image, self._models)

    def identify(self, images: Iterable[Any]) -> list[Answer]:
        """Say what new images are.

        Parameters
        ----------
        images : iterable of paths, bytes of image files, Pillow images, arrays or Sightings

        Returns
        -------
        list of Answer
            :meth:`~fieldguide.guide.Answer.to_plain` gives the same as ``fieldguide identify
            --json``; ``docs/answer.md`` has its fields.

        Raises
        ------
        UnreadableImageError
            With one sentence, for the first image that cannot be read.
        """
        return [answer_sighting(self, self.look(image)) for image in images]

    def use_embedder(self, path: str | os.PathLike) -> None:
        """Say where the ONNX file is that the guide was built with."""
        self._models.use_embedder(path)

    def locate(self, images: Iterable[Any], kind: str | None = None) -> "list[Located | None]":
        """Say where in new images the key's decision for a kind comes from.

        Parameters
        ----------
        images : iterable of paths, bytes of image files, Pillow images, arrays or Sightings
        kind : str, optional
            Which kind to look for; the one that :meth:`identify` names by default.

        Returns
        -------
        list of Located
            Coordinates are shares of the width and the height. None in place of an image where
            no one linear function decides between the kind and the next likely one.
        """
        places = self._models.part("places")
        if places is None:
            raise GuideError(
                "This guide does not know where its answers come from: it has fewer than two "
                "kinds, was built without places, by an earlier version, or with a network without "
                "a map; build it again."
            )
        wanted = None if kind is None else self.find_kind(kind)
        sightings = map(self.look, images)
        return [places.locate(each, wanted or each.kinds[0].name) for each in sightings]

    def find_subjects(self, images: Iterable[Any]) -> list[FoundSubject]:
        """Say where the subject of new images is, whatever it is: box and confidence.

        GuideError in a guide that looks once and knows no places.
        """
        places, found = self._models.part("places"), []
        for sighting in map(self.look, images):
            looks = sighting.looks or (places and places.look(sighting))
            if looks is None:
                raise GuideError(
                    "This guide looks at pictures once and does not find their subjects; build it "
                    "again with --features looks."
                )
            found.append(describe_subject(looks.subject))
        return found

    def subject(self, i: int) -> FoundSubject | None:
        """Return the subject of a specimen; None in a guide that looks once."""
        if "subjects" not in self.about["features"]:
            return None
        *box, confidence = (round(float(v), 4) for v in self._models.subjects[int(i)])
        return FoundSubject((box[0], box[1], box[2], box[3]), confidence, 1)

    def located(self, i: int, against: str | None = None) -> "Located | None":
        """Return what decides for the kind of a specimen; None if it was not looked at.

        By default against all other kinds, or where the key has no such function against the
        likeliest of them; ``against`` one kind only where that is the likeliest.
        """
        places = self._models.part("places")
        found = places.of_picture.get(self.digests[int(i)], ()) if places else ()
        kind = self.specimen(i).kind
        wanted = (each for each in found if each.kind == kind and against in (None, each.against))
        return next(wanted, None)

    def describe(self, branch: int = 0, *, max_depth: int | None = None) -> str:
        """Return the tree below a branch as indented text."""
        first = self.branches[branch]
        lines = []
        pending = [branch]
        while pending:
            node = self.branches[pending.pop()]
            depth = node.depth - first.depth
            if max_depth is not None and depth > max_depth:
                continue
            phrase = ", ".join(node.words) or self.title
            lines.append(f"{'  ' * depth}{phrase} ({node.count:,})")
            pending += reversed(node.children)
        return "\n".join(lines)

    def export_site(
        self,
        target: str | os.PathLike,
        *,
        overwrite: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Path:
        """Write the page as plain files; return the address of the first one.

        See :func:`fieldguide.site.export_site`.
        """
        from fieldguide.site.export import export_site

        return export_site(self, Path(target), overwrite=overwrite, progress=progress)

    def all_located(self, kind: str | None = None) -> "list[tuple[Specimen, Located]]":
        """Return the specimens, of one kind or of all, of which it is known what decides."""
        known = self._kind_by_name
        if kind is not None:
            name = self.find_kind(kind)
            known = {name: known[name]}
        ids = sorted({i for each in known.values() for i in each.exemplars})
        found = ((specimen, self.located(specimen.id)) for specimen in self.specimens(ids))
        return [(specimen, at) for specimen, at in found if at is not None]
