"""Image to numbers: each column has a name and, where it has one, a window of the image."""

from fieldguide.features.deep import DeepFeatures

__all__ = ["DeepFeatures"]
