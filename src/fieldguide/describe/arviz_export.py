"""Traces of chains as ArviZ reads them; ArviZ is loaded only when it is asked for."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fieldguide.errors import FieldguideError


def to_inference_data(trace: Mapping[str, np.ndarray], burn_in: int) -> Any:
    """Return what ArviZ makes of a trace (n_chains, n_draws) of each number.

    The log joint density goes to ``sample_stats`` as ``lp``, everything else to ``posterior``.
    """
    try:
        import arviz
    except ImportError:
        raise FieldguideError(
            "to_arviz needs the package arviz, which is not installed; run "
            "'pip install fieldguide[mcmc]'."
        ) from None
    draws = {name: np.array(values[:, burn_in:]) for name, values in trace.items()}
    groups = {"sample_stats": {"lp": draws.pop("log_joint")}, "posterior": draws}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups)
    return arviz.from_dict(**groups)
