"""A key as numbered couplets, and how far two keys agree."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.identify.graphs import draw_graph, make_dagsvm

from fieldguide.collection import Collection
from fieldguide.guide import Guide
from fieldguide.guide.couplets import compare_keys, find_way, make_couplets, part_depths
from fieldguide.guide.views import Couplet
from fieldguide.identify.graph import make_graph
from fieldguide.svm import LinearFunctions


def shortest(graph):
    """The fewest decisions before each node, by trying every path in turn."""
    depth = {0: 0}
    for _ in range(graph.n_nodes):
        for node, d in list(depth.items()):
            for child in (int(graph.left[node]), int(graph.right[node])):
                if child >= 0:
                    depth[child] = min(d + 1, depth.get(child, d + 1))
    return depth


@given(st.integers(0, 10_000))
def test_couplets_are_the_graph_in_another_order(seed):
    graph = draw_graph(seed)
    names = [f"kind {k}" for k in range(graph.n_classes)]
    couplets = make_couplets(graph, names)
    assert [c.number for c in couplets] == list(range(1, graph.n_nodes + 1))
    assert sorted(c.node for c in couplets) == list(range(graph.n_nodes))
    depth = shortest(graph) if graph.n_nodes else {}
    assert [c.depth for c in couplets] == sorted(c.depth for c in couplets)
    for c in couplets:
        assert c.depth == depth[c.node]
        for way, kinds in ((-1, c.minus), (0, c.both), (1, c.plus)):
            assert set(kinds) == {
                names[k] for k in range(graph.n_classes) if graph.colors[c.node, k] == way
            }
        for child, to, end in (
            (graph.left[c.node], c.to_minus, c.minus_end),
            (graph.right[c.node], c.to_plus, c.plus_end),
        ):
            if child >= 0:
                assert couplets[to - 1].node == child
                assert end == ()
            else:
                assert to is None
                assert end == (names[graph.leaf_class[-1 - child]],)


def test_a_leaf_of_several_classes_names_its_own_first():
    functions = LinearFunctions(np.ones((1, 2), np.float32), np.zeros(1, np.float32))
    counts = np.array([[2.0, 0.0, 5.0], [0.0, 4.0, 0.0]])
    graph = make_graph(functions, [-1], [-2], [2, 1], 3, leaf_counts=counts)
    (couplet,) = make_couplets(graph, ["ant", "bee", "cod"])
    assert couplet.minus_end == ("cod", "ant")
    assert couplet.plus_end == ("bee",)


@given(st.integers(0, 10_000))
def test_pairs_part_at_the_nearest_couplet_that_parts_them(seed):
    graph = draw_graph(seed)
    if not graph.n_nodes:
        return
    names = [f"kind {k}" for k in range(graph.n_classes)]
    couplets = make_couplets(graph, names)
    found = part_depths(couplets, names)
    last = 1 + max(c.depth for c in couplets)
    for a, b in itertools.product(range(graph.n_classes), repeat=2):
        parting = [
            c.depth
            for c in couplets
            if {int(graph.colors[c.node, a]), int(graph.colors[c.node, b])} == {-1, 1}
        ]
        assert found[a, b] == min(parting, default=last)


def split(number, depth, minus, plus, to_minus=None, to_plus=None):
    """A couplet of kinds that are single letters."""
    return Couplet(
        number, number - 1, depth, tuple(minus), (), tuple(plus), to_minus, to_plus,
        () if to_minus else tuple(minus), () if to_plus else tuple(plus),
    )  # fmt: skip


def test_two_keys_that_are_one_agree():
    couplets = make_couplets(make_dagsvm(np.ones((10, 2), np.float32), 5), list("abcde"))
    agreement = compare_keys(couplets, couplets)
    assert agreement.n_pairs == 10
    assert agreement.same_first == 1
    assert agreement.apart == 0


def test_agreement_is_counted_over_pairs():
    one = (split(1, 0, "ab", "cd", 2, 3), split(2, 1, "a", "b"), split(3, 1, "c", "d"))
    other = (split(1, 0, "ac", "bd", 2, 3), split(2, 1, "a", "c"), split(3, 1, "b", "d"))
    agreement = compare_keys(one, other)
    # Of ab, ac, ad, bc, bd, cd the first key parts ac, ad, bc, bd at once, the other ab, ad, bc,
    # cd: both part ad and bc, and each of the others is parted by one of them a couplet later.
    assert agreement.n_pairs == 6
    assert agreement.same_first == pytest.approx(2 / 6)
    assert agreement.by_chance == pytest.approx((4 / 6) ** 2 + (2 / 6) ** 2)
    assert agreement.apart == pytest.approx(4 / 6)


def test_keys_without_kinds_in_common_are_not_compared():
    assert compare_keys((split(1, 0, "a", "b"),), (split(1, 0, "b", "c"),)) is None


@pytest.fixture(scope="module")
def keyed(blobs, tmp_path_factory):
    collection = Collection.from_arrays(*blobs, name="shapes")
    out = tmp_path_factory.mktemp("keyed") / "shapes"
    return Guide.build(
        collection, out, key="dag", features="deep", n_jobs=1, marks=False, places=False
    )


def test_a_guide_tells_the_way_of_an_image(keyed, blobs):
    assert len(keyed.couplets) == 3
    assert {*keyed.couplets[0].minus, *keyed.couplets[0].both, *keyed.couplets[0].plus} == {
        *blobs[1]
    }
    for image in blobs[0][::5]:
        answer = keyed.identify([image])[0]
        number = 1
        for step in answer.path.steps:
            assert step.couplet == number
            couplet = keyed.couplets[number - 1]
            number = couplet.to_plus if step.margin > 0 else couplet.to_minus
        assert number is None
        assert answer.path.end == (couplet.plus_end if step.margin > 0 else couplet.minus_end)
        assert answer.path.one_vs_all == 3
        assert len(answer.path.steps) <= answer.path.evaluations
    assert Guide.open(keyed.folder).couplets == keyed.couplets


def test_a_flat_key_has_no_couplets(flat_guide, blobs):
    assert flat_guide.couplets == ()
    assert flat_guide.identify(blobs[0][:1])[0].path is None


@given(st.integers(0, 10_000))
def test_the_way_to_a_kind_is_a_shortest_one_that_it_goes(seed):
    graph = draw_graph(seed)
    names = [f"kind {k}" for k in range(graph.n_classes)]
    couplets = make_couplets(graph, names)

    def walks(number, kind):
        """Every way of a kind from a couplet to an end of its name."""
        couplet = couplets[number - 1]
        for side, only, to, end in (
            (-1, couplet.minus, couplet.to_minus, couplet.minus_end),
            (1, couplet.plus, couplet.to_plus, couplet.plus_end),
        ):
            if kind in only or kind in couplet.both:
                if end[:1] == (kind,):
                    yield [(number, side)]
                elif to is not None:
                    yield from ([(number, side), *rest] for rest in walks(to, kind))

    for kind in names:
        way = [(couplet.number, side) for couplet, side in find_way(couplets, kind)]
        every = list(walks(1, kind)) if couplets else []
        assert (way in every) if every else way == []
        assert len(way) == min(map(len, every), default=0)


def test_specimens_stand_for_the_sides_of_an_attention_tree(tmp_path):
    rng = np.random.default_rng(0)
    levels = np.repeat([20, 90, 160, 230], 8)
    images = [
        np.clip(rng.normal(v, 25, (32, 32, 3)), 0, 255).astype(np.uint8) for v in levels.tolist()
    ]
    images.append(images[0])  # without a kind: it is no training row
    kinds = [None, *(f"level {v}" for v in levels)]
    images = [images[-1], *images[:-1]]
    settings = {"key": "attention", "features": "color", "marks": False, "places": False}
    guide = Guide.build(Collection.from_arrays(images, kinds), tmp_path / "g", **settings)
    first = guide.couplets[0]
    assert first.examples[0]
    assert first.examples[2]
    for side, kinds_there in zip(
        first.examples, (first.minus, first.both, first.plus), strict=True
    ):
        for kind, i in side:
            assert guide.specimen(i).kind == kind
            assert kind in (*kinds_there, *first.both)
