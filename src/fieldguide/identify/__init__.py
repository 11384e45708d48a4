"""Keys: classifiers that name the kind of a new specimen."""

from fieldguide.identify.held_out import HeldOut
from fieldguide.identify.one_vs_all import OneVsAllClassifier
from fieldguide.identify.one_vs_one import OneVsOneClassifier

__all__ = ["HeldOut", "OneVsAllClassifier", "OneVsOneClassifier"]
