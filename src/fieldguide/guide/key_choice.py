"""Which key a guide has: the one that was asked for, or the cheapest that is about as good.

``auto`` tries a few and takes one by what held-out specimens say
(:mod:`fieldguide.identify.auto_key`). A key by name may have parameters, as of its class:
``relaxed:rho=0.9,C=10``; those of its search as ``relaxed:search__tolerance=2``.
"""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from fieldguide._check import check_choice
from fieldguide.errors import GuideError
from fieldguide.guide.workspace import Settings
from fieldguide.identify import (
    AttentionTreeClassifier,
    Choice,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
    Shortlist,
    choose_key,
    tell_points,
)

AUTO = "auto"
KEYS: dict[str, Any] = {
    "ova": OneVsAllClassifier,
    "ovo": OneVsOneClassifier,
    "attention": AttentionTreeClassifier,
    "relaxed": RelaxedHierarchyClassifier,
    "cut": NormalizedCutTreeClassifier,
    "confusion": ConfusionTreeClassifier,
    "dag": DAGSVMClassifier,
}
WORDED = (AUTO, "relaxed")  # that can prefer splits which a word tells apart
KERNELS = (
    *("linear", "chi2", "intersection", "jensen_shannon", "hellinger", "rbf"),
    "exponential_chi2",
)
KEY_C = 1.0  # best of 0.1, 0.3, 1, 3 on Caltech-101 and CUB-200 photographs, held out
# That a guide says by itself, or that no file can hold.
_OWN = ("n_jobs", "random_state", "kernel", "words", "node_classifier")
_WORDS = {"none": None, "true": True, "false": False}


class Spec(NamedTuple):
    """A key by name, with parameters."""

    name: str
    parameters: dict[str, Any]


def read_spec(text: str) -> Spec:
    """Return what ``relaxed:rho=0.9,C=10`` asks for; GuideError for what no key has."""
    name, _, rest = text.partition(":")
    check_choice("a guide", "key", name, (AUTO, *KEYS))
    known = list_parameters(name)
    parameters: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in rest.split(","))):
        parameter, is_given, value = (piece.strip() for piece in part.partition("="))
        if parameter not in known:
            listed = ", ".join(known) or "none"
            raise GuideError(f"The key {name!r} has no parameter {parameter!r}; it has {listed}.")
        if not is_given or not value:
            raise GuideError(
                f"The parameter {parameter!r} of the key {name!r} needs a value, such as "
                f"{name}:{parameter}=1."
            )
        parameters[parameter] = _read_value(value)
    return Spec(name, parameters)


def list_parameters(name: str) -> list[str]:
    """Return the parameters that a key of a guide may be given."""
    if name == AUTO:
        return ["C", "gamma"]
    own = [p for p in signature(KEYS[name].__init__).parameters if p not in ("self", *_OWN)]
    return own + [f"search__{p}" for p in Shortlist().get_params() if "search" in own]


def check_key(settings: Settings) -> None:
    """Refuse a key that cannot be, before anything is measured."""
    spec = read_spec(settings.key)
    check_choice("a guide", "kernel", settings.kernel, KERNELS)
    for option, value in (("key_cost", settings.key_cost), ("key_loss", settings.key_loss)):
        if value is not None and not 0 <= value <= 1:
            raise GuideError(f"`{option}` is a share from 0 to 1; got {value:g}.")
    if settings.key_cost is not None and settings.key_loss is not None:
        raise GuideError("`key_cost` and `key_loss` say the same in two ways; give one of them.")
    if _limits(settings) and spec.name != AUTO and "search" not in list_parameters(spec.name):
        raise GuideError(
            f"`key_cost` and `key_loss` go with a key that has a list to shorten: auto or a tree; "
            f"{spec.name!r} asks every function it has."
        )
    if settings.key_words and spec.name not in WORDED:
        raise GuideError(
            f"`key_words` goes with a key whose splits are chosen among several: auto or relaxed; "
            f"got {spec.name!r}."
        )
    if spec.name != AUTO:
        make_key(settings).check_arguments()


def make_key(settings: Settings) -> Any:
    """Return the key that is asked for by name, not fitted."""
    spec = read_spec(settings.key)
    key = KEYS[spec.name](
        C=KEY_C, kernel=settings.kernel, n_jobs=settings.n_jobs, random_state=settings.seed
    )
    limits = {f"search__{name}": value for name, value in _limits(settings).items()}
    try:
        return key.set_params(**limits, **spec.parameters)
    except ValueError as error:  # settings of another search than the one that is asked for
        raise GuideError(f"The key {settings.key!r} cannot be made: {error}") from error


def fit_key(
    X: np.ndarray, y: np.ndarray, settings: Settings, words: np.ndarray | None = None
) -> Choice:
    """Return the fitted key of a guide, and which were tried.

    ``words`` is how often each kind shows each word, (n_kinds, n_words), for ``key_words``.
    """
    spec = read_spec(settings.key)
    if spec.name != AUTO:
        key = make_key(settings)
        if words is not None:
            key.set_params(words=words)
        return tell_points(key.fit(X, y))
    given = {"C": KEY_C, "kernel": settings.kernel, **_limits(settings), **spec.parameters}
    return choose_key(
        *(X, y),
        **given,
        n_jobs=settings.n_jobs,
        random_state=settings.seed,
        words=words,
        device="cpu"
        if settings.device == "cpu"
        else "auto",  # the network has said if there is none
    )


def _limits(settings: Settings) -> dict[str, float]:
    if settings.key_cost is not None:
        return {"max_cost": settings.key_cost}
    return {} if settings.key_loss is None else {"max_loss": settings.key_loss}


def _read_value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
