"""Subjects are found without labels, and pictures without one are told."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fieldguide.errors import FieldguideError
from fieldguide.features import SubjectFinder


def draw_maps(n, seed=0, n_channels=12, noise=0.3):
    """Return maps in which a block of cells has a direction of its own, and the blocks."""
    rng = np.random.default_rng(seed)
    ground, subject = rng.normal(size=(2, n_channels))
    maps, blocks = [], []
    for _ in range(n):
        rows, columns = rng.integers(7, 13, size=2)
        cells = ground + noise * rng.normal(size=(rows, columns, n_channels))
        y, x = rows // 2 - rng.integers(0, 4), columns // 2 - rng.integers(0, 4)
        cells[y : y + 3, x : x + 3] += subject
        maps.append(cells.astype(np.float32))
        blocks.append((x / columns, y / rows, (x + 3) / columns, (y + 3) / rows))
    return maps, np.array(blocks)


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.maximum(high - low, 0))
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def check_finder(finder):
    """Hold an estimator over maps to what scikit-learn asks of one over arrays."""
    maps, _ = draw_maps(20, seed=4)
    copies = [m.copy() for m in maps]
    parameters = finder.get_params()
    with pytest.raises(NotFittedError):
        finder.predict(maps)
    assert finder.fit(maps, None) is finder
    assert finder.get_params() == parameters
    for m, copy in zip(maps, copies, strict=True):
        np.testing.assert_array_equal(m, copy)  # what it is given stays as it is
    first = finder.predict(maps)
    np.testing.assert_array_equal(clone(finder).fit(maps).predict(maps), first)
    np.testing.assert_array_equal(finder.predict(maps[::-1])[::-1], first)
    np.testing.assert_array_equal(finder.predict(maps[:3]), first[:3])
    doubled = finder.fit([m.astype(np.float64) for m in maps]).predict(maps)
    np.testing.assert_array_equal(doubled, first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(finder)).predict(maps), first)


def test_the_finder_keeps_the_contract():
    check_finder(SubjectFinder())
    check_finder(SubjectFinder(cut=0.3, n_rounds=1))


def test_drawn_subjects_are_found():
    maps, blocks = draw_maps(80)
    found = SubjectFinder().fit(maps[:60]).predict(maps)
    assert found.shape == (80, 4)
    overlaps = [overlap(a, b) for a, b in zip(found, blocks, strict=True)]
    assert np.mean(overlaps) > 0.6
    assert np.mean([o > 0.4 for o in overlaps]) > 0.9


def test_a_subject_at_the_border_is_found_by_what_it_looks_like():
    maps, _ = draw_maps(60, seed=1)
    finder = SubjectFinder().fit(maps)
    rng = np.random.default_rng(1)
    ground, subject = rng.normal(size=(2, 12))
    cells = (ground + 0.3 * np.random.default_rng(5).normal(size=(9, 12, 12))).astype(np.float32)
    cells[6:, :3] += subject
    x0, y0, x1, y1 = finder.find(cells).box
    assert x1 < 0.5 < y0
    assert x0 < 0.1
    assert y1 > 0.9


def test_the_first_round_is_fishers_discriminant():
    maps, _ = draw_maps(30, seed=2)
    finder = SubjectFinder(n_rounds=0).fit(maps)
    cells = np.concatenate([m.reshape(-1, 12) for m in maps]).astype(np.float64)
    middle, border = [], []
    for m in maps:
        rows, columns = m.shape[:2]
        for y in range(rows):
            for x in range(columns):
                if max(abs((y + 0.5) / rows - 0.5), abs((x + 0.5) / columns - 0.5)) <= 1.5 / 7:
                    middle.append(m[y, x])
                if y in (0, rows - 1) or x in (0, columns - 1):
                    border.append(m[y, x])
    covariance = np.cov(cells.T, bias=True)
    ridge = covariance + 3 * np.trace(covariance) / 12 * np.eye(12)
    expected = np.linalg.solve(ridge, np.mean(middle, axis=0) - np.mean(border, axis=0))
    cosine = finder.coef_ @ expected / np.linalg.norm(finder.coef_) / np.linalg.norm(expected)
    assert cosine == pytest.approx(1, abs=1e-5)
    largest = [finder.score_cells(m).max() for m in maps]
    assert np.mean(largest) == pytest.approx(1, rel=1e-3)


def test_several_subjects_and_none():
    maps, _ = draw_maps(60, seed=3)
    finder = SubjectFinder().fit(maps)
    ground, subject = np.random.default_rng(3).normal(size=(2, 12))
    noise = 0.3 * np.random.default_rng(7).normal(size=(12, 12, 12))
    empty = (ground + noise).astype(np.float32)
    two = empty.copy()
    two[1:4, 1:4] += subject.astype(np.float32)
    two[8:11, 8:11] += subject.astype(np.float32)
    one = empty.copy()
    one[4:7, 4:7] += subject.astype(np.float32)
    assert len(finder.find(two).boxes) == 2
    assert len(finder.find(one).boxes) == 1
    assert finder.find(empty).confidence < 0.7 * finder.find(one).confidence


@pytest.mark.parametrize(
    "maps",
    [
        [np.ones((7, 7, 5))],  # one picture of one colour
        [np.zeros((3, 4, 5))] * 3,
        [np.ones((2, 2, 5)), np.ones((12, 2, 5))],
    ],
)
def test_pictures_of_one_colour_have_no_subject(maps):
    finder = SubjectFinder().fit(maps)
    found = finder.find(maps[0])
    assert found.confidence == 0
    assert found.box == (0, 0, 1, 1)
    assert found.boxes == ()
    assert not found.mask.any()


def test_one_picture_is_enough_to_run():
    maps, _ = draw_maps(1)
    found = SubjectFinder().fit(maps).find(maps[0])
    assert 0 <= found.confidence <= 1


@settings(max_examples=25, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 6)),
    n=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_what_is_found_is_always_a_box(shape, n, seed):
    rng = np.random.default_rng(seed)
    maps = [np.maximum(rng.normal(size=shape), 0) for _ in range(n)]
    finder = SubjectFinder().fit(maps)
    for cells in maps:
        found = finder.find(cells)
        x0, y0, x1, y1 = found.box
        assert 0 <= x0 < x1 <= 1
        assert 0 <= y0 < y1 <= 1
        assert 0 <= found.confidence <= 1
        assert x0 <= found.point[0] <= x1
        assert y0 <= found.point[1] <= y1
        assert found.scores.shape == shape[:2]
        assert (found.scores >= 0).all()
        if found.boxes:
            assert found.boxes[0] == found.box


@pytest.mark.parametrize(
    ("maps", "match"),
    [
        ([], "at least one"),
        ([np.ones((3, 3))], "shape"),
        ([np.full((2, 2, 2), np.nan)], "not finite"),
        ([np.ones((2, 2, 2)), np.ones((2, 2, 3))], "same channels"),
    ],
)
def test_bad_maps_are_one_sentence(maps, match):
    with pytest.raises(FieldguideError, match=match):
        SubjectFinder().fit(maps)


def test_another_network_is_one_sentence():
    maps, _ = draw_maps(4)
    with pytest.raises(FieldguideError, match="fitted on 12; use the same network"):
        SubjectFinder().fit(maps).find(np.ones((3, 3, 5)))
