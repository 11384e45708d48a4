"""When and where: EXIF that Pillow wrote, in every format, and EXIF that is damaged."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.clock import within_cpu_seconds

from fieldguide.collection import Taken, read_picture
from fieldguide.collection.headers import MAX_PARTS
from fieldguide.collection.images import read_header
from fieldguide.collection.taken import NOTHING, read_taken

_EXIF, _GPS = 0x8769, 0x8825
_KONSTANZ = {1: "N", 2: (47.0, 39.0, 36.0), 3: "E", 4: (9.0, 10.0, 30.0)}
_DAY = {0x9003: "2021:05:03 14:07:09"}


def _image_file(exif=None, gps=None, form="JPEG", **options):
    """Return an image file with tags as Pillow writes them."""
    tags = Image.Exif()
    tags[0x010F] = "a camera"  # Pillow writes no directories below an empty one
    for directory, values in ((_EXIF, exif), (_GPS, gps)):
        if values:
            tags[directory] = values
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "teal").save(file, form, exif=tags.tobytes(), **options)
    return file.getvalue()


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_date_and_place_are_read_in_every_format(form):
    data = _image_file(_DAY | {0x9011: "+02:00"}, _KONSTANZ, form)
    expected = Taken("2021-05-03T14:07:09+02:00", 47.66, 9.175)
    assert read_taken(data) == expected
    assert read_picture(data).taken == expected
    assert read_header(data) == expected


@pytest.mark.parametrize(
    ("tags", "date"),
    [
        (_DAY, "2021-05-03T14:07:09"),
        (_DAY | {0x9011: "summer"}, "2021-05-03T14:07:09"),
        ({0x9003: "2021:05:03"}, "2021-05-03"),
        ({0x9004: "2021:05:04 01:02:03", 0x9012: "-09:30"}, "2021-05-04T01:02:03-09:30"),
        ({0x9003: "    :  :     :  :  ", 0x9004: "2021:05:04 01:02:03"}, "2021-05-04T01:02:03"),
        ({0x9003: "0000:00:00 00:00:00"}, None),
        ({0x9003: "0001:01:01 00:00:00"}, None),
        ({0x9003: "2021:13:03 14:07:09"}, None),
        ({0x9003: "2021:02:30 14:07:09"}, None),
        ({0x9003: "2021:05:03 14:77:09"}, None),
        ({0x9003: 2021}, None),
        ({0x0132: "2021:05:03 14:07:09"}, None),  # when the file was last changed
    ],
)
def test_dates_are_those_of_the_picture_or_missing(tags, date):
    assert read_taken(_image_file(tags)).date == date


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({1: "S", 3: "W"}, (-47.66, -9.175)),
        ({2: (47.5,), 4: (9.25,)}, (47.5, 9.25)),
        ({1: "X"}, None),
        ({1: None}, None),
        ({2: (91.0, 0.0, 0.0)}, None),
        ({4: (181.0, 0.0, 0.0)}, None),
        ({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)}, None),
        ({4: None}, None),
    ],
)
def test_places_are_whole_and_on_the_earth_or_missing(changed, place):
    tags = {tag: value for tag, value in (_KONSTANZ | changed).items() if value is not None}
    taken = read_taken(_image_file(gps=tags))
    assert (taken.latitude, taken.longitude) == (place or (None, None))


def test_a_fraction_of_nothing_is_no_place():
    data = _image_file(gps=_KONSTANZ)
    seconds = (36).to_bytes(4, "big") + (1).to_bytes(4, "big")
    if seconds not in data:
        seconds = (36).to_bytes(4, "little") + (1).to_bytes(4, "little")
    assert data.count(seconds) == 1
    taken = read_taken(data.replace(seconds, bytes(8)))
    assert taken == NOTHING


def test_a_picture_without_tags_says_nothing():
    assert read_taken(_image_file()) == NOTHING
    assert read_header(b"no picture at all") == NOTHING


@given(st.data())
def test_damage_costs_neither_time_nor_picture(data):
    good = _image_file(_DAY, _KONSTANZ)
    start, end = good.index(b"Exif"), good.index(b"\xff\xdb")
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 12))):
        changed[data.draw(st.integers(start, end - 1))] = data.draw(st.integers(0, 255))
    taken = read_taken(bytes(changed))
    assert taken.date is None or taken.date[4] == "-"
    assert (taken.latitude is None) == (taken.longitude is None)
    assert taken.latitude is None or -90 <= taken.latitude <= 90


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data):
    for head in (b"II*\0", b"MM\0*", b"\xff\xd8\xff\xe1", b"RIFF0000WEBP", b"\x89PNG\r\n\x1a\n"):
        assert isinstance(read_taken(head + data), Taken)


def test_directories_that_point_at_themselves_end():
    entry = b"\x69\x87\4\0\1\0\0\0\x08\0\0\0"
    table = (65_535).to_bytes(2, "little") + entry * 2 * MAX_PARTS
    with within_cpu_seconds(1):
        assert read_taken(b"II*\0\x08\0\0\0" + table) == NOTHING


def test_the_caption_is_the_sentence_in_the_file():
    xmp = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description><dc:description><rdf:Alt>'
        "<rdf:li>A grey heron&#10;in the reeds.</rdf:li></rdf:Alt></dc:description>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    data = _image_file(xmp=xmp.encode())
    assert read_header(data).caption == "A grey heron in the reeds."
    assert read_picture(data).taken.caption == "A grey heron in the reeds."
