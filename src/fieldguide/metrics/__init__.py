"""Measures of what a guide is worth: functions of arrays."""

from fieldguide.metrics.accuracy import mean_class_accuracy

__all__ = ["mean_class_accuracy"]
