"""Kinds of a collection without labels: branches of its tree, said to be found."""

import shutil

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.cli.commands import call

from fieldguide import Collection, Guide
from fieldguide.guide.found_kinds import (
    LEAST,
    choose_branches,
    count_below,
    name_branches,
)
from fieldguide.site.server import create_app

SETTINGS = {"features": "deep", "n_jobs": 1}


@pytest.fixture(scope="module")
def unlabelled(blobs, build_once):
    """A real guide of 24 simple pictures without labels."""
    collection = Collection.from_arrays(blobs[0], name="shapes")
    return build_once("unlabelled", collection, **SETTINGS)


@st.composite
def trees(draw):
    """Trees in pre-order, with the branch of each specimen."""
    n = draw(st.integers(1, 20))
    parent, last = [-1], [0]  # ``last``: the way to the latest branch
    for b in range(1, n):
        depth = draw(st.integers(1, len(last)))
        last = [*last[:depth], b]
        parent.append(last[-2])
    labels = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=120))
    is_likeness = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return np.array(parent), np.array(labels), np.array(is_likeness)


@given(trees())
@example((np.array([-1, 0, 1, 1, 2]), np.repeat([1, 2, 3, 4], 30), np.zeros(5, bool)))
def test_chosen_branches_are_large_and_none_lies_in_another(tree):
    parent, labels, is_likeness = tree
    n_below = count_below(parent, labels)
    assert n_below[0] == len(labels)
    chosen = choose_branches(parent, n_below, is_likeness)
    for b in chosen:
        assert n_below[b] >= LEAST
        above = parent[b]
        while above > 0:
            assert above not in chosen
            above = parent[above]


@given(trees(), st.data())
def test_names_of_branches_are_all_different(tree, data):
    parent, _, _ = tree
    words = [()] + [(data.draw(st.sampled_from("ab")),) for _ in parent[1:]]
    names = name_branches(range(1, len(parent)), parent, words)
    assert len(set(names)) == len(names)


def test_words_come_first_and_likeness_where_words_part_nothing():
    parent = np.array([-1, 0, 1, 1, 0, 4, 4])
    n_below = np.array([60, 30, 15, 15, 30, 15, 15])
    likeness = np.array([0, 0, 1, 1, 0, 0, 0], dtype=bool)
    assert choose_branches(parent, n_below, likeness) == [1, 5, 6]
    assert choose_branches(parent, n_below, np.ones(7, dtype=bool)) == [2, 3, 5, 6]
    one_below = np.array([-1, 0, 1, 1])
    assert choose_branches(one_below, np.array([30, 30, 15, 15]), np.zeros(4, dtype=bool)) == [2, 3]


def test_kinds_are_branches_and_are_said_to_be(unlabelled):
    about = unlabelled.about
    assert about["kinds_from"] == "branches"
    assert about["accuracy"] is None
    assert 0 <= about["agreement"] <= 1
    assert len(unlabelled.kinds) >= 2
    for kind in unlabelled.kinds:
        branch = unlabelled.find_kind_branch(kind.name)
        assert sorted(unlabelled.members(kind=kind.name)) == sorted(
            unlabelled.members(branch=branch)
        )
    assert "without labels, in" in unlabelled.summary
    assert "how far the two agree, and not how often they are right" in unlabelled.verdict


def test_identify_answers_with_a_branch(unlabelled, blobs):
    (answer,) = unlabelled.identify(blobs[0][:1])
    assert answer.kinds_from == "branches"
    assert answer.kinds[0].name in {kind.name for kind in unlabelled.kinds}
    assert answer.to_plain()["kinds_from"] == "branches"


def test_every_page_says_that_kinds_were_found(unlabelled):
    client = TestClient(create_app(unlabelled), base_url="http://localhost")
    for address in ("", "kinds.html", "about.html", "search.html", "specimen/0.html", "key.html"):
        answer = client.get(f"/{address}")
        if answer.status_code == 404:
            assert address == "key.html"  # a flat key has no page
            continue
        assert "that are branches of the tree: the collection has no labels" in answer.text
    kind = client.get(f"/kind/{unlabelled.kinds[0].slug}.html").text
    assert "found and not given" in kind
    assert "names" not in kind.partition("Held out, the key")[2][:12]
    about = client.get("/about.html").text
    assert "into the branch that the tree gave" in about
    assert "rightly" not in about
    record = client.get("/api/guide").json()
    assert (record["kinds_from"], record["accuracy"]) == ("branches", None)
    assert record["agreement"] == unlabelled.about["agreement"]


def test_marks_of_a_branch_say_what_it_is(unlabelled):
    result = call("marks", unlabelled.folder, unlabelled.kinds[0].name)
    assert result.exit_code == 0
    assert result.stdout.startswith("a branch of the tree, found and not given")


def test_labels_are_said_to_be_labels(small_guide, blobs):
    assert small_guide.about["kinds_from"] == "labels"
    assert not small_guide.kinds_are_found
    assert small_guide.identify(blobs[0][:1])[0].kinds_from == "labels"


@pytest.mark.parametrize(
    ("n", "why"),
    [(1, "a single picture has no others"), (2, "its 2 pictures into branches")],
)
def test_too_few_pictures_have_no_kinds_and_it_is_said(blobs, tmp_path, n, why):
    collection = Collection.from_arrays(blobs[0][:n])
    guide = Guide.build(collection, tmp_path / "guide", marks=False, places=False, **SETTINGS)
    assert (guide.kinds, guide.about["kinds_from"]) == ((), None)
    assert why in guide.about["kinds_because"]
    (answer,) = guide.identify(blobs[0][:1])
    assert (answer.kinds, answer.kinds_from) == ((), None)
    result = call("marks", guide.folder, "disc")
    assert result.exit_code == 2
    assert why in result.stderr


def test_what_the_owner_names_stands_beside_what_is_found(unlabelled, blobs, tmp_path):
    out = tmp_path / "guide"
    shutil.copytree(unlabelled.folder, out)
    guide = Guide.open(out)
    first, *others = guide.kinds
    members = sorted(guide.members(kind=first.name))
    guide.edits.add("name", f"branch:{guide.find_kind_branch(first.name)}", "round things")
    collection = Collection.from_arrays(blobs[0], name="shapes")
    again = Guide.build(collection, out, marks=False, places=False, **SETTINGS)
    assert sorted(again.members(kind="round things")) == members
    assert {kind.name for kind in again.kinds} == {"round things", *(k.name for k in others)}
    assert again.about["kinds_from"] == "branches"
    assert f"The owner has named {len(members)} specimens" in again.about["kinds_because"]


def test_pictures_without_labels_can_be_added(blobs, tmp_path):
    from PIL import Image

    out = tmp_path / "guide"
    Guide.build(Collection.from_arrays(blobs[0][:20]), out, marks=False, places=False, **SETTINGS)
    more = tmp_path / "more"
    more.mkdir()
    for i, image in enumerate(blobs[0][20:]):
        Image.fromarray(image).save(more / f"new{i}.png")
    guide = Guide.open(out).add(more, n_jobs=1)
    assert guide.n_specimens == 24
    assert guide.about["kinds_from"] == "branches"
    assert all(kind.name != "more" for kind in guide.kinds)
