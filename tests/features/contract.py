"""What must hold of every transformer over images; each test file calls it with its own."""

import pickle

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from sklearn.base import clone

from fieldguide.collection import Collection
from fieldguide.errors import FieldguideError

# Small pictures of any sort.
pictures = arrays(
    np.uint8,
    st.tuples(st.integers(1, 30), st.integers(1, 30), st.just(3)),
    elements=st.integers(0, 255),
)


def check_image_transformer(estimator, images, folder, labels=None):
    """Hold ``estimator`` to the contract on a few small arrays (uint8, RGB).

    ``labels`` is given to ``fit``. ``folder`` is an empty one to write image files to.
    """
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    fitted = clone(estimator).fit(images, labels)
    rows = fitted.transform(images)
    assert rows.dtype == np.float32
    assert rows.ndim == 2
    assert len(rows) == len(images)
    assert np.isfinite(rows).all()
    # the same again: a second fit, a copy through pickle, other numbers of threads
    np.testing.assert_array_equal(clone(estimator).fit(images, labels).transform(images), rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(images), rows)
    for n_jobs in (1, 2):
        other = clone(estimator).set_params(n_jobs=n_jobs).fit(images, labels)
        np.testing.assert_array_equal(other.transform(images), rows)
    # one at a time, and from every kind of source
    np.testing.assert_array_equal(np.concatenate([fitted.transform([i]) for i in images]), rows)
    paths = [folder / f"{i:03d}.png" for i in range(len(images))]
    for image, path in zip(images, paths, strict=True):
        Image.fromarray(image).save(path)
    for source in (map(Image.fromarray, images), paths, Collection.from_folder(folder)):
        np.testing.assert_array_equal(fitted.transform(source), rows)
    # every column has a name of its own and a window or none
    names = fitted.get_feature_names_out()
    assert len(names) == len(set(names)) == rows.shape[1]
    assert all(isinstance(name, str) and name for name in names)
    windows = fitted.get_feature_windows_out()
    assert windows.shape == (rows.shape[1], 4)
    placed = windows[np.isfinite(windows).all(axis=1)]
    assert ((placed >= 0) & (placed <= 1)).all()
    assert (placed[:, :2] < placed[:, 2:]).all()
    # bad input is one sentence
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff not a picture")
    for bad in ([], [folder / "broken.jpg"], [folder / "missing.png"], [np.zeros((0, 3))]):
        with pytest.raises(FieldguideError) as caught:
            fitted.transform(bad)
        assert "\n" not in str(caught.value)


def odd_images():
    """Return pictures that a descriptor must survive: (what it is, pixels)."""
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 255, (40, 50, 1), dtype=np.uint8)
    return [
        ("constant", np.full((60, 80, 3), 127, dtype=np.uint8)),
        ("black", np.zeros((60, 80, 3), dtype=np.uint8)),
        ("one pixel", np.full((1, 1, 3), 200, dtype=np.uint8)),
        ("grey", np.repeat(grey, 3, axis=2)),
        ("long", rng.integers(0, 255, (3, 10_000, 3), dtype=np.uint8)),
        ("tall", rng.integers(0, 255, (10_000, 3, 3), dtype=np.uint8)),
    ]
