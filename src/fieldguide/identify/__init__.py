"""Keys: classifiers that name the kind of a new specimen."""

from fieldguide.identify.held_out import HeldOut, hold_out
from fieldguide.identify.one_vs_all import OneVsAllClassifier

__all__ = ["HeldOut", "OneVsAllClassifier", "hold_out"]
