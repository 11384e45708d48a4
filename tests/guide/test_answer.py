"""The answer as plain data: every field, rounded once, in a form that JSON can hold."""

import json
from dataclasses import fields
from typing import Annotated, get_origin, get_type_hints

import numpy as np
import pytest

from fieldguide.chapters import OPTIONAL
from fieldguide.guide.answer import (
    SCHEMA,
    Answer,
    AnswerBranch,
    NamedKind,
    Neighbour,
    list_records,
    plain_fields,
    to_plain,
)
from fieldguide.guide.chapters import load_chapter
from fieldguide.guide.views import KeyPath


def test_every_field_says_what_it_means():
    parts = [load_chapter(name).ANSWER for name in OPTIONAL]
    found = [record for part in (Answer, *parts) for record in list_records(part)]
    assert {Answer, NamedKind, Neighbour, KeyPath, *parts} <= set(found)
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
    assert list(plain)[1:] == [*(f.name for f in fields(Answer))][:-1] + list(OPTIONAL)
    assert plain["kinds"][0] == {"name": "disc", "probability": round(answer.kinds[0][1], 4)}
    assert plain["branch"]["sentence"] == small_guide.sentence(answer.branch.id)
    near = small_guide.specimen(answer.neighbours[0].id)
    assert plain["neighbours"][0] == {"id": near.id, "path": near.path, "kind": near.kind}
    assert plain["path"]["end"] == ["disc"]
    said = [name for name in OPTIONAL if plain[name] is not None]  # a walk needs marks, or couplets
    assert {*OPTIONAL} - {"walk"} <= {*said}
    assert {plain[name].get("kind", "disc") for name in said} == {"disc"}


def test_optional_parts_are_null_where_the_guide_has_none():
    plain = Answer((), AnswerBranch(0, "the whole collection")).to_plain()
    assert plain["kinds"] == []
    assert plain["path"] is None
    assert all(plain[name] is None for name in OPTIONAL)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.123456), 0.1235),
        (np.int64(3), 3),
        (True, True),
        (1.0, 1.0),
        (((0.12346, 1.0),), [[0.1235, 1.0]]),
        ({"wren": 0.12346}, {"wren": 0.1235}),
    ],
)
def test_numbers_are_rounded_in_one_place(value, plain):
    made = to_plain(value)
    assert made == plain
    assert type(made) is type(plain)


def test_a_caller_may_ask_for_more_digits():
    record = {"a": (0.1234567, NamedKind("wren", 0.1234567))}
    for n_digits, number in ((6, 0.123457), (None, 0.1234567)):
        kind = {"name": "wren", "probability": number}
        assert to_plain(record, n_digits) == {"a": [number, kind]}


def test_answers_of_one_image_are_equal(small_guide, blobs):
    first, second = small_guide.identify([blobs[0][1], blobs[0][1]])
    assert first == second
