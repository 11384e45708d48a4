import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fieldguide.describe import AgglomerativeTree, Tree, describe_tree


def describe(A, names, **options):
    fitted = AgglomerativeTree("ward", n_leaves=8).fit(A)
    return describe_tree(fitted.tree_, fitted.labels_, A, names, **options)


NAMES = ["animal", "bird", "dog", "vehicle", "car"]
ROWS = np.repeat(
    [[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 1, 0]], 10, axis=0
).astype(float)


def test_a_small_tree_reads_as_it_should():
    described = describe(ROWS, NAMES, implied={"bird": ["animal"], "dog": ["animal"]})
    sentences = {}
    for node, words in enumerate(described.words):
        path = [words]
        while (node := described.parent[node]) >= 0:
            path.append(described.words[node])
        sentences[" > ".join(", ".join(w) for w in path[::-1][1:])] = None
    assert set(sentences) == {
        "",
        "animal",
        "animal > bird",
        "animal > dog",
        "vehicle",
        "vehicle > car",
    }
    np.testing.assert_array_equal(described.truth, 1)


def test_a_word_that_implies_another_stands_for_both():
    A = np.repeat([[1, 1], [0, 0]], 10, axis=0).astype(float)
    described = describe(A, ["animal", "bird"], implied={"bird": ["animal"]})
    assert described.words == ((), ("bird",))


def test_siblings_with_the_same_word_become_one_branch():
    tree = Tree(np.array([-1, 0, 0, 2, 2]), np.zeros(5))
    labels = np.repeat([1, 3, 4], 10)
    A = np.zeros((30, 2))
    A[:20, 0] = 1  # two nodes of red rows, joined only at the root
    A[6:14, 1] = 1
    described = describe_tree(tree, labels, A, ["red", "round"])
    assert described.words == ((), ("red",))
    assert (described.labels == 1).sum() == 20


@settings(deadline=None, max_examples=100)
@given(
    A=arrays(
        np.float64, st.tuples(st.integers(2, 40), st.just(6)), elements=st.sampled_from([0.0, 1.0])
    ),
    min_count=st.integers(1, 6),
)
def test_what_always_holds(A, min_count):
    names = [f"word {j}" for j in range(6)]
    described = describe(A, names, min_count=min_count)
    n_nodes = len(described.parent)
    assert described.parent[0] == -1
    assert (described.parent[1:] < np.arange(1, n_nodes)).all()
    assert described.words[0] == ()
    assert all(described.words[1:]), "every node below the root has words"
    counts = np.bincount(described.labels, minlength=n_nodes)
    for node in range(n_nodes - 1, 0, -1):
        assert counts[node] >= min_count
        counts[described.parent[node]] += counts[node]
        path = [node]
        while described.parent[path[-1]] >= 0:
            path.append(described.parent[path[-1]])
        words = [word for step in path for word in described.words[step]]
        assert len(words) == len(set(words)), "a word stands once on a path"
        siblings = np.flatnonzero(described.parent == described.parent[node])
        assert len({described.words[s][0] for s in siblings}) == len(siblings)
    assert counts[0] == len(A)
    assert ((described.truth > 0) & (described.truth <= 1)).all()


def test_a_branch_goes_below_the_sibling_whose_word_it_shows():
    names = ["bird", "wading bird", "car"]
    A = np.zeros((60, 3))
    A[:40, 0] = 1  # birds, of which twelve wade: the tree has the two side by side
    A[:12, 1] = 1
    A[40:, 2] = 1
    tree = Tree(np.array([-1, 0, 0, 0]), np.zeros(4))
    labels = np.repeat([1, 2, 3], [12, 28, 20])
    described = describe_tree(tree, labels, A, names)
    assert described.words == ((), ("bird",), ("wading bird",), ("car",))
    assert described.parent.tolist() == [-1, 0, 1, 0]
    np.testing.assert_array_equal(described.labels, np.repeat([2, 1, 3], [12, 28, 20]))
