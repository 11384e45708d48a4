"""The tree as lines of a terminal: whole, aligned, and never too wide."""

import pytest
from rich.cells import cell_len

from fieldguide._display import printable
from fieldguide.guide.compare import Comparison, Move, Pair
from fieldguide.terminal.tree_lines import FINE, PLAIN, comparison_lines, found_lines, tree_lines

GUIDES = ("guide", "hostile_guide", "plain_guide", "bare_guide")


@pytest.mark.parametrize("name", GUIDES)
@pytest.mark.parametrize("width", [24, 50, 80, 110, 200])
def test_no_line_is_wider_than_the_terminal(request, name, width):
    shown = request.getfixturevalue(name)
    lines = tree_lines(shown, 0, None, width)
    assert len(lines) == len(shown.branches)
    assert max(line.cell_len for line in lines) <= width


@pytest.mark.parametrize("width", [40, 110])
def test_control_characters_take_a_column_each(make_stand_in, width):
    odd = "\x1b[31m\x07\n\x9b\u202e"
    places = [(f"robin{odd}", (f"winged{odd * 4}",), (9, 9), f"{i}.png") for i in range(4)]
    shown = make_stand_in(places, title=f"Birds{odd * 9}")
    comparison = Comparison(((0, 0),), (Pair(1, 1, 4, 4, 4),), (Move(0, 1, (0,)),))
    lines = [
        *tree_lines(shown, 0, None, width),
        *comparison_lines(shown, shown, comparison, width)[2:],
    ]
    assert any("winged␛[31m␇␊\ufffd" in line.plain for line in lines)
    for line in lines:
        assert printable(line.plain) == line.plain
        assert line.cell_len <= width


def test_a_line_says_how_many_how_sure_and_which_kinds(plain_guide, hostile_guide):
    lines = [line.plain for line in tree_lines(plain_guide, 0, None, 80)]
    assert lines[0].split("  ")[0].strip() == "A stand-in guide"
    first = plain_guide.branches[1]
    assert lines[1].startswith(f"├── {first.words[0]}")
    assert lines[1].split()[-2:] == [str(first.count), "●●●●○"]
    assert {cell_len(line.rstrip()) for line in lines[1:]} == {cell_len(lines[1].rstrip())}
    kinds = [line.plain for line in tree_lines(hostile_guide, 0, None, 200)]
    assert "robin" in kinds[0]
    assert "+ " in kinds[0]


def test_narrow_terminals_keep_the_phrase_and_leave_out_the_kinds(guide):
    wide = "\n".join(line.plain for line in tree_lines(guide, 0, None, 120))
    narrow = "\n".join(line.plain for line in tree_lines(guide, 0, None, 48))
    kind = guide.kinds[0].name
    assert kind in wide
    assert kind not in narrow
    assert guide.branches[1].words[0][:20] in narrow


def test_depth_and_branch(guide):
    assert len(tree_lines(guide, 0, 0, 80)) == 1
    one = tree_lines(guide, 0, 1, 80)
    assert len(one) == 1 + len(guide.branches[0].children)
    branch = guide.branches[0].children[0]
    below = tree_lines(guide, branch, 1, 80)
    assert len(below) == 1 + len(guide.branches[branch].children)
    assert below[0].plain.startswith(guide.branches[branch].words[0])


def test_ascii_terminals_get_ascii(plain_guide):
    for line in tree_lines(plain_guide, 0, None, 80, PLAIN):
        assert line.plain.isascii()
    comparison = Comparison(((0, 0),), (Pair(0, 0, 1, 1, 1),), (Move(1, 2, (0,)),))
    lines = comparison_lines(plain_guide, plain_guide, comparison, 80, PLAIN)
    assert all(line.plain.isascii() for line in lines)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_two_trees_side_by_side(plain_guide, width):
    pairs = (
        Pair(0, 0, 24, 24, 24),
        Pair(1, 2, 12, 6, 6),
        Pair(2, None, 6, 0, 0),
        Pair(None, 1, 0, 9, 0),
    )
    moves = tuple(Move(1, b % 4, (b,)) for b in range(14))
    comparison = Comparison(tuple((i, i) for i in range(24)), pairs, moves)
    lines = [
        line.plain for line in comparison_lines(plain_guide, plain_guide, comparison, width, FINE)
    ]
    assert lines[0].endswith("14 specimens (58%) moved.")
    start = next(i for i, line in enumerate(lines) if line.startswith("first"))
    table = lines[start + 1 : start + 5]
    counts = [[int(word) for word in line.split() if word.isdigit()] for line in table]
    assert counts == [[24, 24, 24], [12, 6, 6], [6], [9]]
    assert all(cell_len(line) <= width for line in lines[start:])
    assert "… 2 more ways" in lines


@pytest.mark.parametrize("name", ["guide", "hostile_guide"])
@pytest.mark.parametrize("width", [24, 50, 80, 200])
def test_what_is_found_fits_the_terminal(request, name, width):
    shown = request.getfixturevalue(name)
    word = max(shown.words, key=lambda each: each[1])[0]
    found = shown.find(f"{word}, -zzqq", limit=9)
    lines = found_lines(found, width)
    blank = [line.plain for line in lines].index("")
    assert f"{found.total} specimens for {word}, not zzqq." in lines[0].plain
    assert "no word, kind or file is like “zzqq”" in lines[1].plain
    assert len(lines) == blank + 1 + 9 + 1
    for line in lines[blank:]:
        assert printable(line.plain) == line.plain
        assert line.cell_len <= max(width, 45)
    for find, line in zip(found.finds, lines[blank + 1 :], strict=False):
        assert line.cell_len <= width
        if width == 200:
            assert line.plain.startswith(printable(find.specimen.path))
            assert word in line.plain
