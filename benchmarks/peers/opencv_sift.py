"""Peer: OpenCV's SIFT at given windows, upright, on one thread.

A keypoint's size is the diameter of a circle and a cell of its descriptor 1.5 of it wide. In octave
0 the picture is taken for one of blur 0.5 px and brought to 1.6, whatever the size.
"""

import cv2
import numpy as np

BLUR_PX = float(np.sqrt(1.6**2 - 0.5**2))


def make_keypoints(frames: np.ndarray) -> list[cv2.KeyPoint]:
    """Return a keypoint for each window (x, y, side of its 4 × 4 cells)."""
    return [cv2.KeyPoint(float(x), float(y), float(side / 6), 0.0) for x, y, side in frames]


def describe(grey: np.ndarray, keypoints: list[cv2.KeyPoint]) -> np.ndarray:
    """Return the descriptors of an 8-bit picture, (n, 128)."""
    kept, descriptors = cv2.SIFT_create().compute(grey, keypoints)
    if len(kept) != len(keypoints):
        raise RuntimeError("OpenCV has left out keypoints.")
    return descriptors


def use_one_thread() -> None:
    cv2.setNumThreads(1)
