"""Guides to render, serve and export."""

import io
import itertools
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image, ImageDraw
from tests.identify.graphs import make_dagsvm

from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.errors import GuideError, UnreadableImageError
from fieldguide.guide.answer import Answer, AnswerBranch, NamedKind, Neighbour, ShownWord
from fieldguide.guide.catalogue import Catalogue, write_catalogue
from fieldguide.guide.couplets import make_couplets
from fieldguide.guide.edited import Overlay
from fieldguide.guide.finding import Finder
from fieldguide.guide.movement import Movements
from fieldguide.guide.naming import display_name, show_kinds
from fieldguide.guide.pairs import compare_kinds
from fieldguide.guide.views import (
    Branch,
    CoupletWords,
    KeyPath,
    Kind,
    PathStep,
    Specimen,
    Unreadable,
    Word,
)


class StandInGuide:
    """A guide made of records alone, in an instant and of any size or shape.

    Parameters
    ----------
    folder : Path
    places : list of (kind or None, path of words, picture size, file name)
        One per specimen; each step of a path is one branch.
    draw : callable
        (i) -> PIL image; or None for one small picture shared by all.
    has_graph : bool
        Whether its key is the graph of DAGSVM, where every couplet but the first and the outermost
        is reached in two ways.
    """

    def __init__(self, folder, places, draw=None, title="A stand-in guide", unreadable=(),
                 has_graph=False):  # fmt: skip
        self.folder = Path(folder)
        self.title = title
        self.n_specimens = self.n_shown = len(places)
        self.ids = list(range(len(places)))
        self.overlay = Overlay()
        self.unreadable = tuple(unreadable)
        self.visual_words = ()
        self.marks_of = {}
        self.movements = Movements({}, 0, 0)
        self.characters = self.dichotomy = None
        self.report = None  # what needs a look, in a guide that knows of it
        self.differences = {}  # by (kind, other): what optional chapters say of the two
        self.locate = None  # (kind) -> where it shows, in a guide that knows places
        self._grow_tree([path for _, path, _, _ in places], [kind for kind, *_ in places])
        self._words_of = [
            tuple((word, 0.95 - 0.07 * k) for k, word in enumerate(path[::-1]))
            for _, path, _, _ in places
        ]
        self._specimens = []
        names = sorted({kind for kind, *_ in places if kind is not None})
        for i, (kind, _path, (width, height), name) in enumerate(places):
            right = i % 9 != 4 or len(names) < 2
            answer = kind if right or kind is None else names[(names.index(kind) + 1) % len(names)]
            stem = f"pictures/{i % 256:02x}/{i % 256:02x}{i:022x}"
            self._specimens.append(
                Specimen(
                    id=i,
                    path=name,
                    kind=kind,
                    width=width,
                    height=height,
                    thumbnail=f"{stem}.s.jpg",
                    picture=f"{stem}.l.jpg" if max(width, height) > 256 else f"{stem}.s.jpg",
                    branch=self._branch_of[i],
                    answer=answer,
                    confidence=None if kind is None else (0.97 if right else 0.48),
                )
            )
        self._draw_pictures(draw)
        self.kinds = tuple(self._describe_kind(k, names) for k in range(len(names)))
        self.couplets = ()
        self.couplet_words = {}  # by number: what tells the sides of a couplet apart
        if has_graph:
            graph = make_dagsvm(np.ones((len(names) ** 2, 3), dtype=np.float32), len(names))
            self.couplets = make_couplets(graph, names)
        shown = {}
        for row in self._words_of:
            for word, _ in row:
                shown[word] = shown.get(word, 0) + 1
        named = {branch.words[0]: branch.id for branch in self.branches if branch.words}
        self.words = tuple((word, n, named.get(word)) for word, n in sorted(shown.items()))
        self.words += (("mostly green", 0, None),)
        self.sources = {word: "annotation" for word in shown} | {"mostly green": "picture"}
        self.summary = (
            f"{len(places):,} pictures of {len(names)} kinds, from animals to things."
            if names
            else f"{len(places):,} pictures without labels, parted by the words that they share."
        )
        self.growth = ""
        self.verdict = "The key names 89.3% of held-out specimens rightly."
        self.about = {
            "created": "2026-11-15T08:30:00Z",
            "seed": 0,
            "versions": {"fieldguide": "0.1.0", "numpy": np.__version__},
            "settings": {
                "n_iter": 400,
                "size_px": 224,
                "key": "DAGSVMClassifier" if has_graph else None,
            },
            "fingerprint": "5d1f0c0e4b8a",
            "embedder": "EfficientNet-Lite0, ImageNet",
            "accuracy": 0.893 if names else None,
            "mean_class_accuracy": 0.871 if names else None,
            "n_folds": 5,
            "confusions": [[a, b, 3] for a, b in itertools.pairwise(names)],
            "source": "pictures of things",
            "seconds": 74.2,
        }

    def is_current(self):
        return True

    def sentence(self, branch):
        steps = []
        while branch is not None:
            steps.append(", ".join(self.branches[branch].words))
            branch = self.branches[branch].parent
        return " › ".join(step for step in steps[::-1] if step) or "the whole collection"

    def kind(self, name):
        return next(kind for kind in self.kinds if kind.name == name)

    def shown_name(self, kind):
        known = {each.name: each.shown for each in self.kinds}
        return known.get(kind) or display_name(kind)

    def check(self):
        return self.report

    def describe_couplet(self, number):
        return self.couplet_words.get(number, CoupletWords())

    def marks(self, name):
        return self.marks_of.get(name)

    def list_mark_pictures(self):
        return [each.picture for found in self.marks_of.values() for each in found.patterns]

    def compare(self, kind, other):
        for name in (kind, other):
            if name not in {each.name for each in self.kinds}:
                raise GuideError(f"No kind of this guide is called {name!r}.")
        if kind == other:
            raise GuideError(f"{kind!r} is one kind; give two to compare.")
        known = SimpleNamespace(part=lambda name: None)
        pair = compare_kinds(self, known, self.kind(kind), self.kind(other))
        return replace(pair, parts=self.differences.get((kind, other), {}))

    def specimen(self, i):
        return self._specimens[i]

    def specimens(self, ids):
        return [self._specimens[i] for i in ids]

    @cached_property
    def _catalogue(self):
        """What can be found, in a real catalogue."""
        path = self.folder / "catalogue.sqlite"
        rows = [
            (s.id, s.path, "", "", s.kind, 1, 1, 0, "[]", s.branch, None, None, 1 - s.id / 1e6)
            for s in self._specimens
        ]
        words = [word for word, _, _ in self.words]
        shows = [
            (i, words.index(word), score)
            for i, shown in enumerate(self._words_of)
            for word, score in shown
        ]
        attributes = [(word, self.sources[word]) for word in words]
        write_catalogue(path, rows, attributes, shows, [], [], [])
        return Catalogue(path)

    @cached_property
    def _finder(self):
        words = [(word, n) for word, n, _ in self.words]
        return Finder(self._catalogue, words, [(kind.name, kind.count) for kind in self.kinds])

    def find(self, query, *, limit=60, start=0):
        return self._finder.find(query, limit, start)

    def narrow(self, query=None, *, word=""):
        return self._finder.narrow(query, word=word)

    def members(self, branch=None, kind=None, word=None):
        if word is not None:
            return np.array(self._catalogue.members(word=word), dtype=int)
        if kind is not None:
            return np.array([s.id for s in self._specimens if s.kind == kind])
        return np.array(self._members[branch], dtype=int)

    digests = property(lambda self: [f"{i:024x}" for i in range(self.n_specimens)])

    kinds_are_found = False
    taught: ClassVar = {}

    def original(self, i):
        return None

    def words_of(self, i):
        return self._words_of[i]

    def subject(self, i):
        return None

    def located(self, i, against=None):
        """A mark in the upper left corner of every second specimen."""
        kind = self._specimens[i].kind
        found = None if kind is None or i % 2 or not self.locate else self.locate(kind)
        return found if found is not None and against in (None, found.against) else None

    def neighbours(self, ids, n=8):
        steps = np.arange(1, 1 + min(n, self.n_specimens - 1))
        return (np.asarray(ids)[:, None] + steps) % max(self.n_specimens, 1)

    def look(self, image):
        try:
            with Image.open(io.BytesIO(image)) as opened:
                return SimpleNamespace(image=opened.convert("RGB"))
        except Exception as error:
            raise UnreadableImageError("it is not an image that can be read") from error

    def identify(self, images):
        for image in images:
            if isinstance(image, bytes):
                self.look(image)
        near = self.specimens(range(min(8, self.n_specimens)))
        ranked = [
            NamedKind(k.name, p) for k, p in zip(self.kinds, (0.83, 0.11, 0.04), strict=False)
        ]
        answer = Answer(
            tuple(ranked),
            AnswerBranch(self._branch_of[0], self.sentence(self._branch_of[0])),
            tuple(ShownWord(*shown) for shown in self._words_of[0]),
            tuple(Neighbour(s.id, s.path, s.kind) for s in near),
            path=self._walk(),
            parts={"places": self.locate(ranked[0].name)} if ranked and self.locate else {},
        )
        return [answer for _ in images]

    def _walk(self):
        """The way by the minus side of each couplet, each call closer than the one before."""
        if not self.couplets:
            return None
        steps, couplet = [], self.couplets[0]
        while True:
            n = len(steps)
            sides = (couplet.minus, couplet.both, couplet.plus)
            sure = 0.5 + 0.45 / (1 + n)
            steps.append(PathStep(couplet.number, "minus", -1.6 / (1 + n), sure, *sides))
            if couplet.to_minus is None:
                return KeyPath(tuple(steps), couplet.minus_end, n + 3, len(self.kinds))
            couplet = self.couplets[couplet.to_minus - 1]

    def _grow_tree(self, paths, kinds):
        children = {(): []}
        for path in paths:
            for depth in range(len(path)):
                step, parent = tuple(path[: depth + 1]), tuple(path[:depth])
                if step not in children:
                    children[step] = []
                    children[parent].append(step)
        order = []
        stack = [()]
        while stack:
            order.append(stack.pop())
            stack.extend(children[order[-1]][::-1])
        ids = {path: b for b, path in enumerate(order)}
        self._members = [[] for _ in order]
        self._branch_of = [ids[tuple(path)] for path in paths]
        for i, path in enumerate(paths):
            for depth in range(len(path) + 1):
                self._members[ids[tuple(path[:depth])]].append(i)
        self.branches = tuple(
            Branch(
                id=b,
                parent=ids[path[:-1]] if path else None,
                depth=len(path),
                children=tuple(ids[child] for child in children[path]),
                words=path[-1:],
                count=len(self._members[b]),
                n_direct=sum(place == b for place in self._branch_of) if len(paths) < 5000 else 0,
                truth=1 - 0.13 * (b % 6),
                stability=None if b % 2 else 0.9,
                is_likeness=b % 5 == 4,
                exemplars=tuple(self._members[b][:: max(1, len(self._members[b]) // 12)][:12]),
                kinds=_counted([kinds[i] for i in self._members[b] if kinds[i] is not None]),
            )
            for b, path in enumerate(order)
        )

    def _describe_kind(self, k, names):
        own = [s for s in self._specimens if s.kind == names[k]]
        words = dict.fromkeys(word for s in own[:50] for word, _ in self._words_of[s.id])
        others = [name for name in names if name != names[k]]
        return Kind(
            name=names[k],
            slug="".join(c if c.isalnum() else "-" for c in names[k].lower()).strip("-") or "kind",
            count=len(own),
            exemplars=tuple(s.id for s in own[:9]),
            words=tuple(Word(w, 0.96 - 0.11 * j, 0.02 + 0.05 * j) for j, w in enumerate(words)),
            recall=0.87,
            look_alikes=tuple((name, 0.08 / (1 + j)) for j, name in enumerate(others[:4])),
            branches=_counted([s.branch for s in own]),
            shown=show_kinds(names)[k],
        )

    def _draw_pictures(self, draw):
        shared = None
        for s in self._specimens:
            for address, most in ((s.thumbnail, 256), (s.picture, 1024)):
                path = self.folder / address
                if draw is None and shared is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(shared)
                elif not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    image = Image.new("RGB", (32, 24), "olive") if draw is None else draw(s.id)
                    image.thumbnail((most, most))
                    image.save(path, quality=88)
                    shared = path.read_bytes()


def _counted(values):
    tally = {}
    for value in values:
        tally[value] = tally.get(value, 0) + 1
    return tuple(sorted(tally.items(), key=lambda item: -item[1]))


SIZES = ((300, 200), (200, 300), (160, 160), (1400, 700))


def draw_stripes(i):
    """A picture that no other specimen has."""
    width, height = SIZES[i % len(SIZES)]
    image = Image.new("RGB", (width, height), (240, 240 - i % 200, (i * 37) % 256))
    draw = ImageDraw.Draw(image)
    for x in range(0, width, 16 + i % 9):
        draw.line((x, 0, width - x, height), fill=((i * 91) % 256, 60, 120), width=5)
    return image


def _place(kind, *path, i=0, name=None):
    return (kind, path, SIZES[i % len(SIZES)], name or f"{kind or 'pictures'}/{i:03d}.jpg")


@pytest.fixture(scope="session")
def make_stand_in(tmp_path_factory):
    """Make a guide of any shape out of records."""

    def make(places, **settings):
        settings.setdefault("draw", draw_stripes)
        return StandInGuide(tmp_path_factory.mktemp("guide"), places, **settings)

    return make


HOSTILE = (
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "100% \"sure\" & 'true'",
    "émoji 🦜 & {{ 7 * 7 }}",
    "C:\\windows\\system32?q=#x",
    "robin",
    "robin-2",
    "Robin",
)


@pytest.fixture(scope="session")
def hostile_guide(make_stand_in):
    """Names that break careless pages, and kinds whose addresses could clash."""
    places = [
        _place(kind, f"word of {kind}", "dup", i=i, name=f"{kind} {i} <b>.jpg")
        for i, kind in enumerate(HOSTILE * 2)
    ]
    places += [_place("robin", "many", i=i) for i in range(70)]
    return make_stand_in(
        places,
        title="<i>Hostile</i> & co",
        has_graph=True,
        unreadable=[Unreadable("<img src=x onerror=alert(1)>.jpg", "it is not an image")],
    )


@pytest.fixture(scope="session")
def plain_guide(make_stand_in):
    """A guide without kinds."""
    paths = (("animal", "winged"), ("animal", "furry"), ("thing",), ())
    return make_stand_in([_place(None, *paths[i % 4], i=i) for i in range(24)])


@pytest.fixture(scope="session")
def bare_guide(make_stand_in):
    """A guide of one kind without a tree."""
    return make_stand_in([_place("only", i=i) for i in range(3)])


@pytest.fixture(scope="session")
def empty_guide(make_stand_in):
    """A guide of no specimen at all."""
    return make_stand_in([], unreadable=[Unreadable("notes.txt", "it is not an image")])


@pytest.fixture(scope="session")
def specimens(request):
    """A small collection with kinds and attributes: more than a page of them have eyes."""
    n_per_kind = 2 if request.config.getoption("--few") else 9
    drawn = load_specimens(n_per_kind=n_per_kind, size_px=96)
    chosen = [i for i, k in enumerate(drawn.target) if k % 4 == 0]
    return Collection.from_arrays(
        [drawn.images[i] for i in chosen],
        [drawn.target_names[drawn.target[i]] for i in chosen],
        attributes=drawn.attributes[chosen],
        attribute_names=drawn.attribute_names,
        name="drawn specimens",
    )


@pytest.fixture(scope="session")
def guide(request, build_once):
    """A small guide with a flat key, else built as any other."""
    draw = partial(request.getfixturevalue, "specimens")
    return build_once("drawn", draw, features="looks", key="ova")


def draw_first_kinds():
    """Three specimens of each of seven kinds."""
    drawn = load_specimens(n_per_kind=3, size_px=64)
    kinds = [drawn.target_names[k] for k in drawn.target]
    chosen = [i for i, kind in enumerate(kinds) if kind in drawn.target_names[:7]]
    return Collection.from_arrays(
        [drawn.images[i] for i in chosen], [kinds[i] for i in chosen], name="drawn specimens"
    )


@pytest.fixture(scope="session")
def keyed_guide(build_once):
    """A small guide whose key has a graph."""
    return build_once(
        "keyed", draw_first_kinds, key="relaxed", features="color", marks=False, places=False
    )
