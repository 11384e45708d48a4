"""Tubes from scores of regions, and clips as bags of the same classifiers as pictures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from sklearn.base import clone

from fieldguide.errors import FieldguideError
from fieldguide.locate import (
    CRANE,
    MISVM,
    MILBoost,
    RegionSelector,
)
from fieldguide.metrics import localization_curve
from fieldguide.metrics.localization import overlaps
from fieldguide.video import find_tubes, supervoxel_features, to_supervoxels
from fieldguide.video.supervoxels import cut_grid


@given(
    arrays(np.int64, (3, 4, 5), elements=st.integers(0, 6)),
    arrays(np.float64, 7, elements=st.floats(-2, 2)),
)
@settings(max_examples=60)
def test_tubes_are_the_boxes_of_connected_pieces(labels, values):
    regions = to_supervoxels(labels)
    scores = values[: regions.n_regions]
    found = find_tubes(regions, scores)
    is_found = scores > 0
    if not is_found.any():
        is_found = np.arange(len(scores)) == scores.argmax()
    np.testing.assert_array_equal(found.mask, is_found[regions.labels])
    assert (np.diff(found.tube_scores) <= 0).all()
    assert (found.tubes.reshape(len(found.tubes), -1).any(axis=1)).all()
    # a region need not hang together, so pieces of voxels may be more than tubes, never fewer
    pieces, n = ndimage.label(found.mask)
    assert 1 <= len(found.tubes) <= n
    for k in range(1, n + 1):
        inside = []
        for tube in found.tubes:
            t, y, x = np.nonzero(pieces == k)
            box = tube[t]
            inside.append(
                ((box[:, 0] <= x) & (x < box[:, 2]) & (box[:, 1] <= y) & (y < box[:, 3])).all()
            )
        assert any(inside)


def test_a_tube_is_as_long_as_its_regions():
    labels = np.zeros((4, 3, 6), int)
    labels[1:3, :, 1:3] = 1
    labels[3, 2, 4:] = 2
    found = find_tubes(to_supervoxels(labels), np.array([-1.0, 0.5, 2.0]))
    assert found.tube_scores.tolist() == [2.0, 0.5]
    assert found.tubes[1].tolist() == [[0] * 4, [1, 0, 3, 3], [1, 0, 3, 3], [0] * 4]
    assert found.tubes[0].tolist() == [[0] * 4, [0] * 4, [0] * 4, [4, 2, 6, 3]]
    assert found.score == pytest.approx((0.25 + 4) / 2.5)
    none = find_tubes(to_supervoxels(labels), np.full(3, -1.0), at_least_one=False)
    assert none.tubes.shape == (0, 4, 4)
    assert not none.mask.any()
    with pytest.raises(FieldguideError, match="one number for each of the 3 regions"):
        find_tubes(to_supervoxels(labels), np.zeros(2))


def film(label, seed, n_frames=6):
    """A grey noisy clip; in positives a red square moves, in all a blue one stands.

    Returns the clip, its regions (bricks; each square by itself, cut in two) and the red tube.
    """
    rng = np.random.default_rng(seed)
    clip = rng.integers(100, 120, (n_frames, 32, 40, 3)).astype(np.uint8)
    labels = cut_grid((n_frames, 32, 40), 8, 2.0)
    clip[:, 20:30, 4:14] = (30, 40, 200)
    labels[:, 20:30, 4:14] = 100
    x, y = rng.integers(0, 16), rng.integers(0, 10)
    tube = [(x + 2 * t, y, x + 2 * t + 12, y + 10) for t in range(n_frames)]
    if label == -1:
        return clip, to_supervoxels(labels), np.empty((0, n_frames, 4))
    for t, (x0, y0, x1, y1) in enumerate(tube):
        clip[t, y0:y1, x0:x1] = (220, 40, 30)
        labels[t, y0:y1, x0:x1] = 101 + (t >= n_frames // 2)
    return clip, to_supervoxels(labels), np.array([tube])


@pytest.mark.parametrize(
    "estimator",
    [
        RegionSelector("chi2", C=10.0, cap=0.5),
        MISVM("chi2", C=10.0),
        MILBoost(n_rounds=20),
        CRANE(n_nearest=3),
    ],
    ids=["RegionSelector", "MISVM", "MILBoost", "CRANE"],
)
def test_clips_are_bags_of_supervoxels(estimator):
    labels = np.array([1, -1] * 8)
    films = [film(label, i) for i, label in enumerate(labels)]
    regions, truth = [f[1] for f in films], [f[2] for f in films[10:]]
    bags = [supervoxel_features(clip, r, parts=("color", "texture")) for clip, r, _ in films]
    model = clone(estimator).fit(bags[:10], labels[:10])
    scores = model.decision_function(bags[10:])
    assert scores[::2].min() > scores[1::2].max()
    found = model.locate(bags[10:], regions[10:])
    np.testing.assert_allclose([f.score for f in found], scores)
    assert found[0].mask.shape == (6, 32, 40)
    for i in (0, 2, 4):  # the halves of the square have the largest numbers
        assert found[i].region_scores.argmax() >= regions[10 + i].n_regions - 2
    if isinstance(model, CRANE):  # it ranks; where its tubes end is the threshold's choice
        return
    for overlap in (1 / 8, 0.5):
        curve = localization_curve(
            truth, [f.tubes for f in found], [f.tube_scores for f in found], overlap=overlap
        )
        assert curve.average_precision > 0.9
    for i in (0, 2, 4):
        assert overlaps(found[i].tubes.astype(float), truth[i])[0, 0] > 0.7
        assert overlaps(found[i].mask[None], truth[i])[0, 0] > 0.7
