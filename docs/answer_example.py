"""An answer that shows every field, for docs/answer.md."""

from fieldguide.chapters.marks.records import ImageMark, ImageMarks
from fieldguide.chapters.places.records import Located, Place
from fieldguide.guide.answer import Answer, AnswerBranch, NamedKind, Neighbour, ShownWord
from fieldguide.guide.views import KeyPath, PathStep


def make_example() -> Answer:
    """Return an answer in which no part is missing."""
    wrens, ducks = ("wren", "robin"), ("teal", "pintail")
    ring = ((0.31, 0.22), (0.64, 0.22), (0.64, 0.71), (0.31, 0.71))
    crest = ImageMark(
        word="house finch",
        lacks=False,
        windows=("centre", "top-left"),
        weight=0.1845,
        vote=0.8712,
        typical=0.8104,
        elsewhere=0.4331,
        is_shown=True,
        box=(0.2375, 0.2, 0.7625, 0.9),
    )
    return Answer(
        kinds=(NamedKind("wren", 0.9123), NamedKind("robin", 0.0671)),
        branch=AnswerBranch(4, "animal › winged, perched"),
        words=(ShownWord("winged", 0.9876), ShownWord("mostly brown", 0.7142)),
        neighbours=(Neighbour(17, "wren/017.jpg", "wren"), Neighbour(3, "robin/003.jpg", "robin")),
        path=KeyPath(
            steps=(PathStep(1, "plus", 1.2043, 0.9512, ducks, ("heron",), wrens),),
            end=("wren",),
            evaluations=3,
            one_vs_all=5,
            group=("wren", "robin"),
        ),
        parts={
            "marks": ImageMarks("wren", "house finch (centre)", (crest,)),
            "places": Located(
                "wren", 0.8321, 0.1617, (Place((0.31, 0.22, 0.64, 0.71), (ring,), 0.8321),)
            ),
        },
    )
