"""Where marks are: learnt at build, kept, shown, found in new images."""

import json
import os
import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper
from PIL import Image
from tests.guide.contents import contents
from tests.guide.killed_build import check_killed_build

from fieldguide.chapters.places import chapter as places
from fieldguide.chapters.places.chapter import choose_sample
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide.views import Kind

SETTINGS = {"features": "looks", "key": "ova"}


def draw(colour, corner, seed):
    """Return a noisy grey picture with a square of a colour in one of four corners."""
    rng = np.random.default_rng(seed)
    image = rng.integers(90, 130, (96, 96, 1)).repeat(3, axis=2).astype(np.uint8)
    y, x = 14 + 40 * (corner // 2), 14 + 40 * (corner % 2)
    image[y : y + 28, x : x + 28] = colour
    return image, (x, y, x + 28, y + 28)


@pytest.fixture(scope="module")
def squares():
    colours = {"red": (220, 20, 20), "blue": (20, 30, 220), "plain": (110, 110, 110)}
    made = [
        (kind, *draw(colour, i % 4, 7 * i)) for i in range(8) for kind, colour in colours.items()
    ]
    return made


@pytest.fixture(scope="module")
def folder(squares, tmp_path_factory):
    root = tmp_path_factory.mktemp("squares")
    for i, (kind, image, _) in enumerate(squares):
        (root / kind).mkdir(exist_ok=True)
        Image.fromarray(image).save(root / kind / f"{i:02d}.png")
    return root


@pytest.fixture(scope="module")
def guide(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("guides") / "guide"
    return Guide.build(folder, out, n_jobs=1, **SETTINGS)


def test_the_mark_is_where_it_was_drawn(guide, squares):
    boxes = {f"{kind}/{i:02d}.png": box for i, (kind, _, box) in enumerate(squares)}
    shares = []
    for specimen, located in guide.all_located():
        assert located.kind == specimen.kind
        assert 0 < located.share < 1
        x0, y0, x1, y1 = np.array(boxes[specimen.path]) / 96
        assert located.score == pytest.approx(sum(p.value for p in located.parts), abs=1e-4)
        for place in located.places:
            a0, b0, a1, b1 = place.box
            points = np.array([point for ring in place.outline for point in ring])
            assert points.min() >= 0
            assert points.max() <= 1
            # the outline lies in its box, but for the smoothing
            assert (points >= np.array([a0, b0]) - 0.03).all()
            assert (points <= np.array([a1, b1]) + 0.03).all()
        if specimen.kind != "plain":
            a0, b0, a1, b1 = located.places[0].box
            inside = max(min(a1, x1) - max(a0, x0), 0) * max(min(b1, y1) - max(b0, y0), 0)
            shares.append(inside / ((a1 - a0) * (b1 - b0)))
    assert len(shares) >= 8
    assert np.mean(shares) > 0.6  # a square is 0.09 of the picture


def test_what_each_part_adds_is_exact(guide, squares):
    sighting = guide.look(squares[0][1])
    located = guide.locate([sighting])[0]
    key = guide._models.key
    scores = dict(zip(key.classes_, key.decision_function(sighting.row)[0], strict=True))
    margin = scores[located.kind] - scores[located.against]
    assert sum(part.value for part in located.parts) == pytest.approx(margin, abs=1e-4)
    assert located.score == pytest.approx(margin, abs=1e-4)
    assert {part.part for part in located.parts if part.is_placed} == {
        *("deep", "closer", "peaks", "subject", "quarters")
    }


def test_a_plate_shows_the_kind_against_all_others_and_a_pair_the_two(guide):
    """Each by the function of the key that says so, exactly."""
    key = guide._models.key
    scores = key.decision_function(np.asarray(guide._models.rows))
    names = [str(name) for name in key.classes_]
    for specimen, located in guide.all_located():
        own = scores[specimen.id, names.index(specimen.kind)]
        assert located.against is None
        assert located.score == pytest.approx(own, abs=1e-3)
        (rival,) = (name for name in names if guide.located(specimen.id, name) is not None)
        beside = guide.located(specimen.id, rival)
        assert beside.against == rival != specimen.kind
        margin = own - scores[specimen.id, names.index(rival)]
        assert beside.score == pytest.approx(margin, abs=1e-3)


def test_a_new_image_is_located(guide):
    image, box = draw((220, 20, 20), 3, 1234)
    answer, also = guide.identify([image])[0], guide.locate([image], "red")[0]
    assert answer.kinds[0][0] == "red"
    assert answer.parts["places"] == also
    assert guide.locate([image])[0] == also
    x, y = (np.array(also.places[0].box).reshape(2, 2).mean(axis=0) * 96).tolist()
    assert box[0] < x < box[2]
    assert box[1] < y < box[3]
    with pytest.raises(GuideError, match=r"No kind of this guide is called 'rd'. There is 'red'"):
        guide.locate([image], "rd")


def test_a_picture_of_one_colour_has_no_place(guide):
    (located,) = guide.locate([Image.new("RGB", (120, 80), (90, 90, 90))])
    assert located.subject.confidence == 0
    assert located.places == ()
    assert located.score == pytest.approx(sum(part.value for part in located.parts), abs=1e-3)


@pytest.mark.parametrize("after", [0, 9])
def test_a_killed_build_goes_on_to_the_same_guide(folder, guide, tmp_path, after):
    step = "finding what decides"
    check_killed_build(folder, guide, tmp_path / "guide", step, after, step, **SETTINGS)


def test_a_second_build_keeps_the_places(guide, folder, tmp_path):
    steps = []
    before = contents(guide.folder)
    Guide.build(folder, guide.folder, progress=lambda *now: steps.append(now[0]), **SETTINGS)
    assert "finding what decides" not in steps
    assert contents(guide.folder) == before


@pytest.fixture(scope="module")
def plain(folder, tmp_path_factory):
    """A guide of the first look."""
    out = tmp_path_factory.mktemp("guides") / "plain"
    return Guide.build(folder, out, features="deep", n_jobs=1)


def test_an_older_guide_opens_without_places(plain, tmp_path):
    out = shutil.copytree(plain.folder, tmp_path / "guide")
    for suffix in ("json", "safetensors"):
        (out / f"editions/1/models/places.{suffix}").unlink()
    opened = Guide.open(out)
    image = draw((220, 20, 20), 1, 5)[0]
    assert opened.identify([image])[0].parts.get("places") is None
    assert opened.located(0) is None
    assert opened.all_located() == []
    with pytest.raises(GuideError, match="does not know where its answers come from"):
        opened.locate([image])


def test_a_guide_with_one_record_of_a_picture_opens(plain, tmp_path):
    """As versions before 4 of the file had them."""
    out = shutil.copytree(plain.folder, tmp_path / "guide")
    path = out / "editions/1/models/places.json"
    said = json.loads(path.read_text())
    said["pictures"] = {digest: found[-1] for digest, found in said["pictures"].items()}
    path.write_text(json.dumps(said))
    opened = Guide.open(out)
    for specimen, found in opened.all_located():
        assert found == plain.located(specimen.id, found.against)
    assert len(opened.all_located()) == len(plain.all_located()) > 0


@pytest.mark.parametrize("damage", ["cut", "outline", "subject", "box"])
def test_a_damaged_file_is_one_sentence(plain, tmp_path, damage):
    out = shutil.copytree(plain.folder, tmp_path / "guide")
    path = out / "editions/1/models/places.json"
    said = json.loads(path.read_text())
    if damage == "cut":
        path.write_text(path.read_text()[:200])
    else:
        first = next(iter(said["pictures"].values()))[0]["places"][0]
        if damage == "outline":
            first["outline"] = ["1,2 3000,4 5"]
        elif damage == "box":
            first["box"] = "0 0 1"
        else:
            next(iter(said["pictures"].values()))[0]["subject"]["confidence"] = 3
        path.write_text(json.dumps(said))
    with pytest.raises(GuideError, match=r"The places .* cannot be read .*; build the guide again"):
        Guide.open(out).located(0)


def test_one_kind_or_none_has_no_places(squares, tmp_path):
    images = [image for _, image, _ in squares[:5]]
    for k, kinds in enumerate((["one"] * 5, None)):
        guide = Guide.build(Collection.from_arrays(images, kinds), tmp_path / str(k), n_jobs=1)
        assert not os.path.exists(guide.edition / "models/places.json")
        assert guide.located(0) is None


def test_a_network_without_a_map_leaves_places_out(squares, tmp_path):
    weights = np.random.default_rng(0).normal(size=(3 * 16 * 16, 8)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["x"], ["flat"]),
            helper.make_node("MatMul", ["flat", "w"], ["e"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("e", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "flat.onnx"
    path.write_bytes(model.SerializeToString())
    collection = Collection.from_arrays(
        [im for _, im, _ in squares[:9]], [k for k, *_ in squares[:9]]
    )
    guide = Guide.build(collection, tmp_path / "guide", embedder=path, features="deep", n_jobs=1)
    assert guide.located(0) is None
    assert guide.identify([squares[0][1]])[0].parts.get("places") is None


def kind(name, count=20, alike=()):
    look_alikes = tuple((other, 0.1) for other in alike)
    return Kind(name, name, count, tuple(range(12)), (), None, look_alikes, (), name)


@pytest.mark.parametrize(
    ("n_kinds", "n_specimens", "n_each"), [(2, 40, 6), (32, 768, 5), (100, 1000, 3), (50, 9000, 6)]
)
def test_the_sample_grows_with_the_collection(n_kinds, n_specimens, n_each):
    sample = choose_sample([kind(f"k{i:04d}") for i in range(n_kinds)], n_specimens)
    assert [len(ids) for _, ids in sample] == [n_each] * n_kinds


def test_of_very_many_kinds_the_largest_are_looked_at():
    kinds = [kind(f"k{i:04d}", count=i) for i in range(5000)]
    sample = choose_sample(kinds, 500_000)
    assert sum(len(ids) for _, ids in sample) <= places.MOST
    assert sample[0][0].count == 5000 - len(sample)
    assert choose_sample([], 10) == []
