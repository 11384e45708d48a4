"""Region selection and its parts, slow and obvious: loops, and solvers of other people."""

import itertools

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC


def project_by_programme(v, cap):
    """Return the nearest point of the capped simplex, by a general convex solver."""
    m = len(v)
    found = minimize(
        lambda s: ((s - v) ** 2).sum(),
        np.full(m, 1 / m),
        jac=lambda s: 2 * (s - v),
        bounds=[(0, max(cap, 1 / m))] * m,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": lambda s: np.ones(m)},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.x


def bag_gram(K, start, s):
    """Return the kernel matrix of weighted positive bags and single negative regions."""
    n_positive = start[-1]
    members = [
        [(k, s[k]) for k in range(start[i], start[i + 1])] for i in range(len(start) - 1)
    ] + [[(k, 1.0)] for k in range(n_positive, len(K))]
    size = len(members)
    bags = np.empty((size, size))
    for i, j in itertools.product(range(size), repeat=2):
        bags[i, j] = sum(a * b * K[k, m] for k, a in members[i] for m, b in members[j])
    return bags


def objective(K, start, s, C_positive, C_negative):
    """Return J(s), from libsvm's solution."""
    bags = bag_gram(K, start, s)
    n_bags = len(start) - 1
    y = np.array([1] * n_bags + [-1] * (len(bags) - n_bags))
    weight = np.where(y > 0, C_positive, C_negative)
    peer = SVC(C=1.0, kernel="precomputed", tol=1e-10).fit(bags, y, sample_weight=weight)
    beta = np.zeros(len(bags))
    beta[peer.support_] = peer.dual_coef_[0]
    f = bags @ beta + peer.intercept_[0]
    return 0.5 * beta @ bags @ beta + weight @ np.maximum(0, 1 - y * f)


def least_objective(K, start, cap, C_positive, C_negative, n_steps):
    """Return the least J over a grid of weights of the positive bags."""
    choices = []
    for i in range(len(start) - 1):
        m = start[i + 1] - start[i]
        grid = [
            np.array(point) / n_steps
            for point in itertools.product(range(n_steps + 1), repeat=m)
            if sum(point) == n_steps and max(point) <= max(cap, 1 / m) * n_steps + 1e-9
        ]
        choices.append(grid)
    return min(
        objective(K, start, np.concatenate(s), C_positive, C_negative)
        for s in itertools.product(*choices)
    )


def boxes_and_pairs(labels):
    """Return the boxes, areas and neighbours of a label map of names 0 to m − 1."""
    height, width = labels.shape
    m = labels.max() + 1
    boxes = [[width, height, 0, 0] for _ in range(m)]
    areas, pairs = [0] * m, set()
    for y, x in np.ndindex(height, width):
        k = labels[y, x]
        box = boxes[k]
        boxes[k] = [min(box[0], x), min(box[1], y), max(box[2], x + 1), max(box[3], y + 1)]
        areas[k] += 1
        for other in ((y + 1, x), (y, x + 1)):
            if other[0] < height and other[1] < width and labels[other] != k:
                pairs.add((min(k, labels[other]), max(k, labels[other])))
    return boxes, areas, sorted(pairs)


def curve_of_boxes(truth, found, scores, overlap):
    """Return the average precision of boxes by looking at the finds one by one."""

    def iou(a, b):
        w = max(0, min(a[2], b[2]) - max(a[0], b[0]))
        h = max(0, min(a[3], b[3]) - max(a[1], b[1]))
        areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
        return w * h / (sum(areas) - w * h)

    finds = sorted(
        (-score, i, k) for i, picture in enumerate(scores) for k, score in enumerate(picture)
    )
    taken, n_right, recall, total = set(), 0, 0.0, 0.0
    n_objects = sum(map(len, truth))
    for n, (_, i, k) in enumerate(finds, start=1):
        free = [(iou(found[i][k], t), j) for j, t in enumerate(truth[i]) if (i, j) not in taken]
        best = max(free, default=(0.0, -1))
        if best[0] >= overlap:
            taken.add((i, best[1]))
            n_right += 1
        total += n_right / n * (n_right / n_objects - recall)
        recall = n_right / n_objects
    return total


def count_words(labels, frames, word, share, scale, n_regions, n_words):
    """Return word counts of each region, window by window."""
    counts = np.zeros((n_regions, n_words))
    for (x, y, _), words, shares in zip(frames, word, share, strict=True):
        column = min(int((x + 0.5) * scale[0]), labels.shape[1] - 1)
        row = min(int((y + 0.5) * scale[1]), labels.shape[0] - 1)
        for w, part in zip(words, shares, strict=True):
            counts[labels[row, column], w] += part
    return counts
