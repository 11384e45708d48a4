"""A guide: build it from a collection, open it again, ask it about a new image."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldguide._display import make_card
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.features.network import Embedder, Network, list_embedders
from fieldguide.guide.adding import add_to_guide
from fieldguide.guide.answer import Answer
from fieldguide.guide.answering import answer_sighting
from fieldguide.guide.build import build_guide
from fieldguide.guide.contents import GuideContents
from fieldguide.guide.edits.editor import Edits
from fieldguide.guide.edits.records import WORD, Target
from fieldguide.guide.edits.targets import point_at
from fieldguide.guide.sighting import Sighting, describe_subject
from fieldguide.guide.teaching import TaughtWord
from fieldguide.guide.telling import count
from fieldguide.guide.views import FoundSubject, Specimen
from fieldguide.guide.workspace import Settings

if TYPE_CHECKING:
    from fieldguide.chapters.marks.records import ImageMarks
    from fieldguide.chapters.places.records import Located


class Guide(GuideContents):
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
    ...     (answer,) = guide.identify([np.full((48, 48, 3), 15, dtype=np.uint8)])
    ...     print(answer.kinds[0].name)
    ...     print([(kind.name, kind.count, kind.words[0].name) for kind in guide.kinds])
    ...     print([(branch.words, branch.count) for branch in guide.branches])
    ...     found = guide.find("bright")
    ...     print(found.total, found.terms[0].how, found.finds[0].specimen.kind)
    d
    [('d', 3, 'dark'), ('l', 3, 'bright')]
    [((), 6), (('bright',), 3), (('dark',), 3)]
    3 exact l
    """

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
    def open(cls, folder: str | os.PathLike[str]) -> "Guide":
        """Open a guide. No code is loaded from it."""
        return cls(folder)

    @classmethod
    def build(
        cls,
        collection: Collection | str | os.PathLike[str],
        out: str | os.PathLike[str],
        *,
        title: str | None = None,
        seed: int = 0,
        embedder: Embedder = None,
        features: str = "auto",
        key: str = "auto",
        kernel: str = "linear",
        key_cost: float | None = None,
        key_loss: float | None = None,
        key_words: bool = False,
        tree: str = "auto",
        marks: bool = True,
        places: bool = True,
        vocabulary: str | os.PathLike[str] | None = None,
        n_jobs: int = -1,
        device: str = "cpu",
        client: Any = None,
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
        embedder : path, or list of paths, optional
            ONNX file in place of the built-in network, "lite1" or "lite2" for larger ones of its
            family, or several of these side by side.
        features : str
            What specimens are compared by: "auto", or one or more of deep, closer, peaks,
            subject, quarters, words, hog, gist, texture, color joined by ``+``, where looks stands
            for the first five; see :class:`~fieldguide.features.FeatureStack`. "auto" is looks,
            unless deep names more specimens of a sample rightly, or others clearly more.
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
        vocabulary : path, optional
            A file of ``fieldguide words``: the words that pictures are told in, with an
            ``embedder`` whose pictures and texts meet. By default ``vocabulary.safetensors``
            beside the ONNX file, if it is there.
        n_jobs : int, optional
            Threads; -1 is all cores. The guide does not depend on it.
        device : {"cpu", "auto", "cuda"}
            Where the network runs: "cuda" is a graphics processor of NVIDIA's, reached through the
            extra ``gpu``, and "auto" takes it if there is one. What it measures agrees with the
            processor's measurements to about five digits, not to the last bit.
        client : distributed.Client or str, optional
            Of a dask scheduler, or its address: its workers measure the images, in place of this
            machine's threads. The guide does not depend on it. See ``docs/scale.md``.
        progress : callable, optional
            Called with (what is being done, how many are done, how many there are).
        """
        if not isinstance(collection, Collection):
            collection = Collection.from_folder(collection)
        network = list_embedders(embedder)
        settings = Settings(
            seed=seed,
            embedder=network,
            n_jobs=n_jobs,
            device=device,
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
            vocabulary=None if vocabulary is None else os.fspath(vocabulary),
        )
        build_guide(collection, Path(out), settings, progress or (lambda *_: None), client)
        guide = cls(out)
        if network:
            guide.use_embedder(network)
        return guide

    def add(
        self,
        folder: str | os.PathLike[str],
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
        n_jobs : int, optional
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

    @cached_property
    def edits(self) -> Edits:
        """What the owner has edited, and how to edit more; see ``docs/edits.md``."""
        return Edits(self, self._log, self._reading)

    def teach(
        self,
        word: str,
        yes: Sequence[str | os.PathLike[str] | int],
        no: Sequence[str | os.PathLike[str] | int],
        *,
        note: str = "",
    ) -> TaughtWord:
        """Teach the guide a word by a few specimens that show it and a few that do not.

        The word is said of other specimens at once if it holds on those that did not teach it, and
        joins the words of the next build; it is an edit, see ``docs/edits.md``. Teaching it again
        adds specimens.

        Parameters
        ----------
        word : str
            One that the guide does not have, or that was taught before.
        yes, no : sequences of str, path or int
            Specimens by their paths in the guide or their numbers, or files with the same content;
            at least 2 of each sort in all, better ten.
        note : str
            Why.

        Returns
        -------
        TaughtWord
            ``reliability.tell()`` is one sentence on how well it holds.
        """
        shows, lacks = ([point_at(self, each) for each in given] for given in (yes, no))
        edit = self.edits.add("teach", Target(WORD, word), note=note, yes=shows, no=lacks)
        assert edit.target is not None
        return self.taught[edit.target.name]

    def reopen(self) -> "Guide":
        """Open the guide as it is now, with the same network; edits cost no model."""
        fresh = Guide.__new__(Guide)
        fresh._open(self.folder, checked=self._stamp)
        if fresh._stamp == self._stamp:
            fresh._models = self._models
        else:
            fresh._models.share_network(self._models)
        return fresh

    def strip(self) -> "Guide":
        """Return the guide without dates and places, as one may want to show it to others.

        Captions, words and names of files stay as they are.
        """
        fresh = Guide(self.folder)
        fresh._models.share_network(self._models)
        fresh._catalogue.strip()
        return fresh

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

    def use_embedder(self, embedder: Embedder) -> None:
        """Say where the ONNX file is that the guide was built with; or files, in their order."""
        self._models.use_embedder(embedder)

    @property
    def network(self) -> Network:
        """The network that new images are shown to, opened when it is first needed."""
        return self._models.network

    @property
    def embedder(self) -> tuple[str, ...]:
        """The ONNX files of the network; none for the built-in one."""
        return self._models.embedder

    @property
    def device(self) -> str:
        """Where the network runs: "cpu", "cuda" or "auto"."""
        return self._models.device

    def use_device(self, device: str) -> None:
        """Say where the network runs from now on: "cpu", "cuda" or "auto", as of :meth:`build`."""
        self._models.use_device(device)

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
                    "again with `features=looks`."
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
        target: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
        language: str = "en",
    ) -> Path:
        """Write the page as plain files; return the address of the first one.

        See :func:`fieldguide.site.export_site`.
        """
        from fieldguide.site.export import export_site

        return export_site(
            self, Path(target), overwrite=overwrite, progress=progress, language=language
        )

    def all_located(self, kind: str | None = None) -> "list[tuple[Specimen, Located]]":
        """Return the specimens, of one kind or of all, of which it is known what decides."""
        known = self._kind_by_name
        if kind is not None:
            name = self.find_kind(kind)
            known = {name: known[name]}
        ids = sorted({i for each in known.values() for i in each.exemplars})
        found = ((specimen, self.located(specimen.id)) for specimen in self.specimens(ids))
        return [(specimen, at) for specimen, at in found if at is not None]
