"""What must hold of regions of a picture and of a clip alike."""

import numpy as np


def check_record(found, labels, boxes_and_pairs):
    """Compare the record of a label map with that of loops."""
    renumbered = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
    np.testing.assert_array_equal(found.labels, renumbered)
    boxes, areas, pairs = boxes_and_pairs(renumbered)
    assert found.boxes.tolist() == boxes
    assert found.areas.tolist() == areas
    assert [tuple(pair) for pair in found.adjacency.tolist()] == pairs
    assert found.n_regions == len(areas)


def share_mixed(found, pixels):
    """Return the share of pixels that are of another colour than most of their region."""
    parts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)[1].ravel()
    mixed = 0
    for k in range(found.n_regions):
        inside = parts[(found.labels == k).ravel()]
        mixed += len(inside) - np.bincount(inside).max()
    return mixed / parts.size
