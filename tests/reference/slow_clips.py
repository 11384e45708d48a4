"""Descriptors, regions and ranking of clips, slow and obvious: loops over pixels."""

import numpy as np


def tent_bins(angle, n):
    """Return the two bins of an angle in [0, 1) turns and their shares."""
    at = angle * n
    low = int(np.floor(at))
    return ((low % n, 1 - (at - low)), ((low + 1) % n, at - low))


def describe_block(frames, flow, corner, size, least_contrast, least_flow_px):
    """Return HOG and HOF of one block, pixel by pixel, as the module's text says it."""
    n_orientations, n_directions = 4, 8
    hog, hof = np.zeros((18, n_orientations)), np.zeros((18, n_directions + 1))
    weights = np.array([0.299, 0.587, 0.114])
    grey = frames.astype(np.float64) @ weights / 255
    moved = False
    for k in range(2):
        times = cut(size[0], 2, k)
        for a in range(3):
            for b in range(3):
                cell = k * 9 + a * 3 + b
                for t in times:
                    for y in cut(size[1], 3, a):
                        for x in cut(size[2], 3, b):
                            at = (corner[0] + t, corner[1] + y, corner[2] + x)
                            gx, gy = slope(grey, at, 2), slope(grey, at, 1)
                            turn = np.arctan2(gy, gx) / np.pi % 1
                            for o, share in tent_bins(turn, n_orientations):
                                hog[cell, o] += np.hypot(gx, gy) * share
                            u, v = flow[at].astype(float)
                            speed = np.hypot(u, v)
                            if speed < least_flow_px:
                                hof[cell, -1] += least_flow_px
                                continue
                            moved = True
                            turn = np.arctan2(v, u) / (2 * np.pi) % 1
                            for d, share in tent_bins(turn, n_directions):
                                hof[cell, d] += speed * share
    has_edges = hog.sum() > least_contrast * np.prod(size)
    hog = hog / hog.sum() if has_edges else np.zeros_like(hog)
    hof = hof / hof.sum() if has_edges or moved else np.zeros_like(hof)
    return np.sqrt(np.concatenate([hog.ravel(), hof.ravel()]))


def cut(length, n, k):
    """Return the k-th of n parts of a side, at least one pixel."""
    first = k * length // n
    return range(first, max(first + 1, (k + 1) * length // n))


def slope(grey, at, axis):
    """Return half the difference of both neighbours, or the whole one at a border."""
    low, high = list(at), list(at)
    low[axis] = max(at[axis] - 1, 0)
    high[axis] = min(at[axis] + 1, grey.shape[axis] - 1)
    step = high[axis] - low[axis]
    return (grey[tuple(high)] - grey[tuple(low)]) / step if step else 0.0


def boxes_and_pairs(labels):
    """Return the boxes in each frame, volumes and pairs of neighbours of a label map."""
    m, n = labels.max() + 1, len(labels)
    boxes, areas, pairs = [], [], set()
    for k in range(m):
        areas.append(int((labels == k).sum()))
        mine = []
        for t in range(n):
            y, x = np.nonzero(labels[t] == k)
            none = [0, 0, 0, 0]
            mine.append(
                [int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1] if len(x) else none
            )
        boxes.append(mine)
    for at in np.ndindex(labels.shape):
        for axis in range(3):
            beside = list(at)
            beside[axis] += 1
            if beside[axis] < labels.shape[axis]:
                a, b = int(labels[at]), int(labels[tuple(beside)])
                if a != b:
                    pairs.add((min(a, b), max(a, b)))
    return boxes, areas, sorted(pairs)


def crane_penalties(positive, negative, n_nearest, cutoff, own_nearest=True):
    """Return the penalty of each positive region: every negative looks for its nearest ones."""
    nearest = []
    for row in negative:
        order = sorted((float(np.sqrt(((row - p) ** 2).sum())), i) for i, p in enumerate(positive))
        nearest.append(order[:n_nearest])
    radius = cutoff * np.median([found[-1][0] for found in nearest])
    penalty = np.zeros(len(positive))
    for found in nearest:
        for distance, i in found:
            penalty[i] += max(0.0, 1 - distance / radius)
    for i, p in enumerate(
        positive if own_nearest else ()
    ):  # and its own nearest negative speaks once more
        distance = min(float(np.sqrt(((row - p) ** 2).sum())) for row in negative)
        penalty[i] += max(0.0, 1 - distance / radius)
    return penalty / len(negative)


def tube_overlap(a, b):
    """Return intersection over union of two tubes with whole numbers, voxel by voxel."""
    voxels = []
    for tube in (a, b):
        voxels.append(
            {
                (t, y, x)
                for t, (x0, y0, x1, y1) in enumerate(tube)
                for y in range(y0, y1)
                for x in range(x0, x1)
            }
        )
    union = voxels[0] | voxels[1]
    return len(voxels[0] & voxels[1]) / len(union) if union else 0.0
