"""What ``--json`` prints: branches, answers and comparisons as values that JSON can hold."""

from typing import TYPE_CHECKING, Any

from fieldguide.guide.compare import Comparison
from fieldguide.guide.views import Answer, KeyPath, Located
from fieldguide.site.places import word_located

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


def answer_record(guide: "Guide", answer: Answer) -> dict[str, Any]:
    """Return what a guide says of one new image."""
    return {
        "kinds": [{"name": name, "probability": round(p, 4)} for name, p in answer.kinds],
        "branch": {"id": answer.branch, "sentence": guide.sentence(answer.branch)},
        "words": [{"word": word, "score": round(s, 4)} for word, s in answer.words],
        "neighbours": [s.path for s in guide.specimens(answer.neighbours)],
        "path": None if answer.path is None else _path_record(guide, answer.path),
        "located": None if answer.located is None else located_record(answer.located),
    }


def located_record(located: Located) -> dict[str, Any]:
    """Return where a kind shows; coordinates are shares of the picture's width and height."""
    return {
        "kind": located.kind,
        "score": located.score,
        "share": located.share,
        "words": word_located(located),
        "places": [
            {"box": list(place.box), "outline": place.outline, "score": place.score}
            for place in located.places
        ],
    }


def _path_record(guide: "Guide", path: KeyPath) -> dict[str, Any]:
    steps = []
    for step in path.steps:
        couplet = guide.couplets[step.couplet - 1]
        steps.append(
            {
                "couplet": step.couplet,
                "side": "plus" if step.margin > 0 else "minus",
                "margin": round(step.margin, 4),
                "probability": round(step.probability, 4),
                "minus": list(couplet.minus),
                "both": list(couplet.both),
                "plus": list(couplet.plus),
            }
        )
    return {
        "steps": steps,
        "end": list(path.end),
        "evaluations": path.evaluations,
        "one_vs_all": path.one_vs_all,
        "group": list(path.group),
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
