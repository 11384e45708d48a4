"""The answer as plain data: every field, rounded once, in a form that JSON can hold."""

import json
from dataclasses import fields
from typing import Annotated, get_origin, get_type_hints

import numpy as np
import pytest

from fieldguide.guide.answer import (
    SCHEMA,
    Answer,
    AnswerBranch,
    ImageMarks,
    NamedKind,
    Neighbour,
    list_records,
    plain_fields,
    to_plain,
)
from fieldguide.guide.views import Located, Place


def test_every_field_says_what_it_means():
    found = list_records(Answer)
    assert {Answer, NamedKind, Neighbour, Located, Place, ImageMarks} <= set(found)
    for record in found:
        hints = get_type_hints(record, include_extras=True)
        for name in plain_fields(record):
            assert get_origin(hints[name]) is Annotated, f"{record.__name__}.{name}"
            assert hints[name].__metadata__[0]


def test_plain_data_is_what_json_gives_back(small_guide, blobs):
    answer = small_guide.identify([blobs[0][1]])[0]
    plain = answer.to_plain()
    assert next(iter(plain)) == "schema"
    assert plain["schema"] == SCHEMA
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert list(plain)[1:] == [f.name for f in fields(Answer)]
    assert plain["kinds"][0] == {"name": "disc", "probability": round(answer.kinds[0][1], 4)}
    assert plain["branch"]["sentence"] == small_guide.sentence(answer.branch.id)
    near = small_guide.specimen(answer.neighbours[0].id)
    assert plain["neighbours"][0] == {"id": near.id, "path": near.path, "kind": near.kind}
    assert plain["path"] is None
    assert plain["located"]["kind"] == "disc"
    assert "heat" not in plain["marks"]


def test_the_marks_are_those_that_find_marks_finds(small_guide, blobs):
    marks = small_guide.identify([blobs[0][1]])[0].marks
    seen = small_guide.find_marks(blobs[0][1], "disc")
    assert [(m.word, m.vote, m.box) for m in marks.windows] == [
        (s.mark.word, s.vote, s.box) for s in seen.windows
    ]
    np.testing.assert_array_equal(marks.heat, seen.heat)


def test_optional_parts_are_null_where_the_guide_has_none():
    plain = Answer((), AnswerBranch(0, "the whole collection")).to_plain()
    assert plain["kinds"] == []
    assert (plain["path"], plain["located"], plain["marks"]) == (None, None, None)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.123456), 0.1235),
        (np.int64(3), 3),
        (True, True),
        (1.0, 1.0),
        (((0.12346, 1.0),), [[0.1235, 1.0]]),
    ],
)
def test_numbers_are_rounded_in_one_place(value, plain):
    made = to_plain(value)
    assert made == plain
    assert type(made) is type(plain)


def test_answers_of_one_image_are_equal(small_guide, blobs):
    first, second = small_guide.identify([blobs[0][1], blobs[0][1]])
    assert first == second
