"""Trees within a cap on their nodes, against trees that are grown for every cut one by one."""

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.identify.node_cap import Rules, grow_within, walk

PURE, STUCK, CUT = 0, 1, 2
N_KINDS = 4


class Part(NamedTuple):
    rows: tuple[int, ...]  # row i is of kind i mod 4
    way: str = ""  # L, R of relaxed splits, l, r of strict ones


class Halves(NamedTuple):
    left: Part
    right: Part


def split_part(part, share):
    """Split rows at random, but always in the same way; about ``share`` of them go both ways."""
    if len(kinds_of(part)) == 1:
        return PURE
    draw = np.random.default_rng([round(100 * share), *part.rows]).random(len(part.rows))
    goes_left, goes_right = draw < (1 + share) / 2, draw >= (1 - share) / 2
    sides = [tuple(np.array(part.rows)[goes].tolist()) for goes in (goes_left, goes_right)]
    if not all(0 < len(side) < len(part.rows) for side in sides):
        return STUCK
    ways = "LR" if share else "lr"
    return Halves(*(Part(side, part.way + way) for side, way in zip(sides, ways, strict=True)))


def kinds_of(part):
    return {row % N_KINDS for row in part.rows}


def name_part(part):
    return kinds_of(part), int(np.bincount([row % N_KINDS for row in part.rows]).argmax())


def make_rules(share, split=split_part):
    return Rules(
        relaxed=lambda parts: [split(part, share) for part in parts],
        strict=(lambda parts: [split(part, 0.0) for part in parts]) if share else None,
        name=name_part,
        end=lambda part: PURE if len(kinds_of(part)) == 1 else CUT,
    )


def grow_plainly(rows, share, n_first):
    """Return all parts, level by level, the first ones split relaxed and all others strictly."""
    every, made = [Part(rows)], []
    for place, part in enumerate(every):
        found = split_part(part, share if place < n_first else 0.0)
        made.append((part, found))
        every += [] if isinstance(found, int) else [found.left, found.right]
    return made


def to_list(root):
    return [(branch.part, branch.found) for branch in walk(root)]


def count_nodes(made):
    return sum(not isinstance(found, int) for _, found in made)


@given(
    n=st.integers(1, 24),
    offset=st.integers(0, 10**6),
    share=st.sampled_from([0.0, 0.2, 0.4]),
    max_nodes=st.integers(0, 60),
)
def test_a_tree_is_as_relaxed_as_fits(n, offset, share, max_nodes):
    rows = tuple(range(offset, offset + n))
    root, is_capped = grow_within(Part(rows), make_rules(share), max_nodes)
    made = to_list(root)
    whole, strict = grow_plainly(rows, share, 10**9), grow_plainly(rows, 0.0, 0)
    assert is_capped == (count_nodes(whole) > max_nodes)
    assert count_nodes(made) <= max_nodes
    if not is_capped:
        assert made == whole
    elif count_nodes(strict) <= max_nodes:
        cuts = [grow_plainly(rows, share, m) for m in range(len(whole) + 1)]
        places = [m for m, cut in enumerate(cuts) if cut == made]
        assert any(count_nodes(cuts[m + 1]) > max_nodes for m in places if m < len(whole))
    else:
        assert count_nodes(made) == max_nodes
        split = dict(strict)
        assert all(found in (split[part], CUT) for part, found in made)
        assert any(found == CUT for _, found in made)


@given(offset=st.integers(0, 10**6), max_nodes=st.integers(0, 40))
def test_nothing_is_split_twice_in_the_same_way(offset, max_nodes):
    calls = []

    def split(part, share):
        calls.append((part.way, share))
        return split_part(part, share)

    grow_within(Part(tuple(range(offset, offset + 16))), make_rules(0.3, split), max_nodes)
    assert len(calls) == len(set(calls))


def test_a_class_gets_its_leaf_before_others_grow():
    """Kinds 0 and 1 halve for long on the left; on the right kind 3 is at the end of a chain."""

    def split(part, share):
        rows, kinds = part.rows, kinds_of(part)
        if len(kinds) == 1:
            return PURE
        n_left = len(rows) // 2
        if kinds == {0, 1, 2, 3}:
            n_left = sum(row % N_KINDS < 2 for row in rows)
        elif kinds == {2, 3}:
            n_left = 1
        return Halves(Part(rows[:n_left]), Part(rows[n_left:]))

    crowd = [*(4 * i + (i % 4 == 3) for i in range(32)), *(4 * i + (i % 4 != 3) for i in range(32))]
    chain = [2, 6, 10, 14, 18, 22, 3]
    root, is_capped = grow_within(Part((*crowd, *chain)), make_rules(0.0, split), 12)
    assert is_capped
    made = to_list(root)
    assert count_nodes(made) == 12
    assert {name_part(part)[1] for part, found in made if isinstance(found, int)} == {0, 1, 2, 3}
