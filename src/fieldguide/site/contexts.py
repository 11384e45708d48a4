"""What each page shows: one record for each template, whose fields are the names that it uses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fieldguide.guide.edits import Edit
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.teaching import TaughtWord
from fieldguide.guide.views import Branch, Kind, QueryResult, Specimen, VisualWord
from fieldguide.site.answers import ShortAnswer, ShownAnswer
from fieldguide.site.chapter_pages import Outline
from fieldguide.site.couplets import Drawing, Entry, Side
from fieldguide.site.index import Section
from fieldguide.site.key_charts import Chart
from fieldguide.site.movement import KindMovement, ShownMovement
from fieldguide.site.navigation import Choices, ShownTerm
from fieldguide.site.pictures import Picture
from fieldguide.site.tree import Row


@dataclass(frozen=True)
class Listing:
    """One page of a list of specimens."""

    number: int  # of the page, from 1
    page_count: int
    n_listed: int  # specimens on all pages
    first: int  # position of the first one here, from 1
    pictures: list[Picture]
    page_address: Callable[[int], str]  # as it stands in a link
    order: str  # in words: "most typical first"


@dataclass(frozen=True)
class HomePage:
    """index.html."""

    frontispiece: list[Picture]
    rows: list[Row]
    n_branches: int
    n_elsewhere: int  # specimens that belong to no branch


@dataclass(frozen=True)
class BranchPage:
    """branch.html."""

    branch: Branch
    path: list[Branch]
    siblings: list[Branch]
    plate: list[Picture]
    rows: list[Row]
    kinds_inside: list[tuple[Kind, int, list[Picture]]]
    listing: Listing


@dataclass(frozen=True)
class KindsPage:
    """kinds.html."""

    plates: list[tuple[Kind, list[Picture]]]


@dataclass(frozen=True)
class KindPage:
    """kind.html."""

    kind: Kind
    plate: list[Picture]
    outlines: dict[int, Outline]  # by specimen
    look_alikes: list[tuple[Kind, float, list[Picture]]]
    places: list[tuple[Branch, list[Branch], int]]  # branch, path to it, specimens there
    chapters: list[tuple[str, Any]]  # the chapter, and what its kind.html shows
    movement: KindMovement | None  # of a kind of clips
    strip_size: tuple[int, int]  # of what shows it
    way: list[tuple[int, Side, Side]]  # couplet, side to take, side to leave
    season: list[Chart]  # when and where its specimens were taken, where that is known
    listing: Listing


@dataclass(frozen=True)
class PairSide:
    """One of two kinds."""

    kind: Kind
    address: str  # "" where its page is elsewhere
    pictures: list[Picture]


@dataclass(frozen=True)
class Chooser:
    """A form by which two kinds are chosen, and what it begins with."""

    kinds: tuple[Kind, ...]
    first: str
    second: str


@dataclass(frozen=True)
class PairPage:
    """pair.html: two look-alikes, or any two kinds on the server (compare.html?a=…&b=…)."""

    pair: KindPair
    sides: tuple[PairSide, PairSide]
    outlines: dict[int, Outline]  # by specimen
    chapters: list[tuple[str, Any]]  # the chapter, and what its pair.html shows
    confusion: str
    border: list[tuple[Picture, str]]  # each with what the key says
    chooser: Chooser | None = None  # on the server alone


@dataclass(frozen=True)
class ComparePage:
    """compare.html."""

    chooser: Chooser | None  # on the server alone
    refusal: str  # why what was chosen cannot be compared
    pairs: list[tuple[Kind, list[Kind]]]  # each kind with those that it has a page with


@dataclass(frozen=True)
class SpecimenPage:
    """specimen.html."""

    shown: Picture
    specimen: Specimen
    words: tuple[tuple[str, float], ...]
    original: str  # address of the image itself; "" where it is not at hand
    frame_size: tuple[int, int]  # of the frames, of a clip
    movement: ShownMovement | None  # of a clip
    strip_size: tuple[int, int]  # of what shows a mark of movement
    branch: Branch
    path: list[Branch]
    neighbours: list[Picture]
    before: int | None
    after: int | None


@dataclass(frozen=True)
class KeyPage:
    """key.html."""

    drawing: Drawing
    couplets: list[Entry]
    n_couplets: int
    n_worded: int  # of those listed, told apart by words
    has_examples: bool
    side_words: dict[str, str]


@dataclass(frozen=True)
class WordPage:
    """word.html."""

    word: str
    n_showing: int
    source: str  # where it comes from, as a heading
    branch: Branch | None  # that the word names
    path: list[Branch]
    choices: Choices | None  # None on all but the first page
    listing: Listing


@dataclass(frozen=True)
class SearchPage:
    """search.html."""

    sections: list[Section]


@dataclass(frozen=True)
class ResultsPage:
    """results.html: search.html?q=… on the server."""

    query: str
    found: QueryResult | None  # None where the query was refused
    refusal: str
    terms: list[ShownTerm]
    notes: list[str]
    choices: Choices | None
    listing: Listing | None


@dataclass(frozen=True)
class IdentifyPage:
    """identify.html, before a picture is sent and after."""

    max_upload_mb: float
    asked: ShownAnswer | None = None
    refusal: str = ""  # why the picture was not looked at
    entries: Sequence[ShortAnswer] = ()  # where several pictures were sent together


@dataclass(frozen=True)
class WordsPage:
    """words.html."""

    visual_words: tuple[VisualWord, ...]
    patch_px: int
    gap_px: int


@dataclass(frozen=True)
class EditsPage:
    """edits.html, on a guide that is served to be edited."""

    history: list[Edit]  # the last ones, the last first
    n_more: int  # earlier ones
    n_holding: int
    n_waiting: int
    undone: frozenset[int]
    faults: tuple[str, ...]
    refusal: str  # why an edit was not made


@dataclass(frozen=True)
class TeachPage:
    """teach.html, on a guide that is served to be edited."""

    word: str  # "" before one is named
    query: str
    taught: TaughtWord | None  # what earlier lessons taught it
    pictures: list[Picture]
    refusal: str  # why the query finds nothing


@dataclass(frozen=True)
class AboutPage:
    """about.html."""

    about: dict[str, Any]  # as the guide has it
    confusions: list[tuple[str, str, int]]  # kind, what the key said, how often
    tree_facts: list[tuple[str, str]]
    step_times: list[tuple[str, str]]
    update: str  # what the last build measured and fitted again; "" for a first build
    charts: list[Chart]  # about the key
    other_files: str  # files that are no pictures, by type, in words; "" where there are none
    most_unreadable: int  # files that the page lists
