"""The specimens: the same for a seed, true in every word and box, and worth classifying."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fieldguide.datasets import load_specimens
from fieldguide.datasets.specimens.canvas import TRUTH_PX, Pen
from fieldguide.datasets.specimens.kinds import KINDS, attribute_names
from fieldguide.datasets.specimens.plate import paint_plate, read_truth
from fieldguide.errors import FieldguideError

N_ROUNDS = 3


@pytest.fixture(scope="module")
def specimens():
    return load_specimens(n_per_kind=N_ROUNDS, size_px=96, random_state=0)


@pytest.fixture(scope="module")
def many():
    return load_specimens(n_per_kind=10, size_px=64, random_state=5, n_jobs=2)


def column(specimens, name):
    return specimens.attributes[:, specimens.attribute_names.index(name)].astype(bool)


def box_of(mask):
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]) / len(mask)


def test_shapes_and_types(specimens):
    n, n_kinds = len(specimens.images), len(specimens.target_names)
    assert n == N_ROUNDS * n_kinds
    assert 24 <= n_kinds <= 32
    assert specimens.images.shape == (n, 96, 96, 3)
    assert specimens.images.dtype == np.uint8
    assert specimens.attributes.shape == (n, len(specimens.attribute_names))
    assert specimens.attributes.dtype == np.uint8
    assert specimens.boxes.shape == (n, 4)
    assert specimens.boxes.dtype == np.float32
    assert specimens.masks.dtype == bool
    assert len(specimens.masks) == n
    assert len(specimens.marks) == n
    assert specimens.target.tolist() == list(range(n_kinds)) * N_ROUNDS


def test_names_are_plain_words(specimens):
    for names in (specimens.target_names, specimens.attribute_names):
        assert len(set(names)) == len(names)
        assert all(name == name.lower().strip() for name in names)
    assert len(specimens.attribute_names) >= 40


def test_taxonomy_has_three_levels_and_families_with_look_alikes(specimens):
    assert list(specimens.taxonomy) == specimens.target_names
    groups = {group for group, _ in specimens.taxonomy.values()}
    families = [family for _, family in specimens.taxonomy.values()]
    assert len(groups) >= 5
    assert len(set(families)) >= 10
    assert max(families.count(family) for family in families) >= 4
    group_of = {family: group for group, family in specimens.taxonomy.values()}
    assert all(group_of[family] == group for group, family in specimens.taxonomy.values())


def test_same_seed_same_bytes_however_many_there_are(specimens):
    again = load_specimens(n_per_kind=1, size_px=96, random_state=0)
    n = len(again.images)
    assert again.images.tobytes() == specimens.images[:n].tobytes()
    assert again.attributes.tobytes() == specimens.attributes[:n].tobytes()
    assert again.marks == specimens.marks[:n]
    other = load_specimens(n_per_kind=1, size_px=96, random_state=1)
    assert not np.array_equal(other.images[0], specimens.images[0])


def test_n_jobs_changes_nothing(specimens):
    parallel = load_specimens(n_per_kind=1, size_px=96, random_state=0, n_jobs=2)
    n = len(parallel.images)
    np.testing.assert_array_equal(parallel.images, specimens.images[:n])
    np.testing.assert_array_equal(parallel.attributes, specimens.attributes[:n])


@pytest.mark.parametrize("size_px", [64, 160, 320])
def test_size_changes_the_sharpness_and_not_the_picture(specimens, size_px):
    sized = load_specimens(n_per_kind=1, size_px=size_px, random_state=0)
    n = len(sized.images)
    assert sized.images.shape == (n, size_px, size_px, 3)
    np.testing.assert_array_equal(sized.attributes, specimens.attributes[:n])
    np.testing.assert_allclose(sized.boxes / size_px, specimens.boxes[:n] / 96, atol=1e-6)
    mean_of = [images.mean(axis=(1, 2)) for images in (sized.images, specimens.images[:n])]
    assert np.abs(mean_of[0] - mean_of[1]).max() < 6


def test_largest_size_is_drawn():
    plate = paint_plate(KINDS[0], np.random.default_rng(0), 512)
    assert plate.image.shape == (512, 512, 3)


def test_boxes_lie_inside_the_image_and_hold_their_marks(specimens):
    boxes = specimens.boxes
    assert boxes.min() >= 0
    assert boxes.max() <= 96
    assert (boxes[:, 2:] - boxes[:, :2]).min() > 96 * 0.1
    for box, marks in zip(boxes, specimens.marks, strict=True):
        for _, x0, y0, x1, y1 in marks:
            assert box[0] - 1e-3 <= x0 < x1 <= box[2] + 1e-3
            assert box[1] - 1e-3 <= y0 < y1 <= box[3] + 1e-3


def test_masks_fill_their_boxes_and_no_more(specimens):
    for mask, box in zip(specimens.masks, specimens.boxes / 96, strict=True):
        np.testing.assert_allclose(box_of(mask), box, atol=1e-6)


@pytest.mark.parametrize(
    "family", ["reef fishes", "beetles", "butterflies", "snails", "broad leaves"]
)
def test_the_box_is_that_of_the_drawn_pixels(family):
    """Families that are drawn without a perch or a patch of ground: all that is drawn is theirs."""
    for kind in (kind for kind in KINDS if kind.family == family):
        pen = Pen(TRUTH_PX, np.random.default_rng(0))
        with pen.placed(0.5, 0.5, 0.3, 0.6, 0.6):
            kind.draw(pen, np.random.default_rng(1), kind.look, next(iter(kind.stances)), 0.2)
        covered = np.asarray(pen.cover.reduce(pen.sharpness)) > 127
        box, _, hidden = read_truth(pen, None)
        np.testing.assert_allclose(box, box_of(covered), atol=2.5 / TRUTH_PX)
        assert hidden == 0


def test_a_mark_gives_its_words_and_its_absence_takes_them_away(specimens):
    names = np.array(specimens.attribute_names)
    for i, marks in enumerate(specimens.marks):
        kind = KINDS[specimens.target[i]]
        seen = {name for name, *_ in marks}
        assert seen <= set(kind.marks), kind.name
        has = set(names[specimens.attributes[i] == 1])
        assert set(kind.words) <= has
        lost = {w for name in set(kind.marks) - seen for w in kind.marks[name]}
        kept = {w for name in seen for w in kind.marks[name]}
        assert kept <= has
        assert not (lost - kept - set(kind.words)) & has


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_shows_a_mark_that_its_family_lacks(kind):
    seen = set()
    for i in range(8):
        seen |= {name for name, *_ in paint_plate(kind, np.random.default_rng(i), 64).marks}
    assert seen == set(kind.marks), "every mark of the table is drawn, and seen now and then"
    cousins = [other for other in KINDS if other.family == kind.family and other is not kind]
    shared = set.intersection(*(set(other.marks) for other in cousins)) if cousins else set()
    assert seen - shared


def test_every_attribute_occurs_and_none_always(many):
    rate = many.attributes.mean(axis=0)
    names = np.array(many.attribute_names)
    assert list(names[rate == 0]) == []
    assert list(names[rate > 0.9]) == []


def test_opposite_words_exclude_each_other(specimens):
    for a, b in (
        ("facing left", "facing right"),
        ("in warm light", "in cold light"),
        ("wings open", "wings closed"),
        ("seen from above", "seen from the side"),
        ("autumn colours", "mostly green"),
    ):
        assert not (column(specimens, a) & column(specimens, b)).any(), (a, b)


def test_every_picture_has_one_habitat(specimens):
    places = [n for n in specimens.attribute_names if n.startswith(("on ", "under ", "among "))]
    places += ["against the sky", "in a meadow"]
    total = sum(column(specimens, place).astype(int) for place in places)
    assert set(total.tolist()) == {1}


@given(k=st.integers(0, len(KINDS) - 1), seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_specimen_of_any_seed_is_sound(k, seed):
    plate = paint_plate(KINDS[k], np.random.default_rng(seed), 64)
    assert plate.image.shape == (64, 64, 3)
    assert plate.image.std() > 4
    assert plate.words <= set(attribute_names())
    x0, y0, x1, y1 = plate.box
    assert 0 <= x0 < x1 <= 1
    assert 0 <= y0 < y1 <= 1
    for _, a, b, c, d in plate.marks:
        assert x0 <= a < c <= x1
        assert y0 <= b < d <= y1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_per_kind": 0}, r"n_per_kind of load_specimens must be a whole number in \[1, 10000\]"),
        (
            {"size_px": 32},
            r"size_px of load_specimens must be a whole number in \[64, 512\]; got 32",
        ),
        ({"size_px": 96.0}, "size_px of load_specimens must be a whole number"),
        ({"random_state": -1}, "random_state of load_specimens must be a whole number"),
        ({"random_state": None}, "random_state of load_specimens must be .*; got None"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(arguments, message):
    with pytest.raises(FieldguideError, match=message):
        load_specimens(**arguments)


def test_classical_colour_features_find_the_group_but_not_the_kind(many):
    """Neither trivial nor impossible: raw colours alone must not be enough."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import cross_val_score

    X = many.images[:, 4::8, 4::8].reshape(len(many.images), -1) / 255.0
    score = cross_val_score(RidgeClassifier(100.0), X, many.target, cv=5).mean()
    assert 2 / len(many.target_names) < score < 0.7


def test_importing_datasets_is_light():
    code = (
        "import sys, fieldguide.datasets; "
        "heavy = {'sklearn', 'skimage', 'scipy', 'numba', 'PIL', 'onnxruntime'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_unknown_name_is_an_attribute_error():
    import fieldguide.datasets as datasets

    assert {"load_specimens", "load_specimen_clips"} <= set(dir(datasets))
    with pytest.raises(AttributeError, match="load_unicorns"):
        datasets.load_unicorns  # noqa: B018
