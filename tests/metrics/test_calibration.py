"""The expected calibration error against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.errors import FieldguideError
from fieldguide.metrics import measure_reliability

ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(ANSWERS, st.integers(1, 20))
def test_it_is_the_mean_over_bins(answers, n_bins):
    told = measure_reliability([p for p, _ in answers], [r for _, r in answers], n_bins)
    expected = 0.0
    for k in range(n_bins):
        inside = [a for a in answers if min(int(a[0] * n_bins), n_bins - 1) == k]
        if inside:
            p, r = np.mean([a[0] for a in inside]), np.mean([a[1] for a in inside])
            expected += len(inside) / len(answers) * abs(p - r)
    assert told.error == pytest.approx(expected)
    assert told.n_answers.sum() == len(answers)


@pytest.mark.parametrize(("sure", "right"), [([], []), ([0.5], [True, False]), ([1.5], [True])])
def test_bad_input_is_one_sentence(sure, right):
    with pytest.raises(FieldguideError, match="measure_reliability"):
        measure_reliability(sure, right)
