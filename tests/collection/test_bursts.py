"""Bursts: which pictures belong together, and what is seen of them."""

import numpy as np
import pytest
from PIL import Image
from tests.clips import draw_blob_clip

from fieldguide.collection import Collection, read_picture
from fieldguide.errors import UnreadableImageError
from fieldguide.guide import Guide
from fieldguide.guide.watching import is_guide_of, take_again


def write_photo(path, pixels, date="", camera="Trap 1"):
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = camera.split()
    if date:
        exif.get_ifd(0x8769)[0x9003] = date
    Image.fromarray(pixels).save(path, exif=exif, quality=95)


@pytest.fixture
def trap(tmp_path):
    """Two bursts of one camera, pictures of another, of another minute, and of none."""
    folder, frames = tmp_path / "trap", draw_blob_clip("disc", 0, 12)
    for k in range(3):
        write_photo(folder / f"fox/b{k}.jpg", frames[k], f"2021:05:03 14:07:{10 + 2 * k:02d}")
    write_photo(folder / "fox/a.jpg", frames[3], "2021:05:03 14:07:30")  # last, whatever its name
    write_photo(folder / "fox/other.jpg", frames[4], "2021:05:03 14:07:31", "Trap 2")
    write_photo(folder / "fox/later.jpg", frames[5], "2021:05:03 14:08:00")
    write_photo(folder / "fox/none.jpg", frames[6])
    write_photo(folder / "fox/none too.jpg", frames[7])
    for k in range(2):
        write_photo(folder / f"owl/{k}.jpg", frames[8 + k], "2021:05:03 14:07:10")
    return folder


def test_pictures_of_one_camera_and_minute_are_one(trap):
    assert len(Collection.from_folder(trap)) == 10
    collection = Collection.from_folder(trap, bursts=True)
    assert [(item.path, len(item.burst)) for item in collection.items] == [
        ("fox/b0.jpg", 4),
        ("fox/later.jpg", 0),
        ("fox/none too.jpg", 0),
        ("fox/none.jpg", 0),
        ("fox/other.jpg", 0),
        ("owl/0.jpg", 2),
    ]
    assert collection.items[0].burst == ("fox/b0.jpg", "fox/b1.jpg", "fox/b2.jpg", "fox/a.jpg")
    picture, digest = collection.picture(0)
    assert [at_s for at_s, _ in picture.clip.timed] == [0, 2, 4, 20]
    assert picture.clip.seconds == 20
    assert digest == collection.digest(0)
    for path, image in zip(collection.items[0].burst, picture.images, strict=True):
        assert np.array_equal(np.asarray(image), np.asarray(read_picture(trap / path).image))
    assert collection.taken(0).date == "2021-05-03T14:07:10"


def test_a_burst_of_many_is_seen_by_eight(tmp_path):
    frames = draw_blob_clip("square", 0, 20)
    for k, frame in enumerate(frames):
        write_photo(tmp_path / f"{k:02d}.jpg", frame, f"2021:05:03 14:07:{k:02d}")
    collection = Collection.from_folder(tmp_path, bursts=True)
    before = collection.picture(0)
    assert len(before[0].images) == 8
    assert [at_s for at_s, _ in before[0].clip.timed] == [0, 2, 5, 7, 10, 12, 15, 17]
    (tmp_path / "02.jpg").write_bytes(b"\xff\xd8\xff and no more")  # not in a burst any more
    collection = Collection.from_folder(tmp_path, bursts=True)
    assert len(collection) == 2
    assert collection.items[0].stamp != Collection.from_folder(tmp_path).items[0].stamp
    with open(tmp_path / "03.jpg", "r+b") as file:  # its head is whole, its picture is not
        file.truncate(700)
    collection = Collection.from_folder(tmp_path, bursts=True)
    picture, digest = collection.picture(0)
    assert 7 <= len(picture.images) <= 8
    assert digest != before[1]


def test_a_burst_of_which_nothing_can_be_read_says_why(trap):
    for path in (trap / "owl").iterdir():
        with open(path, "r+b") as file:
            file.truncate(700)
    collection = Collection.from_folder(trap, bursts=True)
    with pytest.raises(UnreadableImageError, match="damaged or truncated"):
        collection.picture(5)


def test_a_guide_of_bursts_is_kept_up_to_date_as_one(trap, tmp_path):
    settings = {"features": "deep", "marks": False, "places": False, "key": "ova", "n_jobs": 1}
    out = tmp_path / "guide"
    guide = Guide.build(Collection.from_folder(trap, bursts=True), out, **settings)
    clips = [each.clip for each in guide.specimens(range(6))]
    assert [clip and len(clip.frames) for clip in clips] == [4, None, None, None, None, 2]
    assert is_guide_of(out, take_again(out, trap))
    write_photo(trap / "owl/2.jpg", draw_blob_clip("disc", 5, 1)[0], "2021:05:03 14:07:50")
    again = Guide.build(take_again(out, trap), out, **settings)
    assert again.about["update"] == {"measured": 1, "kept": 5, "moved": 0, "gone": 1}
    assert len(again.specimen(5).clip.frames) == 3
    frames = draw_blob_clip("square", 5, 3)
    for k, frame in enumerate(frames):
        write_photo(tmp_path / f"more/elk/{k}.jpg", frame, f"2021:06:03 14:07:{k:02d}")
    grown = Guide.open(out).add(tmp_path / "more", n_jobs=1)
    assert grown.n_specimens == 7
    assert len(grown.specimen(0).clip.frames) == 3
