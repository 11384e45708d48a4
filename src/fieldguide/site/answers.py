"""An answer of the key as JSON for the identify page: names, addresses, pictures."""

from typing import TYPE_CHECKING, Any

from fieldguide.guide.views import Answer
from fieldguide.site.addresses import AddressBook, href
from fieldguide.site.phrases import display_name, how_sure, percent
from fieldguide.site.pictures import PictureBook

if TYPE_CHECKING:
    from fieldguide.guide import Guide


def word_answer(
    guide: "Guide", book: AddressBook, pictures: PictureBook, answer: Answer
) -> dict[str, Any]:
    """Word an answer: its kinds, how sure, its branch, its words, its neighbours.

    Addresses and thumbnails are relative to the root of the site.
    """
    return {
        "kinds": [_kind(guide, book, pictures, name, p) for name, p in answer.kinds],
        "sure": how_sure(answer.kinds[0][1]) if answer.kinds else None,
        "branch": _branch(guide, book, answer.branch),
        "words": [{"word": word, "probability": round(float(p), 4)} for word, p in answer.words],
        "neighbours": [
            {
                "id": shown.specimen.id,
                "address": href(shown.address),
                "kind": shown.kind,
                "caption": display_name(shown.kind) if shown.kind else shown.alt,
                **shown.as_json(),
            }
            for shown in pictures(answer.neighbours)
        ],
    }


def _kind(
    guide: "Guide", book: AddressBook, pictures: PictureBook, name: str, probability: float
) -> dict[str, Any]:
    best = pictures(guide.kind(name).exemplars[:1])
    return {
        "name": name,
        "caption": display_name(name),
        "probability": round(float(probability), 4),
        "percent": percent(probability),
        "address": href(book.kind(name)),
        **(best[0].as_json() if best else {"thumbnail": None}),
    }


def _branch(guide: "Guide", book: AddressBook, b: int) -> dict[str, Any]:
    steps = []
    step = guide.branches[b]
    while step.parent is not None:
        steps.append({"words": ", ".join(step.words), "address": href(book.branch(step.id))})
        step = guide.branches[step.parent]
    return {
        "sentence": guide.sentence(b),
        "address": href(book.branch(b)),
        "count": guide.branches[b].count,
        "path": steps[::-1],
    }
