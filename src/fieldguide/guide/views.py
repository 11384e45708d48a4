"""What a page, a command or a program reads of a guide: plain immutable records.

A guide is a catalogue of *specimens*; a tree of *branches* in words; *kinds*, when the
collection has labels; and the answers of its key. Everything here is data: no file is read.
"""

import json
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fieldguide._display import make_card, show_share

_N_ROWS = 12  # of a table that a notebook shows


class ClipFrame(NamedTuple):
    """A frame by which a clip was seen."""

    at_s: float  # seconds from the beginning of the clip
    picture: str  # address inside the guide; ≤ 320 px


class Clip(NamedTuple):
    """What makes a specimen of a video file, a moving GIF or a burst of pictures."""

    seconds: float  # how long it is
    frames: tuple[ClipFrame, ...]  # in order


def read_clip_frames(text: str) -> tuple[ClipFrame, ...]:
    """Return the frames of a clip, as a catalogue and a journal keep them."""
    return tuple(ClipFrame(*each) for each in json.loads(text))


@dataclass(frozen=True)
class Specimen:
    """One image, or one clip, of the collection.

    Examples
    --------
    >>> file = "pictures/0a/0a1b.s.jpg"
    >>> owl = Specimen(0, "owls/a.jpg", "owl", 400, 300, file, file, 1, "owl", 0.9)
    >>> owl.kind == owl.answer, owl.pictures[0]  # its small one
    (True, 'pictures/0a/0a1b.s.jpg')
    """

    id: int  # row of every table and matrix of the guide; specimens are ordered by path
    path: str  # relative to the user's folder, forward slashes; never absolute
    kind: str | None  # its label, or None
    width: int
    height: int
    thumbnail: str  # address inside the guide, such as "pictures/0a/0a1b….s.jpg"; ≤ 256 px
    picture: str  # the same file, or a larger one of ≤ 1024 px
    branch: int  # the branch of the tree where it sits
    answer: str | None  # the kind that the key gives it when it is held out, or None
    confidence: float | None  # the probability of that answer
    date: str | None = None  # when it was taken, ISO 8601, by its EXIF
    latitude: float | None = None  # where, in degrees, north and east positive; both or neither
    longitude: float | None = None
    caption: str = ""  # the owner's sentence on it, in the file or beside it
    owner_words: tuple[str, ...] = ()  # and the owner's words, in the order in which they stand
    clip: Clip | None = None  # of a clip, whose most telling frame is its picture

    @property
    def pictures(self) -> tuple[str, ...]:
        """The addresses of all its pictures."""
        frames = () if self.clip is None else tuple(frame.picture for frame in self.clip.frames)
        return (self.thumbnail, self.picture, *frames)


@dataclass(frozen=True)
class Branch:
    """One node of the tree in words. Branch 0 is the whole collection."""

    id: int
    parent: int | None
    depth: int
    children: tuple[int, ...]
    words: tuple[str, ...]  # what it adds to its parent; () for branch 0 alone
    is_likeness: bool  # no word divides further: it is named by what it holds
    count: int  # specimens here and below
    n_direct: int  # specimens that sit at this branch itself
    truth: float  # how often its name is true of its specimens, estimated, 0 to 1
    stability: float | None  # how far the chains of samples agree on it, 0 to 1; None without
    exemplars: tuple[int, ...]  # specimen ids, most typical first
    kinds: tuple[tuple[str, int], ...]  # kinds here and below with their counts, largest first

    def _repr_html_(self) -> str:
        lines = [f"Branch {self.id}: {self.count:,} specimens, {len(self.children)} branches."]
        title = ", ".join(self.words) or "The whole collection"
        return make_card(title, lines, ("kind", "specimens"), self.kinds[:_N_ROWS])


@dataclass(frozen=True)
class Word:
    """A word that rises in a group of specimens."""

    name: str
    share: float  # of the group that shows it
    elsewhere: float  # of everything else that shows it


@dataclass(frozen=True)
class Kind:
    """One label of the collection."""

    name: str  # the folder's or the label's
    slug: str  # unique, safe in an address
    count: int
    exemplars: tuple[int, ...]
    words: tuple[Word, ...]  # that set it apart, strongest first
    recall: float | None  # share of its specimens that the key names rightly, held out
    look_alikes: tuple[tuple[str, float], ...]  # other kinds; share of confusions either way
    branches: tuple[tuple[int, int], ...]  # (branch id, count): where its specimens sit
    shown: str  # the name as people write it; no other kind has it

    def _repr_html_(self) -> str:
        told = "" if self.recall is None else f"; the key names {show_share(self.recall)} rightly"
        rows = [(w.name, show_share(w.share), show_share(w.elsewhere)) for w in self.words]
        columns = ("word", "of these", "of others")
        return make_card(self.shown, [f"{self.count:,} specimens{told}."], columns, rows[:_N_ROWS])


@dataclass(frozen=True)
class Term:
    """One term of a query, and what it is taken for."""

    text: str  # as it was typed
    excludes: bool = False
    form: str = ""  # "word", "kind", "file" or "date" where the query says so
    # "exact", "plural", "part" of a name, "beginning" of one, "file", "slip" of the pen, "date",
    # "doubt": the key, when it has not seen the specimen, gives it another kind;
    # "" for a term that was not understood
    how: str = ""
    words: tuple[str, ...] = ()  # any of these, or
    kinds: tuple[str, ...] = ()  # any of these
    n_specimens: int = 0  # of which it is true
    suggestions: tuple[str, ...] = ()  # names that it may have meant, if it was not understood


@dataclass(frozen=True)
class Find:
    """A specimen that fits a query."""

    specimen: Specimen
    score: float  # sum over the terms that do not exclude
    because: tuple[str, ...]  # its words, kind and file that fit


@dataclass(frozen=True)
class QueryResult:
    """What fits a query.

    Examples
    --------
    >>> term = Term("owls", form="", how="plural", kinds=("owl",), n_specimens=12)
    >>> found = QueryResult("owls", (term,), total=12, start=0, finds=())
    >>> [f"{term.text}: {term.how} of {term.kinds[0]}" for term in found.terms]
    ['owls: plural of owl']
    """

    query: str
    terms: tuple[Term, ...]
    total: int  # specimens that fit
    start: int  # how many of them come before those listed
    finds: tuple[Find, ...]  # best first


@dataclass(frozen=True)
class Facet:
    """A word or a kind by which a query can be narrowed."""

    form: str  # "word" or "kind"
    name: str
    count: int  # specimens that would remain
    query: str  # the narrower one


@dataclass(frozen=True)
class VisualWord:
    """A small pattern that a guide looks for, in a guide whose features hold such words."""

    number: int
    share: float  # of the windows of all pictures
    n_patches: int  # windows in its picture, side by side
    kinds: tuple[tuple[str, float], ...]  # where it is most frequent, and how many times more so
    picture: str  # address inside the guide


@dataclass(frozen=True)
class Unreadable:
    """A file that was skipped."""

    path: str
    reason: str


class Exemplar(NamedTuple):
    """What a picture in a key stands for."""

    kind: str
    specimen: int | None = None  # None: the best of the kind


@dataclass(frozen=True)
class Couplet:
    """One question of a key with a graph: which kinds go on the minus side, the plus side, both.

    Examples
    --------
    >>> sides = {"minus": ("owl",), "both": (), "plus": ("robin", "wren")}
    >>> ways = {"to_minus": None, "to_plus": 2, "minus_end": ("owl",), "plus_end": ()}
    >>> couplet = Couplet(number=1, node=0, depth=0, **sides, **ways)
    >>> couplet.minus_end, couplet.to_plus  # an owl, or on to couplet 2
    (('owl',), 2)
    """

    number: int  # from 1, nearest to the first couplet first
    node: int  # of the key's decision graph
    depth: int  # couplets on the shortest way to it
    minus: tuple[str, ...]  # kinds that only go this way: below 0, the graph's left
    both: tuple[str, ...]  # kinds that go both ways: the key found them hard to place
    plus: tuple[str, ...]  # kinds that only go this way: above 0, the graph's right
    to_minus: int | None  # the couplet that follows; None where the way ends
    to_plus: int | None
    minus_end: tuple[str, ...]  # the kinds left where the way ends, the likeliest first; else ()
    plus_end: tuple[str, ...]
    # Specimens that went −, both ways and + while the key was trained, where it knows them.
    examples: tuple[tuple[Exemplar, ...], ...] = ((), (), ())

    def _repr_html_(self) -> str:
        onward = {"−": (self.to_minus, self.minus_end), "+": (self.to_plus, self.plus_end)}
        rows = [
            (side, ", ".join(kinds), f"couplet {to}" if to else ", ".join(end))
            for (side, (to, end)), kinds in zip(
                onward.items(), (self.minus, self.plus), strict=True
            )
        ]
        lines = [f"Both ways: {', '.join(self.both)}."] if self.both else []
        return make_card(f"Couplet {self.number}", lines, ("side", "kinds", "leads to"), rows)


class SideWords(NamedTuple):
    """What is said of one side of a couplet."""

    words: tuple[Word, ...] = ()  # that most of its specimens show and few of the other side's
    exceptions: tuple[str, ...] = ()  # kinds that go this way though the words do not say so


class CoupletWords(NamedTuple):
    """What tells the two sides of a couplet apart; nothing where no words do.

    Examples
    --------
    >>> winged = SideWords((Word("winged", share=0.9, elsewhere=0.1),))
    >>> CoupletWords(plus=winged).is_worded, CoupletWords().is_worded
    (True, False)
    """

    minus: SideWords = SideWords()
    plus: SideWords = SideWords()

    @property
    def is_worded(self) -> bool:
        """Whether words tell the sides apart."""
        return bool(self.minus.words or self.plus.words)


@dataclass(frozen=True)
class PathStep:
    """A couplet on the way of one new image through the key."""

    couplet: Annotated[int, "number of the couplet"]
    side: Annotated[str, '"minus" or "plus": the side taken']
    margin: Annotated[float, "below 0 on the minus side"]
    probability: Annotated[float, "of the side taken, at least a half"]
    minus: Annotated[tuple[str, ...], "kinds that only go the minus way"]
    both: Annotated[tuple[str, ...], "kinds that go both ways"]
    plus: Annotated[tuple[str, ...], "kinds that only go the plus way"]
    minus_words: Annotated[
        tuple[str, ...],
        "what the minus side shows and the plus side does not; empty if no words do",
    ] = ()
    plus_words: Annotated[
        tuple[str, ...],
        "what the plus side shows and the minus side does not; empty if no words do",
    ] = ()


@dataclass(frozen=True)
class KeyPath:
    """The way of one new image through a key with a graph, by the likelier side each time."""

    steps: Annotated[tuple[PathStep, ...], "the first couplet first"]
    end: Annotated[tuple[str, ...], "the kinds left where the way ends, the likeliest first"]
    evaluations: Annotated[int, "functions, or kernel values, that the key spent on its answer"]
    one_vs_all: Annotated[int, "what one-vs-all would spend"]


@dataclass(frozen=True)
class FoundSubject:
    """What stands out as the subject of a picture, whatever it is."""

    box: Annotated[tuple[float, float, float, float], "x0, y0, x1, y1 in shares of the sides"]
    confidence: Annotated[float, "0 to 1; a half is usual in the collection"]
    n_pieces: Annotated[int, "of about the same strength; more than one may be several subjects"]
