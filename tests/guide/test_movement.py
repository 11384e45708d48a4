"""How clips move: what is said of a clip by models that have not seen it."""

import json
import re

import numpy as np
import pytest
from tests.clips import draw_blob_clip, write_clip, write_gif
from tests.guide.contents import contents
from tests.guide.killed_build import check_killed_build

from fieldguide.collection import Collection
from fieldguide.collection.clips import read_stretch
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide.movement import N_SHOWN, score_regions
from fieldguide.guide.movement_marks import choose_marks, train_held_out
from fieldguide.site.movement import movement_lines, show_movement
from fieldguide.site.render import Renderer

SETTINGS = {"features": "deep", "key": "ova"}
STEPS = {"rising": (0, -2), "crossing": (3, 0)}  # pixels to the right and down, from frame to frame


def draw_texture(rng, side_px):
    coarse = rng.integers(0, 256, (side_px // 4 + 1, side_px // 4 + 1, 3)).astype(np.uint8)
    return coarse.repeat(4, axis=0).repeat(4, axis=1)[:side_px, :side_px]


def draw_mover(kind, seed):
    """A patch that moves over a ground; every second one that crosses goes to the left."""
    rng = np.random.default_rng(seed)
    ground, patch = draw_texture(rng, 64) // 3 + 80, draw_texture(rng, 22)
    right, down = STEPS[kind][0] * (-1) ** seed, STEPS[kind][1]
    frames = []
    for t in range(10):
        x, y = 21 + round((t - 4.5) * right), 21 + round((t - 4.5) * down)
        frame = ground.copy()
        frame[y : y + 22, x : x + 22] = patch
        frames.append(frame)
    return np.stack(frames)


@pytest.fixture(scope="module")
def moving():
    """Six clips of something that rises and six of something that crosses the frame."""
    kinds = [kind for kind in STEPS for _ in range(6)]
    clips = [draw_mover(kind, i) for i, kind in enumerate(kinds)]
    return Collection.from_arrays(clips, kinds, name="moving", frames_per_s=12)


@pytest.fixture(scope="module")
def moving_guide(moving, tmp_path_factory):
    return Guide.build(moving, tmp_path_factory.mktemp("moving") / "guide", n_jobs=1, **SETTINGS)


def test_each_clip_is_named_and_has_frames(moving_guide):
    found = moving_guide.movements
    assert list(found.of_clip) == sorted(moving_guide.digests)
    assert (found.n_asked, len(found.of_clip)) == (12, 12)
    assert found.n_right >= 9
    specimens = moving_guide.specimens(range(12))
    n_right = 0
    for specimen, digest in zip(specimens, moving_guide.digests, strict=True):
        movement = found.of_clip[digest]
        n_right += movement.kind == specimen.kind
        assert len(movement.frames) == N_SHOWN
        times = [frame.at_s for frame in movement.frames]
        assert times == sorted(times)
        assert 0 <= times[0] <= times[-1] <= specimen.clip.seconds
        for frame in movement.frames:
            assert (moving_guide.folder / frame.picture).stat().st_size > 0
            if frame.box is not None:
                assert frame.box[0] < frame.box[2]
                assert frame.box[1] < frame.box[3]
    assert n_right == found.n_right
    assert any(frame.box for each in found.of_clip.values() for frame in each.frames)


def test_the_page_says_it_and_whose_word_it_is(moving_guide):
    specimen = moving_guide.specimen(0)
    shown = show_movement(moving_guide, 0, specimen)
    movement = moving_guide.movements.of_clip[moving_guide.digests[0]]
    assert movement.kind in shown.sentences[0]
    assert f"{moving_guide.movements.n_right} of 12 clips" in shown.sentences[0]
    page = dict(Renderer(moving_guide, live=False).pages())["specimen/0.html"]
    assert "How it moves" in page
    n_boxes = sum(frame.box is not None for frame in movement.frames)
    assert page.count('class="outline"') == n_boxes + len(movement.marks) == n_boxes + 1
    assert f"What sets {specimen.kind} apart by its movement, here" in page
    assert re.search(r"in 6 of 6; in 0 of 6 others; adds \+\d\.\d\d to the \+", page)


@pytest.mark.parametrize(
    ("kind", "way", "speed"), [("rising", "up", 2), ("crossing", "sideways", 3)]
)
def test_a_kind_is_set_apart_by_how_it_truly_moves(moving_guide, kind, way, speed):
    (mark,) = moving_guide.movements.marks[kind]
    assert (mark.way, mark.n_own, mark.of_own, mark.n_other, mark.of_other) == (way, 6, 6, 0, 6)
    assert 0.7 < mark.speed / (np.abs(STEPS[kind]).max() * 12 / 64) < 1.2
    shown = [each for each in moving_guide.movements.of_clip.values() if each.own_kind == kind]
    assert mark.adds == pytest.approx(np.mean([each.marks[0].adds for each in shown]), abs=1e-3)
    for movement in shown:
        (seen,) = movement.marks
        assert seen.start_s < seen.end_s
        assert (moving_guide.folder / seen.picture).stat().st_size > 0
        right, down = seen.move
        assert abs(right) > 3 * abs(down) if kind == "crossing" else -down > 3 * abs(right)
    if kind == "crossing":  # the mirror image is the same mark
        assert {np.sign(each.marks[0].move[0]) for each in shown} == {-1, 1}


def test_the_page_of_a_kind_and_the_command_say_its_movement(moving_guide):
    page = dict(Renderer(moving_guide, live=False).pages())["kind/rising.html"]
    said = "a part that moves up, about 30% of the frame a second"
    assert "What sets its movement apart" in page
    assert said in page
    assert page.count('class="outline"') >= 4
    lines = movement_lines(moving_guide, "rising")
    assert any(said in line and line.endswith("in 6 of 6; in 0 of 6 others") for line in lines)
    assert movement_lines(moving_guide, "unknown") == []


def test_what_words_add_is_the_sum_that_gave_the_answer(seed):
    rng = np.random.default_rng(seed)
    kinds = np.repeat([0, 1, 2], 7)
    rows = rng.dirichlet(np.ones(9), 21) + 0.3 * np.eye(9)[kinds]
    rows = (rows / rows.sum(axis=1, keepdims=True)).astype(np.float32)
    held_out = train_held_out(rows, kinds, seed=seed, n_jobs=1)
    every = np.arange(21)
    scores = held_out.find_scores(every)
    margins = np.empty((21, 3))
    for fold, key in enumerate(held_out.keys):
        is_left = held_out.folds == fold
        margins[is_left] = key.decision_function(rows[is_left])
    np.testing.assert_array_equal(margins.argmax(axis=1), held_out.answer)
    np.testing.assert_allclose(margins[every, kinds], scores)
    added = sum(scores - held_out.find_scores(every, np.eye(9, dtype=bool)[k]) for k in range(9))
    constant = held_out.find_scores(every, np.full(9, True))
    np.testing.assert_allclose(added, scores - constant, atol=1e-5)


def test_what_does_not_add_to_the_answer_is_no_mark():
    kinds = np.repeat([0, 1], 10)
    rows = np.where(np.stack([kinds == 0, kinds == 1], axis=1), [0.4, 0.4], 0.0)
    rows = np.column_stack([rows, np.full(20, 0.6)]).astype(np.float32)
    told = train_held_out(rows, kinds, seed=0, n_jobs=1)
    found = choose_marks(np.eye(3, dtype=bool), told)
    assert [[mark.passed.column for mark in each] for each in found] == [[0], [1]]
    turned = [train_held_out(rows, 1 - kinds, seed=0, n_jobs=1).keys[k] for k in range(5)]
    assert choose_marks(np.eye(3, dtype=bool), told._replace(keys=turned)) == [[], []]


def test_the_second_build_takes_it_over_and_a_killed_one_ends_the_same(
    moving, moving_guide, tmp_path
):
    before = contents(moving_guide.folder)
    steps = []
    settings = {"n_jobs": 1, "progress": lambda *now: steps.append(now[0]), **SETTINGS}
    Guide.build(moving, moving_guide.folder, **settings)
    assert "looking at movement" not in steps
    assert contents(moving_guide.folder) == before
    step = "looking at movement"
    check_killed_build(moving, moving_guide, tmp_path / "killed", step, 4, step, **SETTINGS)


def test_a_stranger_s_movements_are_checked(moving_guide):
    path = Guide.open(moving_guide.folder).edition / "models/movement.json"
    whole = path.read_text()
    values = json.loads(whole)
    first = next(iter(values["clips"].values()))
    try:
        for name, wrong in (
            ("frames", [[0, "pictures/../guide.json", None]]),
            ("frames", [[0, first["frames"][0][1], [0, 0, 2, 1]]]),
            ("confidence", 3),
            ("marks", [[7, *first["marks"][0][1:]]]),
            ("marks", [[0, 0.1, 0, 1, "pictures/../guide.json", [0, 0, 1, 1], [0, 0]]]),
        ):
            changed = json.loads(whole)
            next(iter(changed["clips"].values()))[name] = wrong
            path.write_text(json.dumps(changed))
            with pytest.raises(GuideError, match="build the guide again"):
                _ = Guide.open(moving_guide.folder).movements
        for clip in values["clips"].values():  # as it was before there were marks
            for name in ("own_kind", "score", "marks"):
                del clip[name]
        del values["marks"]
        path.write_text(json.dumps(values))
        assert Guide.open(moving_guide.folder).movements.n_right == moving_guide.movements.n_right
    finally:
        path.write_text(whole)


def test_a_region_is_scored_by_models_that_have_not_seen_its_clip(seed):
    """Each kind has one region that is its own; no clip changes what is said of its fold."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b", "c"], 6)
    bags = []
    for k in np.repeat(range(3), 6):
        bag = rng.dirichlet(np.ones(8), 5)
        bag[k] = np.eye(8)[k] * 0.9 + 0.0125
        bags.append(bag.astype(np.float32))
    scores = score_regions(bags, y, 1)
    for i, each in enumerate(scores):
        assert each.argmax() == i // 6
    other = [bag.copy() for bag in bags]
    other[0] = rng.dirichlet(np.ones(8), 5).astype(np.float32)  # of fold 0, as 3, 6 and 9 are
    again = score_regions(other, y, 1)
    for i in (3, 6, 9):
        np.testing.assert_array_equal(again[i], scores[i])
    assert any(not np.array_equal(again[i], scores[i]) for i in (1, 2, 4))


def test_a_stretch_is_two_seconds_around_a_moment(tmp_path):
    greys = np.repeat(np.arange(100, dtype=np.uint8)[:, None, None, None] * 2, 3, axis=3)
    frames = np.broadcast_to(greys, (100, 200, 160, 3))
    write_clip(tmp_path / "a.mp4", frames, rate=25)
    found = read_stretch(tmp_path / "a.mp4", 3.0)
    assert found.frames.shape == (17, 128, 102, 3)  # every third of 25 frames a second
    assert 2.0 <= found.times[0] < found.times[-1] <= 4.0
    shown = found.frames.mean(axis=(1, 2, 3))
    np.testing.assert_allclose(shown, np.array(found.times) * 50, atol=6)
    write_gif(tmp_path / "b.gif", draw_blob_clip("disc", 0, 30))
    assert read_stretch(tmp_path / "b.gif", 0.0).times == pytest.approx(np.arange(21) / 10)
    write_clip(tmp_path / "long.mkv", frames[:, :16, :16], rate=1, gop=1)
    assert read_stretch(tmp_path / "long.mkv", 60.0).times == (59, 60, 61)
