"""What a notebook shows: small, escaped, without scripts and without colours of its own."""

from html.parser import HTMLParser

import numpy as np
import pytest

import fieldguide
from fieldguide.collection import Collection
from fieldguide.describe.tree import Tree
from fieldguide.guide.answer import Answer, AnswerBranch, NamedKind, ShownWord
from fieldguide.identify import OneVsAllClassifier
from tests.cli.commands import call, run

HOSTILE = '<script>alert("1")</script> & <img src=x onerror=y>'
TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """Gathers the text of a card, and refuses what no card holds."""

    def __init__(self):
        super().__init__()
        self.texts, self.open = [], []

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS
        assert {name for name, _ in attributes} <= {"style"}
        assert not [value for _, value in attributes if "color" in value or "url" in value]
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read_card(shown):
    reader = Reader()
    html = shown._repr_html_()
    assert len(html) < 20_000
    reader.feed(html)
    assert reader.open == []
    return reader.texts


@pytest.mark.parametrize("name", ["small_guide", "keyed_guide"])
def test_a_guide_and_its_parts(request, name):
    guide = request.getfixturevalue(name)
    assert repr(guide).startswith(f"<Guide {guide.title!r}: {guide.n_specimens} specimens of ")
    assert guide.summary in read_card(guide)
    for kind in guide.kinds:
        assert kind.shown in read_card(kind)
    for branch in guide.branches:
        assert branch.words == () or ", ".join(branch.words) in read_card(branch)
    for couplet in guide.couplets:
        assert f"Couplet {couplet.number}" in read_card(couplet)
    marks = guide.marks(guide.kinds[0].name)
    if marks is not None:
        assert marks.kind in read_card(marks)


def test_an_answer_is_escaped_and_its_kinds_come_first():
    answer = Answer(
        (NamedKind(HOSTILE, 0.912), NamedKind("wren", 0.05)),
        AnswerBranch(2, HOSTILE),
        (ShownWord(HOSTILE, 0.9),),
        none_of_these=True,
    )
    texts = read_card(answer)
    assert texts[0] == HOSTILE
    assert "91.2 %" in texts
    assert repr(answer) == f"<Answer: {HOSTILE} (91.2 %), wren (5.0 %), {HOSTILE}>"


def test_a_collection_does_not_print_its_items():
    pictures = np.zeros((40, 8, 8, 3), dtype=np.uint8)
    collection = Collection.from_arrays(pictures, ["owl", HOSTILE] * 20, name=HOSTILE)
    assert repr(collection) == f"<Collection {HOSTILE!r}: 40 images, 2 kinds>"
    texts = read_card(collection)
    assert "40 images of 2 kinds." in texts
    assert texts.count(HOSTILE) == 2


def test_trees_and_keys():
    tree = Tree(np.array([-1, 0, 1, 0]), np.zeros(4))
    assert repr(tree) == "<Tree: 4 nodes on 3 levels>"
    assert read_card(tree)[0] == "A tree of 4 nodes"
    key = OneVsAllClassifier(C=10.0)  # scikit-learn's own display
    assert "OneVsAllClassifier" in key._repr_html_()


def test_the_version_is_told():
    told = call("--version")
    assert told.exit_code == 0
    assert told.stdout == f"fieldguide {fieldguide.__version__}\n"
    assert run("--version").stdout == told.stdout
