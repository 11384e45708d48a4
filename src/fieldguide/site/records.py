"""What ``--json`` and ``/api/guide`` tell of a guide: records for ``guide.answer.to_plain``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fieldguide.guide.answer import to_plain
from fieldguide.guide.compare import Comparison
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.views import QueryResult, Term
from fieldguide.site.chapter_pages import list_pages

if TYPE_CHECKING:
    from fieldguide.guide import Guide


@dataclass(frozen=True)
class GuideRecord:
    """A guide in a few figures."""

    title: str
    summary: str
    specimens: int
    kinds: tuple[str, ...]
    branches: int
    accuracy: float | None  # held out; None without kinds, and where they were found
    kinds_from: str | None  # "labels", or "branches" of the tree; None without kinds
    agreement: float | None  # of kinds that were found: how often key and tree agree, held out
    created: str | None
    seed: int | None


@dataclass(frozen=True)
class BranchRecord:
    """A branch with those below it."""

    branch: int
    words: tuple[str, ...]
    count: int  # specimens here and below
    n_direct: int  # specimens that sit at this branch itself
    is_likeness: bool  # named by what it holds, where no word divides further
    truth: float  # how often its name is true of its specimens, estimated
    stability: float | None  # how far the chains of samples agree on it; None without
    kinds: Mapping[str, int]  # here and below
    branches: "tuple[BranchRecord, ...]"


@dataclass(frozen=True)
class VisualWordRecord:
    """A visual word."""

    number: int
    share: float  # of the windows of all pictures
    kinds: Mapping[str, float]  # where it is most frequent, and how many times more so


@dataclass(frozen=True)
class BranchName:
    """A branch by its number and its words."""

    branch: int
    sentence: str


@dataclass(frozen=True)
class PairRecord:
    """Branches of two trees that hold much the same; None where one has no counterpart."""

    first: BranchName | None
    second: BranchName | None
    in_first: int
    in_second: int
    in_both: int


@dataclass(frozen=True)
class MoveRecord:
    """Specimens that the second tree has elsewhere."""

    first: BranchName | None
    second: BranchName | None
    specimens: tuple[str, ...]  # their files


@dataclass(frozen=True)
class ComparisonRecord:
    """How two trees compare; specimens are those of the first guide."""

    shared: int
    moved: int
    pairs: tuple[PairRecord, ...]
    moves: tuple[MoveRecord, ...]


@dataclass(frozen=True)
class BorderRecord:
    """A specimen on the border of two kinds."""

    id: int
    path: str
    kind: str | None
    answer: str | None  # what the key says when it has not seen it
    confidence: float | None  # the probability of that


@dataclass(frozen=True)
class FindRecord:
    """A specimen that fits a query."""

    id: int
    path: str
    kind: str | None
    score: float  # sum over the terms
    because: tuple[str, ...]  # its words, kind and file that fit


@dataclass(frozen=True)
class QueryRecord:
    """What fits a query."""

    query: str
    total: int
    terms: tuple[Term, ...]
    finds: tuple[FindRecord, ...]  # best first


def guide_record(guide: "Guide") -> GuideRecord:
    """Return a guide in a few figures."""
    return GuideRecord(
        title=guide.title,
        summary=guide.summary,
        specimens=guide.n_shown,
        kinds=tuple(kind.name for kind in guide.kinds),
        branches=len(guide.branches),
        accuracy=guide.about.get("accuracy"),
        kinds_from=guide.about.get("kinds_from"),
        agreement=guide.about.get("agreement"),
        created=guide.about.get("created"),
        seed=guide.about.get("seed"),
    )


def branch_record(guide: "Guide", branch: int, depth: int | None) -> BranchRecord:
    """Return a branch with those below it, ``depth`` levels of them."""
    node = guide.branches[branch]
    children = node.children if depth is None or depth > 0 else ()
    deeper = None if depth is None else depth - 1
    return BranchRecord(
        branch=node.id,
        words=node.words,
        count=node.count,
        n_direct=node.n_direct,
        is_likeness=node.is_likeness,
        truth=node.truth,
        stability=node.stability,
        kinds=dict(node.kinds),
        branches=tuple(branch_record(guide, child, deeper) for child in children),
    )


def visual_word_records(guide: "Guide") -> list[VisualWordRecord]:
    """Return the visual words of a guide."""
    return [VisualWordRecord(w.number, w.share, dict(w.kinds)) for w in guide.visual_words]


def comparison_record(guide: "Guide", other: "Guide", comparison: Comparison) -> ComparisonRecord:
    """Return how two trees compare."""

    def name(which: "Guide", b: int | None) -> BranchName | None:
        return None if b is None else BranchName(b, which.sentence(b))

    def list_paths(rows: tuple[int, ...]) -> tuple[str, ...]:
        specimens = guide.specimens([comparison.shared[row][0] for row in rows])
        return tuple(specimen.path for specimen in specimens)

    pairs = tuple(
        PairRecord(
            *(name(guide, pair.first), name(other, pair.second)),
            *(pair.n_first, pair.n_second, pair.n_both),
        )
        for pair in comparison.pairs
    )
    moves = tuple(
        MoveRecord(name(guide, move.first), name(other, move.second), list_paths(move.rows))
        for move in comparison.moves
    )
    return ComparisonRecord(len(comparison.shared), comparison.n_moved, pairs, moves)


def kind_pair_to_plain(guide: "Guide", pair: KindPair) -> dict[str, Any]:
    """Return two kinds as values that JSON can hold, what chapters say last, by their name."""
    border = tuple(
        BorderRecord(each.id, each.path, each.kind, each.answer, each.confidence)
        for each in guide.specimens(pair.border)
    )
    parts = {name: page.record_pair(guide, pair) for name, page in list_pages().items()}
    return {**to_plain(pair), "border": to_plain(border), **to_plain(parts)}


def query_record(found: QueryResult) -> QueryRecord:
    """Return what fits a query."""
    finds = tuple(
        FindRecord(f.specimen.id, f.specimen.path, f.specimen.kind, f.score, f.because)
        for f in found.finds
    )
    return QueryRecord(found.query, found.total, found.terms, finds)
