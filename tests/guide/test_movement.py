"""How clips move: what is said of a clip by models that have not seen it."""

import json

import numpy as np
import pytest
from tests.clips import draw_blob_clip, write_clip, write_gif
from tests.guide.contents import contents
from tests.guide.killed_build import check_killed_build

from fieldguide.collection import Collection
from fieldguide.collection.clips import read_stretch
from fieldguide.datasets import load_specimen_clips
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide.movement import N_SHOWN, score_regions
from fieldguide.site.movement import show_movement
from fieldguide.site.render import Renderer

SETTINGS = {"features": "deep", "marks": False, "key": "ova"}


@pytest.fixture(scope="module")
def moving():
    """Six clips that fly and six that crawl."""
    drawn = load_specimen_clips(n_per_action=6, n_frames=10, size_px=64)
    chosen = np.flatnonzero(np.isin(drawn.target, [0, 2]))
    clips = [drawn.clips[i] for i in chosen]
    kinds = [drawn.target_names[drawn.target[i]] for i in chosen]
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
    assert page.count('class="outline"') == sum(frame.box is not None for frame in movement.frames)


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
        ):
            changed = json.loads(whole)
            next(iter(changed["clips"].values()))[name] = wrong
            path.write_text(json.dumps(changed))
            with pytest.raises(GuideError, match="build the guide again"):
                _ = Guide.open(moving_guide.folder).movements
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
