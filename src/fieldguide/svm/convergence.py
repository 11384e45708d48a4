"""One warning for problems that stopped before the gap that was asked for."""

import warnings
from typing import Any

import numpy as np

from fieldguide.errors import FieldguideWarning


def warn_open_gaps(owner: str, gaps: Any, tol: float, remedy: str) -> None:
    """Warn once if any relative duality gap is larger than ``tol``; solvers themselves never do.

    Parameters
    ----------
    owner : str
        The estimator whose ``fit`` calls this; the warning points at the caller of ``fit``.
    gaps : float or ndarray
        What each problem reached.
    tol : float
        What was asked for.
    remedy : str
        What to change, as the end of a sentence.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_open_gaps("OneVsAll", np.array([1e-4, 0.02]), 1e-3, "raise max_iter (now 10)")
    >>> print(caught[0].message)  # doctest: +NORMALIZE_WHITESPACE
    OneVsAll stopped at a relative duality gap of 0.02 where 0.001 was asked for (1 of 2 problems);
    raise max_iter (now 10).
    """
    gaps = np.atleast_1d(np.asarray(gaps, dtype=np.float64))
    is_open = ~(gaps <= tol)  # NaN is open
    if not is_open.any():
        return
    count = f" ({is_open.sum()} of {len(gaps)} problems)" if len(gaps) > 1 else ""
    warnings.warn(
        f"{owner} stopped at a relative duality gap of {gaps[is_open].max():.2g} where {tol:.2g} "
        f"was asked for{count}; {remedy}.",
        FieldguideWarning,
        stacklevel=3,
    )
