"""The key as ONNX, run by onnxruntime: its answers are ours."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from PIL import Image

from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.errors import FieldguideError
from fieldguide.exports.onnx_key import add_key
from fieldguide.exports.onnx_looks import open_picture
from fieldguide.exports.onnx_operators import Operators, Value
from fieldguide.exports.onnx_resize import Side, resize
from fieldguide.guide import Guide
from fieldguide.identify import (
    AttentionTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
    Shortlist,
)


def draw_rows(n, n_classes, seed, spread=0.55):
    """Rows of length 1 around the centres of their classes, some of them hard to tell."""
    centres = np.random.default_rng(7).normal(size=(n_classes, 24))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = centres[y] + spread * np.linalg.norm(centres[0]) / 2 * rng.normal(size=(n, 24))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def run_key(key, X):
    to = Operators()
    probability, answer = add_key(to, key, "rows")
    shapes = ((probability, TensorProto.DOUBLE, 2), (answer, TensorProto.INT64, 1))
    graph = helper.make_graph(
        to.nodes,
        "key",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", X.shape[1]])],
        [helper.make_tensor_value_info(name, kind, [None] * n) for name, kind, n in shapes],
        to.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run([probability, answer], {"rows": X})


@pytest.mark.parametrize(
    "key",
    [
        OneVsAllClassifier(),
        RelaxedHierarchyClassifier(),
        RelaxedHierarchyClassifier(search=Shortlist(4.0, max_classes=3)),
        AttentionTreeClassifier(),
        AttentionTreeClassifier(search=Shortlist(40.0)),
        AttentionTreeClassifier(search=Shortlist(0.0)),
        RelaxedHierarchyClassifier(search=Shortlist(0.0), rho=1.5),
    ],
    ids=repr,
)
def test_a_key_answers_as_ours_does(key):
    key.fit(*draw_rows(400, 12, seed=0))
    X, y = draw_rows(1000, 12, seed=1)
    probability, answer = run_key(key, X)
    ours = key.predict_proba(X)
    assert (key.classes_[answer] == key.predict(X)).all()
    np.testing.assert_allclose(probability, ours, atol=2e-5)
    assert 0.5 < np.mean(answer == y) < 0.99  # some are hard


def test_two_classes():
    X, y = draw_rows(200, 2, seed=0, spread=1.5)
    key = OneVsAllClassifier().fit(X, y)
    probability, answer = run_key(key, X)
    assert (answer == key.predict(X)).all()
    np.testing.assert_allclose(probability, key.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (OneVsOneClassifier(), "it votes"),
        (RelaxedHierarchyClassifier(search="greedy"), "its search is none"),
        (RelaxedHierarchyClassifier(n_trees=2), "several trees"),
        (OneVsAllClassifier(kernel="rbf"), "are not linear"),
    ],
    ids=["ovo", "greedy", "trees", "kernel"],
)
def test_a_key_without_such_a_form_is_refused(key, reason):
    key.fit(*draw_rows(120, 5, seed=0))
    with pytest.raises(FieldguideError, match=reason):
        add_key(Operators(), key, "rows")


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # others may be at work on the same cores
    return onnxruntime.InferenceSession(str(path), options)


def run_picture(session, image):
    kind, probability = session.run(["kind", "probability"], {"picture": np.asarray(image)})
    return kind.item(), probability[0]


@pytest.mark.parametrize("name", ["flat_guide", "small_guide"])
def test_the_whole_way_from_a_picture(name, request, blobs, export):
    guide = request.getfixturevalue(name)
    assert (guide.stack is None) == (name == "flat_guide")  # the other looks twice
    path = export(guide, "onnx")
    session = open_session(path)
    names = json.loads(session.get_modelmeta().custom_metadata_map["kinds"])
    images = [255 - image for image in blobs[0][::3]]
    images += [
        np.repeat(blobs[0][0], 5, axis=1),
        blobs[0][9][:40],
        np.full((30, 50, 3), 7, np.uint8),
    ]
    for image in images:
        kind, probability = run_picture(session, image)
        said = guide.look(image).kinds
        assert kind == said[0].name
        ours = [dict(said)[name] for name in names]
        np.testing.assert_allclose(probability, ours, atol=1e-4)


def test_a_guide_with_other_features_is_refused(worded_guide, export):
    with pytest.raises(FieldguideError, match="by words, color too; build one with `features"):
        export(worded_guide, "onnx")


@pytest.mark.slow
@pytest.mark.parametrize(("features", "key"), [("deep", "relaxed"), ("looks", "attention")])
def test_a_thousand_pictures(export, tmp_path, features, key):
    drawn = load_specimens(n_per_kind=10, size_px=160)
    kinds = [drawn.target_names[k] for k in drawn.target]
    collection = Collection.from_arrays(drawn.images, kinds, name="drawn specimens")
    settings = {"features": features, "key": key, "tree": "agglomerative"}
    settings |= {"marks": False, "places": False}
    guide = Guide.build(collection, tmp_path / "guide", n_jobs=1, **settings)
    session = open_session(export(guide, "onnx"))
    new = load_specimens(n_per_kind=32, size_px=160, random_state=1).images
    assert len(new) >= 1000
    rng, largest, n_other = np.random.default_rng(0), 0.0, 0
    for image in new:
        # Of other shapes and sizes: rows and columns are cut away, and some are enlarged.
        height, width = rng.integers(100, 161, 2)
        cut = Image.fromarray(image[:height, :width])
        cut = cut.resize((cut.width * 3, cut.height * 3)) if rng.random() < 0.2 else cut
        kind, probability = run_picture(session, cut)
        ours = guide.look(cut).kinds[0]
        n_other += kind != ours.name
        largest = max(largest, abs(probability.max() - ours.probability))
    print(f"{features}, {key}: {len(new)} pictures: {n_other} other kinds, within {largest:.1e}")
    assert n_other == 0
    assert largest < 1e-4


@pytest.fixture(scope="module")
def session():
    """A model that resizes a box of a picture."""
    to = Operators()
    picture = open_picture(to, "picture")
    box, size = Value(to, "box"), Value(to, "size")
    across = Side(picture.width, box.take(0), box.take(2), size.take(0), size.take(0))
    down = Side(picture.height, box.take(1), box.take(3), size.take(1), size.take(1))
    made = resize(to, picture.pixels, across, down)
    graph = helper.make_graph(
        to.nodes,
        "resize",
        [
            helper.make_tensor_value_info("picture", TensorProto.UINT8, ["height", "width", 3]),
            helper.make_tensor_value_info("box", TensorProto.DOUBLE, [4]),
            helper.make_tensor_value_info("size", TensorProto.DOUBLE, [2]),
        ],
        [helper.make_tensor_value_info(made.name, TensorProto.DOUBLE, [3, None, None])],
        to.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString())


shares = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)


@given(
    st.integers(0, 10_000),
    st.tuples(st.integers(2, 400), st.integers(2, 400)),
    st.tuples(st.integers(1, 90), st.integers(1, 90)),
    st.tuples(shares, shares),
)
def test_pixels_are_those_of_pillow(session, seed, length, size, shares):
    width, height = length
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    starts = [min(start * n, n - 1.0) for (start, _), n in zip(shares, length, strict=True)]
    ends = [max(end * n, s + 1) for (_, end), n, s in zip(shares, length, starts, strict=True)]
    box = (*starts, *ends)
    ours = Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC, box, reducing_gap=2.0)
    given = {"picture": picture, "box": np.array(box), "size": np.array(size, dtype=np.float64)}
    (found,) = session.run(None, given)
    np.testing.assert_array_equal(found.transpose(1, 2, 0), np.asarray(ours))
