import warnings

import numpy as np
import pytest

from fieldguide.errors import FieldguideWarning
from fieldguide.svm import warn_open_gaps


def test_one_warning_says_the_worst_the_wish_the_count_and_the_knob():
    def fit():
        warn_open_gaps("Key", np.array([0.5, 1e-4, 2e-3]), 1e-3, "raise max_iter (now 7)")

    with pytest.warns(FieldguideWarning) as caught:
        fit()
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "Key stopped at a relative duality gap of 0.5 where 0.001 was asked for "
        "(2 of 3 problems); raise max_iter (now 7)."
    )
    assert caught[0].filename == __file__


def test_closed_gaps_are_silent_and_nan_is_not_closed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_open_gaps("Key", np.array([1e-3, 0.0]), 1e-3, "wait")
        warn_open_gaps("Key", 1e-4, 1e-3, "wait")
        warn_open_gaps("Key", np.empty(0), 1e-3, "wait")
    with pytest.warns(FieldguideWarning, match="gap of nan where"):
        warn_open_gaps("Key", [0.0, np.nan], 1e-3, "wait")
