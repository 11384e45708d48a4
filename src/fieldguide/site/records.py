"""What ``--json`` prints of branches and comparisons: values that JSON can hold."""

from typing import TYPE_CHECKING, Any

from fieldguide.guide.compare import Comparison

if TYPE_CHECKING:
    from fieldguide.guide import Guide


def branch_record(guide: "Guide", branch: int, depth: int | None) -> dict[str, Any]:
    """Return a branch with those below it, ``depth`` levels of them."""
    node = guide.branches[branch]
    children = node.children if depth is None or depth > 0 else ()
    deeper = None if depth is None else depth - 1
    return {
        "branch": node.id,
        "words": list(node.words),
        "count": node.count,
        "here": node.here,
        "sure": round(node.sure, 4),
        "kinds": dict(node.kinds),
        "branches": [branch_record(guide, child, deeper) for child in children],
    }


def comparison_record(guide: "Guide", other: "Guide", comparison: Comparison) -> dict[str, Any]:
    """Return how two trees compare; specimens are those of the first guide."""

    def name(which: "Guide", b: int | None) -> dict[str, Any] | None:
        return None if b is None else {"branch": b, "sentence": which.sentence(b)}

    ids = [first for first, _ in comparison.shared]
    return {
        "shared": len(comparison.shared),
        "moved": comparison.n_moved,
        "pairs": [
            {
                "first": name(guide, pair.first),
                "second": name(other, pair.second),
                "in_first": pair.n_first,
                "in_second": pair.n_second,
                "in_both": pair.n_both,
            }
            for pair in comparison.pairs
        ],
        "moves": [
            {
                "first": name(guide, move.first),
                "second": name(other, move.second),
                "specimens": [s.path for s in guide.specimens([ids[row] for row in move.rows])],
            }
            for move in comparison.moves
        ],
    }
