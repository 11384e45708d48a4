"""Which features tell kinds apart: selectors, and the classifiers they come with."""

from fieldguide.select.additive_kernel_selector import AdditiveKernelSelector, PathPoint
from fieldguide.select.multiple_kernel import MultipleKernelClassifier

__all__ = ["AdditiveKernelSelector", "MultipleKernelClassifier", "PathPoint"]
