"""Copies and near-copies: pictures that are one picture, resized, cut, mirrored or compressed.

1. Files with the same digest hold the same image.
2. Of the others, pairs that may be copies: each picture with the nearest by what the network says,
   and with the nearest by its blurred luma, as it is and mirrored (:mod:`~fieldguide.features.
   neighbours`). Rows are first reduced to the directions that vary most.
3. The pixels of each such pair are compared (:mod:`.alignment`).

Groups are what is joined by pairs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._processes import Processes
from fieldguide.chapters.check.alignment import (
    LEAST_BLURRED,
    Blurred,
    Match,
    blur_all,
    compare_blurred,
    match_pairs,
)
from fieldguide.chapters.check.small import Small
from fieldguide.features import find_close, reduce_rows

N_NEAR = 6  # of each way in which pictures may be near
_PAIRS = 1024  # that one piece of work compares
_WORTH = 16_384  # pairs for each process that pay for its start


class Copies(NamedTuple):
    """Pairs of specimens whose pictures are one."""

    pairs: np.ndarray  # (n_pairs, 2), the smaller number first
    likeness: np.ndarray  # (n_pairs,) correlation of detail; 1 for the same image
    is_mirrored: np.ndarray  # (n_pairs,)


def find_copies(
    small: Small,
    embedding: np.ndarray,
    digests: Sequence[str],
    *,
    n_jobs: int = 1,
    processes: Processes | None = None,
) -> Copies:
    """Return the pairs of specimens that are copies or near-copies.

    ``processes`` compare pictures in place of threads, where there are pairs enough for it.
    """
    same, blurred = pair_same(digests), blur_all(small, n_jobs)
    others = pair_near(blurred, embedding, np.array(digests), n_jobs=n_jobs)
    blocks = [others[i : i + _PAIRS] for i in range(0, len(others), _PAIRS)]
    parts = (_cut_out(small, block) for block in blocks)
    if processes is not None and len(others) >= _WORTH * processes.n:
        done = dict(processes.map_as_done(_match, parts))
        matches = [done[i] for i in range(len(blocks))]
    else:
        with one_blas_thread():
            matches = list(map_in_order(_match, parts, n_jobs=n_jobs))
    found = [
        (part[match.is_copy], match.detail[match.is_copy], match.is_mirrored[match.is_copy])
        for part, match in zip(blocks, matches, strict=True)
    ]
    pairs = np.concatenate([same, *(pairs for pairs, _, _ in found)])
    likeness = np.concatenate([np.ones(len(same)), *(each for _, each, _ in found)])
    mirrored = np.concatenate([np.zeros(len(same), bool), *(each for _, _, each in found)])
    order = np.lexsort(pairs.T[::-1])
    return Copies(pairs[order], likeness[order].astype(np.float32), mirrored[order])


def pair_same(digests: Sequence[str]) -> np.ndarray:
    """Return pairs of specimens with the same digest, each with the first that has it, (n, 2)."""
    first: dict[str, int] = {}
    pairs = [(first[d], i) for i, d in enumerate(digests) if first.setdefault(d, i) != i]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def pair_near(
    blurred: Blurred, embedding: np.ndarray, digests: np.ndarray, *, n_jobs: int = 1
) -> np.ndarray:
    """Return pairs of specimens that may be copies, (n, 2), each once; not those of one digest."""
    plain, mirrored = blurred
    n = len(plain)
    if n < 2:
        return np.empty((0, 2), dtype=np.int64)
    near = [
        find_close(reduce_rows(embedding, n_jobs=n_jobs), N_NEAR, n_jobs=n_jobs),
        find_close(plain, N_NEAR, n_jobs=n_jobs),
        find_close(plain, N_NEAR, mirrored, n_jobs=n_jobs),
    ]
    second = np.concatenate(near, axis=1)
    first = np.broadcast_to(np.arange(n)[:, None], second.shape)
    numbers = np.unique(np.minimum(first, second) * n + np.maximum(first, second))
    pairs = np.stack(np.divmod(numbers, n), axis=1)
    is_different = (pairs[:, 0] != pairs[:, 1]) & (digests[pairs[:, 0]] != digests[pairs[:, 1]])
    pairs = pairs[is_different]
    blocks = [pairs[i : i + _PAIRS] for i in range(0, len(pairs), _PAIRS)]
    alike = (np.maximum(*compare_blurred(blurred, block)) >= LEAST_BLURRED for block in blocks)
    found: np.ndarray = pairs[np.concatenate([np.empty(0, dtype=bool), *alike])]
    return found


def _cut_out(small: Small, pairs: np.ndarray) -> tuple[Small, np.ndarray]:
    """Return the pictures of some pairs alone, and the pairs by their places among them."""
    ids, places = np.unique(pairs, return_inverse=True)
    return Small(*(each[ids] for each in small)), places.reshape(pairs.shape)


def _match(part: tuple[Small, np.ndarray]) -> Match:
    return match_pairs(*part)


def group_copies(n: int, pairs: np.ndarray) -> list[list[int]]:
    """Return the groups that pairs join, each in order, the first by their first member.

    Examples
    --------
    >>> group_copies(6, np.array([[0, 4], [2, 3], [3, 5]]))
    [[0, 4], [2, 3, 5]]
    """
    if not len(pairs):
        return []
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, label = connected_components(links, directed=False)
    members: dict[int, list[int]] = {}
    for i in np.unique(pairs):
        members.setdefault(int(label[i]), []).append(int(i))
    return sorted(members.values())
