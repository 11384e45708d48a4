"""Measures of what a guide is worth: functions of arrays."""

from fieldguide.metrics.accuracy import Reliability, mean_class_accuracy, measure_reliability
from fieldguide.metrics.localization import LocalizationCurve, corloc, localization_curve
from fieldguide.metrics.trees import ancestor_matrix, average_edge_error, locality, purity

__all__ = [
    "LocalizationCurve",
    "Reliability",
    "ancestor_matrix",
    "average_edge_error",
    "corloc",
    "locality",
    "localization_curve",
    "mean_class_accuracy",
    "measure_reliability",
    "purity",
]
