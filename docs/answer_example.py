"""An answer that shows every field, for docs/answer.md."""

from importlib import import_module

from fieldguide.chapters import OPTIONAL
from fieldguide.guide.answer import Answer, AnswerBranch, NamedKind, Neighbour, ShownWord
from fieldguide.guide.views import KeyPath, PathStep


def make_example() -> Answer:
    """Return an answer in which no part is missing."""
    wrens, ducks = ("wren", "robin"), ("teal", "pintail")
    return Answer(
        kinds=(NamedKind("wren", 0.9123), NamedKind("robin", 0.0671)),
        branch=AnswerBranch(4, "animal › winged, perched"),
        words=(ShownWord("winged", 0.9876), ShownWord("mostly brown", 0.7142)),
        neighbours=(Neighbour(17, "wren/017.jpg", "wren"), Neighbour(3, "robin/003.jpg", "robin")),
        path=KeyPath(
            steps=(
                PathStep(
                    1, "plus", 1.2043, 0.9512, ducks, ("heron",), wrens, ("water bird",), ("brown",)
                ),
            ),
            end=("wren",),
            evaluations=3,
            one_vs_all=5,
        ),
        group=("wren", "robin"),
        parts={
            name: import_module(f"fieldguide.chapters.{name}.records").EXAMPLE for name in OPTIONAL
        },
    )
