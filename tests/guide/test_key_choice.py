"""A key by name with parameters, and what cannot be asked for."""

import pytest

from fieldguide.errors import FieldguideError
from fieldguide.guide.key_choice import AUTO, KEYS, check_key, list_parameters, make_key, read_spec
from fieldguide.guide.workspace import Settings


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
    ],
)
def test_what_cannot_be_is_one_sentence(settings, match):
    with pytest.raises(FieldguideError, match=match) as error:
        check_key(Settings(**settings))
    assert "\n" not in str(error.value)


def test_limits_go_to_the_key():
    assert make_key(Settings(key="relaxed", key_cost=0.2)).max_cost == 0.2
    assert make_key(Settings(key="relaxed", key_loss=0.02)).max_loss == 0.02
    assert make_key(Settings(key="relaxed", kernel="chi2")).kernel == "chi2"
    for settings in (Settings(), Settings(key="auto:C=cv", key_cost=0.1)):
        check_key(settings)
