"""A natural-history collection drawn by our own code, with the truth about every picture.

Every specimen has a generator of its own, spawned from (seed, kind, number): no picture depends on
how many others there are, nor on the number of jobs.
Sizes are fractions of the picture, so that ``size_px`` changes the sharpness and nothing else.
"""

from typing import TYPE_CHECKING

import numpy as np

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sklearn.utils import Bunch

    from fieldguide.datasets.specimens.plate import Plate

_BATCH = 12  # pictures per piece of work: large enough that sending it costs nothing

_DESCR = """Specimens: a natural-history collection drawn by code

{n} pictures of {n_kinds} kinds, {size_px} pixels wide, drawn for seed {seed}.
No photograph and no picture of anybody else is in it.

Taxonomy: group > family > kind ({n_groups} groups, {n_families} families).
Kinds of one family share a body plan and differ in their field marks.
Attributes: {n_attributes} words, true of the picture and not only of the kind: a mark that cannot
be seen (behind grass, on the far side, out of the picture) is absent.
Boxes: x0, y0, x1, y1 in pixels, of what can be seen of the creature and of each visible mark.
Order: round by round, one picture of every kind, so that a smaller collection is the beginning of
a larger one with the same seed.
"""


def load_specimens(
    n_per_kind: int = 30,
    size_px: int = 160,
    *,
    random_state: int = 0,
    n_jobs: int = 1,
    progress: "Callable[[int, int], None] | None" = None,
) -> "Bunch":
    """Draw the collection of specimens.

    Parameters
    ----------
    n_per_kind : int, default 30
        Pictures of each kind.
    size_px : int, default 160
        Width and height of a picture, from 64 to 512.
    random_state : int, default 0
        Seed. The same seed gives the same bytes.
    n_jobs : int, default 1
        Processes; the result does not depend on it.
    progress : callable, optional
        Called with the number of pictures drawn and the number there will be.

    Returns
    -------
    sklearn.utils.Bunch
        ``images`` : uint8 array of shape (n, size_px, size_px, 3), round by round: picture
        ``i * n_kinds + k`` is the i-th of kind k.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str, the kinds.

        ``attributes`` : uint8 array of shape (n, n_attributes) of 0 and 1, true of the picture.

        ``attribute_names`` : list of str.

        ``boxes`` : float32 array of shape (n, 4), x0, y0, x1, y1 of the visible creature.

        ``masks`` : bool array of shape (n, 160, 160), where the creature is seen, whatever the
        size of the pictures.

        ``marks`` : list of lists of (name, x0, y0, x1, y1), the visible field marks.

        ``taxonomy`` : dict from kind to (group, family).

        ``DESCR`` : str.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimens
    >>> specimens = load_specimens(n_per_kind=1, size_px=64)
    >>> specimens.target_names[0], specimens.taxonomy["red-crested finch"]
    ('red-crested finch', ('birds', 'songbirds'))
    """
    check_number("load_specimens", "n_per_kind", n_per_kind, 1, 10_000, integer=True)
    check_number("load_specimens", "size_px", size_px, 64, 512, integer=True)
    check_number("load_specimens", "random_state", random_state, 0, 2**63 - 1, integer=True)
    from sklearn.utils import Bunch

    from fieldguide.datasets.specimens.canvas import TRUTH_PX
    from fieldguide.datasets.specimens.kinds import KINDS, attribute_names

    n_kinds, n = len(KINDS), n_per_kind * len(KINDS)
    target = np.tile(np.arange(n_kinds), n_per_kind)
    names = attribute_names()
    column = {name: j for j, name in enumerate(names)}
    images = np.empty((n, size_px, size_px, 3), np.uint8)
    attributes = np.zeros((n, len(names)), np.uint8)
    boxes = np.empty((n, 4), np.float32)
    masks = np.empty((n, TRUTH_PX, TRUTH_PX), bool)
    marks = []
    for i, plate in enumerate(_paint_all(n, n_kinds, size_px, random_state, n_jobs)):
        images[i] = plate.image
        attributes[i, [column[word] for word in plate.words]] = 1
        boxes[i] = plate.box * size_px
        masks[i] = plate.mask
        marks.append([(name, *(size_px * edge for edge in box)) for name, *box in plate.marks])
        if progress is not None:
            progress(i + 1, n)
    taxonomy = {kind.name: (kind.group, kind.family) for kind in KINDS}
    return Bunch(
        images=images,
        target=target,
        target_names=[kind.name for kind in KINDS],
        attributes=attributes,
        attribute_names=names,
        boxes=boxes,
        masks=masks,
        marks=marks,
        taxonomy=taxonomy,
        DESCR=_DESCR.format(
            n=n,
            n_kinds=n_kinds,
            size_px=size_px,
            seed=random_state,
            n_groups=len({group for group, _ in taxonomy.values()}),
            n_families=len(set(taxonomy.values())),
            n_attributes=len(names),
        ),
    )


def _paint_all(n: int, n_kinds: int, size_px: int, seed: int, n_jobs: int) -> "Iterator[Plate]":
    """Yield the plates in order."""
    batches = [
        ([divmod(j, n_kinds) for j in range(start, min(start + _BATCH, n))], size_px, seed)
        for start in range(0, n, _BATCH)
    ]
    for batch in map_in_order(_paint_batch, batches, n_jobs=n_jobs, threads=False):
        yield from batch


def _paint_batch(work: tuple[list[tuple[int, int]], int, int]) -> "list[Plate]":
    from fieldguide.datasets.specimens.kinds import KINDS
    from fieldguide.datasets.specimens.plate import paint_plate

    which, size_px, seed = work
    plates = []
    for i, k in which:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k, i)))
        plates.append(paint_plate(KINDS[k], rng, size_px))
    return plates
