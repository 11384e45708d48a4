"""Checks of arguments, with messages of one form: what is wrong, what is allowed, what to do."""

from collections.abc import Collection as Choices
from numbers import Integral
from typing import Any

from fieldguide.errors import InvalidArgument


def check_choice(owner: str, name: str, value: Any, allowed: Choices[Any]) -> None:
    """Refuse a ``value`` that is not one of ``allowed``."""
    if value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed)
        raise InvalidArgument(f"{name} of {owner} must be one of {choices}; got {value!r}.")


def check_number(
    owner: str, name: str, value: Any, low: float, high: float, *, integer: bool = False
) -> None:
    """Refuse a ``value`` that is not a number in [low, high]."""
    is_number = isinstance(value, int) if integer else isinstance(value, (int, float))
    if isinstance(value, bool) or not is_number or not low <= value <= high:
        what = "a whole number" if integer else "a number"
        raise InvalidArgument(
            f"{name} of {owner} must be {what} in [{low:g}, {high:g}]; got {value!r}."
        )


def check_jobs(owner: str, n_jobs: int | None) -> None:
    """Refuse a number of jobs that means nothing."""
    if n_jobs == 0:
        raise InvalidArgument(f"`n_jobs` of {owner} must be 1 or more, or -1 for all cores; got 0.")


def check_classes(y: Any) -> None:
    """Refuse an array of labels that are no classes, such as 0.5.

    Names and whole numbers always are, however few rows each of them has.
    """
    if y.dtype.kind not in "biuUS":
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)


def check_seed(owner: str, random_state: Any) -> int:
    """Return a seed from what scikit-learn takes: a whole number, a generator or None.

    None is another seed each time, drawn from numpy's global generator.
    """
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InvalidArgument(
                f"random_state of {owner} must not be negative; got {random_state!r}."
            )
        return int(random_state)
    if random_state is None:
        from sklearn.utils import check_random_state  # not needed by those who only check

        random_state = check_random_state(None)
    for draw in ("integers", "randint"):  # of numpy's newer and older generators
        if hasattr(random_state, draw):
            return int(getattr(random_state, draw)(2**31 - 1))
    raise InvalidArgument(
        f"random_state of {owner} must be a whole number or a generator; got {random_state!r}."
    )
