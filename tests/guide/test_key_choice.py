"""A key by name with parameters, and what cannot be asked for."""

import numpy as np
import pytest

from fieldguide.errors import FieldguideError
from fieldguide.features import AttributeMatrix
from fieldguide.guide.key import share_words
from fieldguide.guide.key_choice import (
    AUTO,
    KEYS,
    check_key,
    fit_key,
    list_parameters,
    make_key,
    read_spec,
)
from fieldguide.guide.workspace import Settings
from fieldguide.identify import OneVsAllClassifier


def test_parameters_have_the_types_that_they_are_written_in():
    spec = read_spec("relaxed:rho=0.9, C=10,balance=none,search=greedy")
    assert spec == ("relaxed", {"rho": 0.9, "C": 10, "balance": None, "search": "greedy"})
    assert read_spec("auto") == (AUTO, {})


@pytest.mark.parametrize("name", sorted(KEYS))
def test_every_key_can_be_made(name):
    key = make_key(Settings(key=f"{name}:C=3", n_jobs=2, seed=5))
    assert isinstance(key, KEYS[name])
    assert (key.C, key.n_jobs, key.random_state) == (3, 2, 5)
    assert "kernel" not in list_parameters(name)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"key": "oak"}, "key of a guide must be"),
        ({"key": "relaxed:leaves=3"}, "has no parameter 'leaves'; it has rho"),
        ({"key": "relaxed:rho"}, "needs a value, such as relaxed:rho=1"),
        ({"key": "relaxed:rho=much"}, "rho of RelaxedHierarchyClassifier must be a number"),
        ({"key": "auto:rho=1"}, "it has C, gamma"),
        ({"key": "auto", "kernel": "round"}, "kernel of a guide must be"),
        ({"key": "ova", "key_cost": 0.2}, "'ova' asks every function"),
        ({"key": "auto", "key_cost": 0.2, "key_loss": 0.1}, "give one of them"),
        ({"key": "auto", "key_loss": 7}, "a share from 0 to 1; got 7"),
        ({"key": "ova", "key_words": True}, "auto or relaxed; got 'ova'"),
        ({"key": "attention", "key_words": True}, "auto or relaxed; got 'attention'"),
        ({"key": "relaxed:words=1"}, "has no parameter 'words'"),
    ],
)
def test_what_cannot_be_is_one_sentence(settings, match):
    with pytest.raises(FieldguideError, match=match) as error:
        check_key(Settings(**settings))
    assert "\n" not in str(error.value)


def test_limits_go_to_the_key():
    assert make_key(Settings(key="relaxed", key_cost=0.2)).search.max_cost == 0.2
    assert make_key(Settings(key="relaxed", key_loss=0.02)).search.max_loss == 0.02
    assert make_key(Settings(key="relaxed", kernel="chi2")).kernel == "chi2"
    for settings in (Settings(), Settings(key="auto:C=cv", key_cost=0.1)):
        check_key(settings)


def test_kinds_share_the_words_of_their_subjects():
    names = ("winged", "on green", "red", "wide picture", "finch")
    sources = ("annotation", "surroundings", "subject", "picture", "kind")
    scores = [[1, 1, 0.5, 1, 1], [0, 1, np.nan, 1, 1], [1, 0, 0.4, 1, 0], [0.9, 1, 1, 1, 0]]
    matrix = AttributeMatrix(np.array(scores, dtype=np.float32), names, sources)
    shares = share_words(matrix, np.array([3, 0, 1]), np.array(["owl", "finch", "finch"]))
    np.testing.assert_array_equal(shares, [[0.5, 0.5], [1, 1]])
    around = AttributeMatrix(matrix.scores[:, [1]], names[1:2], sources[1:2])
    assert share_words(around, np.array([0, 3]), np.array(["finch", "owl"])) is None


def test_words_go_to_the_key():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 10)
    X = np.eye(4)[y] + rng.normal(0, 0.2, (40, 4))
    words = np.array([[0.0], [1.0], [0.0], [1.0]])
    for key in ("relaxed", "auto"):
        settings = Settings(key=key, key_words=True, n_jobs=1)
        check_key(settings)
        fitted = fit_key(X, y, settings, words).key
        np.testing.assert_array_equal(fitted.words, words)


def test_a_tree_by_name_tells_what_it_costs_beside_one_vs_all():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 10)
    X = np.eye(8)[y] + rng.normal(0, 0.3, (80, 8))
    choice = fit_key(X, y, Settings(key="relaxed", n_jobs=1))
    flat, tree = choice.tried
    assert choice.point in tree.points
    assert choice.point.accuracy == choice.key.held_out_.accuracy
    assert flat.points[0].evaluations == 8
    assert flat.points[0].accuracy == pytest.approx(
        OneVsAllClassifier().fit(X, y).held_out_.accuracy
    )
    assert fit_key(X, y, Settings(key="ova", n_jobs=1)).tried == ()
    assert fit_key(X, y, Settings(key="relaxed:search__tolerance=1", n_jobs=1)).tried == ()
