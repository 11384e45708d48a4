"""Peer: cleanlab, given the same held-out probabilities and labels."""

import numpy as np

RANKINGS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")


def find_reason() -> str | None:
    """Return why it cannot be run; None where it can."""
    try:
        import cleanlab  # noqa: F401
    except ImportError:
        return "cleanlab is not installed (pip install cleanlab)"
    return None


def rank_labels(label: np.ndarray, probability: np.ndarray, method: str) -> np.ndarray:
    """Return rows by one of its scores, the most doubtful first."""
    from cleanlab.rank import get_label_quality_scores

    score = get_label_quality_scores(label, probability, method=method)
    return np.argsort(score, kind="stable")


def list_labels(label: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return the rows that it lists by default (pruning by the noise rates of confident joints)."""
    from cleanlab.filter import find_label_issues

    return np.flatnonzero(find_label_issues(label, probability, n_jobs=1))
