"""Peer: scipy's linkage, which holds the matrix of all distances."""

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist


def heights(rows: np.ndarray, method: str) -> np.ndarray:
    """Return the merge heights in squared distance, as AgglomerativeTree measures them."""
    if method == "average":
        return linkage(pdist(rows, "sqeuclidean"), "average")[:, 2]
    return linkage(rows, "ward")[:, 2] ** 2 / 2
