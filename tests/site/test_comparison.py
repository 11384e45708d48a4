"""The page that compares two trees: one file, whole, with what moved in pictures."""

import pytest
from tests.site.test_render import read

from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide.compare import Comparison, Move, Pair, compare_guides
from fieldguide.site.comparison import compare_on_page


@pytest.fixture(scope="module")
def other(specimens, tmp_path_factory):
    """The guide of the fixture ``guide``, with another tree."""
    out = tmp_path_factory.mktemp("guides") / "other"
    return Guide.build(
        specimens, out, tree="agglomerative", features="color", marks=False, places=False
    )


def test_the_page_stands_alone(guide, other):
    comparison = compare_guides(guide, other)
    html = compare_on_page(guide, other, comparison)
    page = read(html.replace("<style>", "<style >"))
    assert page.headings == ["main", "h1"]
    text = " ".join(page.text)
    assert f"{guide.n_specimens} specimens in common" in text
    assert "Ward clustering" in text
    assert "Attribute Tree Process" in text
    assert all(source.startswith("data:image/jpeg;base64,") for _, source in page.links)
    assert str(guide.folder) not in html
    assert f"{comparison.n_moved:,} specimens" in text
    assert text.count("→") == min(len(comparison.moves), 60)
    for image in page.images:
        assert image["alt"]


def test_equal_trees_say_so(guide):
    html = compare_on_page(guide, guide, compare_guides(guide, guide))
    assert "both trees hold every specimen in the same branches" in html
    assert "no counterpart" not in html


def test_names_are_escaped_and_long_lists_are_cut(hostile_guide):
    n_nodes = len(hostile_guide.branches)
    pairs = tuple(Pair(b, b if b % 2 == 0 else None, 9, 9, 4) for b in range(n_nodes))
    pairs += tuple(Pair(None, b, 0, 9, 0) for b in range(1, n_nodes, 2))
    moves = tuple(Move(b % n_nodes, (b + 1) % n_nodes, (b % 80,)) for b in range(70))
    shared = tuple((i, i) for i in range(hostile_guide.n_specimens))
    made_up = Comparison(shared, pairs, moves)
    html = compare_on_page(hostile_guide, hostile_guide, made_up)
    page = read(html)
    assert "<script>" not in html
    assert "<i>Hostile</i>" not in html
    text = " ".join(page.text)
    assert "62 more ways" in text
    assert "10 ways of fewer specimens are not shown" in text
    assert "Only in the second tree" in text
    assert text.count("no counterpart") == n_nodes // 2


def test_a_missing_picture_is_one_clear_error(make_stand_in):
    broken = make_stand_in([("a", ("x",), (300, 200), "a.jpg"), ("b", ("y",), (300, 200), "b.jpg")])
    (broken.folder / broken.specimen(0).thumbnail).unlink()
    made_up = Comparison(((0, 0), (1, 1)), (Pair(0, 0, 2, 2, 2),), (Move(0, 0, (0,)),))
    with pytest.raises(GuideError, match="cannot be used"):
        compare_on_page(broken, broken, made_up)
