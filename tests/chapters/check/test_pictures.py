"""Measures of pictures: blur, light, and the limits."""

import numpy as np
import pytest
from PIL import Image, ImageFilter

from fieldguide.chapters.check.judging import (
    LEAST_BRIGHTEST,
    LEAST_SHARPNESS,
    judge_pictures,
    judge_subjects,
)
from fieldguide.chapters.check.small import SIDE, WIDTH, measure_picture, measure_sharpness
from fieldguide.datasets import load_specimens
from fieldguide.guide.views import Specimen


@pytest.fixture(scope="module")
def drawn():
    """A specimen of each kind."""
    return [Image.fromarray(image) for image in load_specimens(n_per_kind=1).images]


def sharpness(images):
    return np.array([measure_sharpness(np.asarray(image.convert("L"))) for image in images])


def make_specimen(i, size=(200, 200)):
    return Specimen(i, f"{i}.jpg", None, *size, "s.jpg", "s.jpg", 0, None, None)


def test_drawings_are_sharp_and_blur_is_seen(drawn):
    assert (sharpness(drawn) > LEAST_SHARPNESS).all()
    for blur_px in (1.5, 3):
        blurred = [image.filter(ImageFilter.GaussianBlur(blur_px)) for image in drawn]
        assert (sharpness(blurred) < LEAST_SHARPNESS).all()


def test_plain_surroundings_do_not_matter(drawn):
    for image in drawn[:6]:
        framed = Image.new("RGB", (image.width * 2, image.height * 2), "white")
        framed.paste(image, (image.width // 2, image.height // 2))
        assert measure_sharpness(np.asarray(framed.convert("L"))) > LEAST_SHARPNESS


def test_small_and_blank_pictures_are_not_called_blurred():
    assert measure_sharpness(np.zeros((20, 400), np.uint8)) == 1
    assert measure_sharpness(np.full((200, 200), 90, np.uint8)) == 1


def test_the_brightest_hundredth_counts():
    values = np.zeros((100, 100, 3), np.uint8)
    values[:1, :50] = 255  # half of one in a hundred
    assert measure_picture(Image.fromarray(values))[2] == 0
    values[:2] = 200
    assert measure_picture(Image.fromarray(values))[2] == 200


def test_the_small_form_is_the_picture(drawn):
    pixels, _, _ = measure_picture(drawn[0])
    assert pixels.shape == (WIDTH,)
    grey = pixels[: SIDE * SIDE].reshape(SIDE, SIDE).astype(float)
    wanted = np.asarray(drawn[0].convert("L").resize((SIDE, SIDE), Image.Resampling.BOX), float)
    assert np.corrcoef(grey.ravel(), wanted.ravel())[0, 1] > 0.98


def test_limits():
    specimens = [make_specimen(0), make_specimen(1), make_specimen(2, (300, 20)), make_specimen(3)]
    sharp = np.array([LEAST_SHARPNESS, LEAST_SHARPNESS / 2, 1, 0.1])
    bright = np.array([255, 255, LEAST_BRIGHTEST, LEAST_BRIGHTEST / 4])
    found = judge_pictures(specimens, sharp, bright)
    assert [(f.problem, f.specimen, round(f.confidence, 2)) for f in found] == [
        ("blurred", 1, 0.5),
        ("tiny", 2, 1.0),
        ("dark", 3, 0.75),
    ]
    assert "300 × 20" in found[1].detail


def test_pictures_without_a_subject():
    # Of these the limit is 0.48 − 7 (0.51 − 0.48) = 0.27.
    confidence = np.array([0.45, 0.48, 0.51, 0.54, 0.135])
    found = judge_subjects([make_specimen(i) for i in range(5)], confidence, can_compare=True)
    assert [(f.specimen, f.confidence) for f in found] == [(4, pytest.approx(0.5))]


@pytest.mark.parametrize("can_compare", [False, True])
def test_a_picture_in_which_nothing_stands_out_is_listed_in_any_collection(can_compare):
    confidence = np.array([0.45, 0.0, 0.51, 0.5])
    specimens = [make_specimen(i) for i in range(4)]
    (found,) = judge_subjects(specimens, confidence, can_compare=can_compare)
    assert (found.specimen, found.confidence) == (1, 1.0)
    assert found.detail == "nothing stands out in it"


def test_too_few_pictures_are_not_compared():
    specimens = [make_specimen(i) for i in range(4)]
    confidence = np.array([0.45, 0.01, 0.51, 0.5])
    assert judge_subjects(specimens, confidence, can_compare=False) == []


def test_where_all_have_a_subject_none_is_listed():
    confidence = np.random.default_rng(0).normal(0.5, 0.04, 2000)
    assert (
        judge_subjects([make_specimen(i) for i in range(2000)], confidence, can_compare=True) == []
    )


def test_many_empty_pictures_are_listed_and_not_taken_for_usual():
    rng = np.random.default_rng(0)
    confidence = np.concatenate([rng.normal(0.5, 0.03, 70), rng.normal(0.1, 0.03, 30)])
    found = judge_subjects([make_specimen(i) for i in range(100)], confidence, can_compare=True)
    assert [each.specimen for each in found] == list(range(70, 100))


def test_pictures_that_are_many_times_the_same_do_not_make_the_others_empty():
    confidence = np.r_[np.full(40, 0.5), np.linspace(0.47, 0.5, 60)]
    assert (
        judge_subjects([make_specimen(i) for i in range(100)], confidence, can_compare=True) == []
    )
