import json

import numpy as np
import pytest
from sklearn.base import clone
from tests.features.contract import check_image_transformer, odd_images

from fieldguide.datasets import load_specimens
from fieldguide.errors import FieldguideError, TooFewWindows
from fieldguide.features import ColorHistogram, FeatureStack, SpatialHOG
from fieldguide.features.stack import PART_NAMES, find_landmarks, split_parts
from fieldguide.kernels import chi2_kernel, intersection_kernel, rbf_kernel


@pytest.fixture(scope="module")
def drawings():
    return list(load_specimens(n_per_kind=1, size_px=72).images[::2])


def test_contract_of_an_estimator_over_images(drawings, tmp_path):
    check_image_transformer(FeatureStack("hog+color", n_landmarks=6), drawings[:8], tmp_path)


@pytest.mark.parametrize("kernel", [chi2_kernel, intersection_kernel, rbf_kernel])
def test_coordinates_of_landmarks_have_the_kernel_as_products(kernel):
    """With every row a landmark Nyström's coordinates are exact; with half of them, close."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(12, 0.5), 40).astype(np.float32)
    name = kernel.__name__.removesuffix("_kernel")
    for n, error in ((40, 1e-4), (20, 0.15)):
        landmarks = find_landmarks(rows, np.arange(n), name)
        options = {} if landmarks.gamma is None else {"gamma": landmarks.gamma}
        expected = kernel(rows, **options)
        length = np.sqrt(np.diag(expected))
        found = landmarks.coordinates(name, rows)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
        missed = np.abs(found @ found.T - expected / np.outer(length, length))
        assert missed.mean() < error


def test_parts_stand_side_by_side_and_count_alike(drawings):
    stack = FeatureStack("deep+hog+color", n_jobs=1).fit(drawings)
    rows = stack.transform(drawings)
    n = len(drawings)
    assert rows.shape == (n, 1280 + 2 * n)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    for part in (slice(0, 1280), slice(1280, 1280 + n), slice(1280 + n, None)):
        np.testing.assert_allclose((rows[:, part] ** 2).sum(axis=1), 1 / 3, atol=1e-4)
    edges = SpatialHOG().fit_transform(drawings)
    products = intersection_kernel(edges)
    length = np.sqrt(np.diag(products))
    found = 3 * rows[:, 1280 : 1280 + n] @ rows[:, 1280 : 1280 + n].T
    np.testing.assert_allclose(found, products / np.outer(length, length), atol=2e-3)
    names = stack.get_feature_names_out()
    assert names[0] == "deep 0"
    assert names[-1] == f"color {n - 1}"


def test_save_then_open_is_the_identity(drawings):
    parts = "+".join(name for name in PART_NAMES if name != "deep")
    stack = FeatureStack(parts, n_landmarks=5, n_jobs=1)
    small = clone(stack)
    with pytest.raises(TooFewWindows):
        small.fit([np.zeros((20, 20, 3), np.uint8)])  # a thousand words of one black picture
    stack.fit(drawings)
    arrays, settings = stack.to_state()
    again = FeatureStack.from_state(arrays, json.loads(json.dumps(settings)))
    np.testing.assert_array_equal(again.transform(drawings), stack.transform(drawings))
    np.testing.assert_array_equal(again.landmark_rows_, stack.landmark_rows_)
    for part, message in (("mixing", "landmarks_.hog.mixing of"), ("rows", "landmarks_.hog ")):
        name = f"landmarks_.hog.{part}"
        damaged = {**arrays, name: arrays[name][:, :-1]}
        with pytest.raises(FieldguideError, match=message):
            FeatureStack.from_state(damaged, settings)


def test_odd_images(drawings):
    stack = FeatureStack("hog+gist+texture+color", n_jobs=1).fit(drawings)
    for what, pixels in odd_images():
        rows = stack.transform([pixels])
        assert np.isfinite(rows).all(), what
        assert np.linalg.norm(rows) <= 1 + 1e-5


def test_landmarks_are_the_pictures_at_their_places(drawings):
    stack = FeatureStack("color", n_sample=9, n_landmarks=4, n_jobs=1).fit(drawings)
    chosen = [drawings[i] for i in stack.landmark_rows_]
    np.testing.assert_allclose(
        stack.landmarks_["color"].rows, ColorHistogram().fit_transform(chosen), atol=1e-6
    )


@pytest.mark.parametrize("parts", ["", "deep+deep", "sift", "hog,color", None, 3])
def test_bad_names_are_one_sentence(parts):
    with pytest.raises(FieldguideError, match="features must be one or more of deep, closer"):
        split_parts(parts)


def test_nothing_to_learn_from_is_one_sentence(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    for images in ([], [tmp_path / "a.jpg"]):
        with pytest.raises(FieldguideError, match="no image to learn from"):
            FeatureStack("hog").fit(images)
