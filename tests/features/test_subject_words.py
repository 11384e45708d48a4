"""Words of the subject hold of drawings whose truth is known, and nothing breaks them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from fieldguide.errors import InvalidArgument
from fieldguide.features import (
    COLOURS,
    SUBJECT_NAMES,
    SURROUNDING_NAMES,
    Subject,
    measure_colours,
    measure_subject,
    rank_colours,
)
from fieldguide.features.properties import LONGEST_SIDE_PX
from fieldguide.features.subject_finder import no_subject

NAMES = (*SUBJECT_NAMES, *SURROUNDING_NAMES)
PAINT = {
    "black": (15, 15, 15), "grey": (125, 125, 125), "white": (250, 250, 250), "red": (200, 20, 30),
    "orange": (240, 130, 20), "brown": (110, 70, 40), "yellow": (240, 215, 40),
    "green": (60, 150, 60), "blue": (40, 80, 190), "purple": (120, 50, 160),
    "pink": (245, 150, 180),
}  # fmt: skip
quick = settings(deadline=None, max_examples=40)
sides = st.integers(1, 40)
images = arrays(
    np.uint8, st.tuples(sides, sides, st.just(3)), elements=st.integers(0, 255)
) | st.builds(
    lambda height, width, colour: np.full((height, width, 3), colour, np.uint8),
    sides, sides, st.tuples(*[st.integers(0, 255)] * 3),
)  # fmt: skip
grids = arrays(
    np.float32,
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    elements=st.floats(0, 4, width=32),
)


def find(scores, confidence=0.5):
    """Return a subject with these scores, and its box where they are positive."""
    box = (0.0, 0.0, 1.0, 1.0)
    return Subject(np.asarray(scores, np.float32), scores > 0, box, (0.5, 0.5), confidence, (box,))


def look_at(mask, n_cells=12):
    """Return the subject as coarse cells show it, a little beyond its border."""
    height, width = mask.shape
    size = (n_cells, max(1, round(n_cells * height / width)))
    cells = Image.fromarray(mask.astype(np.float32)).resize(size, Image.Resampling.BOX)
    return find(np.asarray(cells))


def draw_disc(side=120, radius=30):
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    return np.hypot(x, y) < radius


def paint(mask, colour, ground):
    return np.where(mask[..., None], PAINT[colour], PAINT[ground]).astype(np.uint8)


def say(image, subject):
    scores = measure_subject(image, subject)
    return {name for name, score in zip(NAMES, scores, strict=True) if score >= 0.5}


@pytest.mark.parametrize(
    ("colour", "ground"),
    [(c, g) for c in COLOURS for g in ("green", "white", "black", "blue") if c != g],
)
def test_a_disc_is_of_its_colour_and_on_its_ground(colour, ground):
    mask = draw_disc()
    own = {f"mostly {colour}", f"with {colour}", "of one colour", f"on {ground}"} & set(NAMES)
    assert say(paint(mask, colour, ground), look_at(mask)) == own


def test_halves_are_two_colours_with_their_places():
    mask = draw_disc()
    image = paint(mask, "black", "green")
    image[60:][mask[60:]] = PAINT["yellow"]
    said = say(image, look_at(mask))
    assert {"with black", "with yellow", "yellow below", "two-coloured", "on green"} <= said
    assert not {"of one colour", "red above"} & said
    assert "yellow below" not in say(image[::-1], look_at(mask))


def test_light_and_shade_are_one_colour():
    mask = draw_disc()
    image = paint(mask, "black", "white")
    image[60:][mask[60:]] = PAINT["grey"]
    assert "two-coloured" not in say(image, look_at(mask))


def test_a_mark_is_seen_and_not_taken_for_the_whole():
    mask = draw_disc()
    image = paint(mask, "brown", "blue")
    image[35:55, 45:75][mask[35:55, 45:75]] = PAINT["red"]
    said = say(image, look_at(mask))
    assert {"mostly brown", "with brown", "with red", "red above"} <= said
    assert "mostly red" not in said


def test_stripes_keep_both_colours():
    mask = draw_disc(radius=40)
    image = paint(mask, "yellow", "green")
    stripes = mask & (np.arange(120) // 8 % 2 == 0)
    image[stripes] = PAINT["black"]
    assert {"with yellow", "with black", "two-coloured"} <= say(image, look_at(mask))


def test_two_discs_are_measured_together():
    mask = np.concatenate([draw_disc(60, 20), draw_disc(60, 20)], axis=1)
    image = paint(mask, "red", "white")
    image[:, 60:][mask[:, 60:]] = PAINT["blue"]
    assert {"with red", "two-coloured", "on white"} <= say(image, look_at(mask))


def test_a_colour_of_the_surroundings_is_not_the_subjects():
    """The cells cover twice the disc: what is sky in them must not make it blue."""
    disc, around = draw_disc(radius=20), draw_disc(radius=32)
    said = say(paint(disc, "black", "blue"), look_at(around))
    assert "mostly black" in said
    assert "mostly blue" not in said


def test_size_is_that_of_the_subject():
    for radius, is_large in ((20, False), (50, True)):
        mask = draw_disc(radius=radius)
        said = say(paint(mask, "red", "white"), look_at(mask))
        assert ("large in the picture" in said) == is_large


def test_a_large_photograph_says_what_its_thumbnail_says():
    mask = draw_disc(side=8 * LONGEST_SIDE_PX, radius=200)
    large = paint(mask, "orange", "green")
    small = np.asarray(Image.fromarray(large).resize((LONGEST_SIDE_PX,) * 2, Image.Resampling.BOX))
    subject = look_at(mask)
    np.testing.assert_allclose(
        measure_subject(large, subject), measure_subject(small, subject), atol=1e-6
    )


def test_without_a_subject_nothing_is_known():
    image = paint(draw_disc(), "red", "green")
    for subject in (no_subject(9, 9), find(np.ones((9, 9)), confidence=0.05)):
        assert np.isnan(measure_subject(image, subject)).all()
        assert np.isnan(measure_colours(image, subject)).all()


@quick
@given(images, grids, st.sampled_from([0.0, 0.4, 1.0]))
def test_scores_are_probabilities_or_unknown(image, grid, confidence):
    subject = find(grid, confidence)
    scores, shares = measure_subject(image, subject), measure_colours(image, subject)
    assert scores.shape == (len(NAMES),)
    assert shares.shape == (len(COLOURS),)
    assert scores.dtype == shares.dtype == np.float32
    for values in (scores, shares):
        assert np.isnan(values).all() or ((values >= 0) & (values <= 1)).all()
    assert np.isnan(scores).all() == np.isnan(shares).all()


@quick
@given(st.integers(0, 10**6), st.sampled_from(COLOURS), st.sampled_from(COLOURS))
def test_a_mirror_image_has_the_same_words(seed, colour, ground):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:70, :90]
    mask = np.hypot(x - rng.uniform(20, 70), y - rng.uniform(20, 50)) < rng.uniform(8, 25)
    noise = rng.integers(-20, 20, (70, 90, 3))
    image = np.clip(paint(mask, colour, ground) + noise, 0, 255).astype(np.uint8)
    subject = look_at(mask)
    mirrored = subject._replace(scores=subject.scores[:, ::-1])
    np.testing.assert_allclose(
        measure_subject(image[:, ::-1], mirrored), measure_subject(image, subject), atol=0.02
    )


@quick
@given(images, grids)
def test_grey_pictures_have_no_colours(image, grid):
    grey = np.repeat(image[..., :1], 3, axis=2)
    shares = measure_colours(grey, find(grid))
    chromatic = [k for k, c in enumerate(COLOURS) if c not in ("black", "grey", "white")]
    assert np.isnan(shares).all() or not shares[chromatic].any()


@quick
@given(images, grids)
def test_mostly_is_never_said_without_with(image, grid):
    scores = dict(zip(NAMES, measure_subject(image, find(grid)).tolist(), strict=True))
    for colour in COLOURS:
        if scores.get(f"with {colour}", 1.0) < 0.5:
            assert not scores[f"mostly {colour}"] >= 0.5


@pytest.mark.parametrize(
    "image", [np.zeros((5, 5), np.uint8), np.zeros((5, 5, 3)), np.zeros((0, 5, 3), np.uint8)]
)
def test_bad_pictures_are_refused(image):
    with pytest.raises(InvalidArgument, match="Convert it to RGB first"):
        measure_subject(image, find(np.ones((3, 3))))


def test_the_first_colour_of_a_kind_is_the_one_that_tells_it_from_others():
    brown, blue = COLOURS.index("brown"), COLOURS.index("blue")
    shares = np.zeros((40, len(COLOURS)))
    shares[:, brown] = 0.35
    shares[30:, blue] = 0.3
    shares[0] = np.nan
    kinds = np.repeat(["a", "b", "c", "d"], 10)
    names, weights = rank_colours(shares, kinds)
    assert names.tolist() == ["a", "b", "c", "d"]
    assert weights.argmax(axis=1).tolist() == [brown, brown, brown, blue]
    shuffled = np.random.default_rng(0).permutation(40)
    np.testing.assert_allclose(rank_colours(shares[shuffled], kinds[shuffled])[1], weights)


def test_a_kind_of_which_nothing_is_known_has_no_colour():
    shares = np.full((3, len(COLOURS)), np.nan)
    shares[:2] = 0.1
    _, weights = rank_colours(shares, ["a", "a", "b"])
    assert (weights[0] > 0).all()
    assert not weights[1].any()


def test_shares_of_another_number_of_specimens_are_refused():
    with pytest.raises(InvalidArgument, match="a row for each of the 3 specimens"):
        rank_colours(np.zeros((2, 11)), ["a", "b", "c"])
