"""Measuring rows: what each picture or clip is compared by, and what a second look finds in it.

Of each specimen the journal keeps one row of numbers: the specimen's own row, then where its
subject is, what is seen of it and its map, and what the network says by both looks. What the
journal or the earlier guide has is not measured again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image

from fieldguide._parallel import one_blas_thread
from fieldguide.collection import Collection, Picture
from fieldguide.errors import UnreadableImageError
from fieldguide.features import (
    MAP_SIZE,
    SUBJECT_NAMES,
    SURROUNDING_NAMES,
    FeatureStack,
    Looks,
    fit_whole,
    map_subject,
    pool_logarithms,
    pool_rows,
    pool_scores,
    say_of_both,
    score_subject,
    see_subject,
)
from fieldguide.features.network import Network
from fieldguide.guide import specimens
from fieldguide.guide.earlier import Earlier
from fieldguide.guide.journal import Kept, pack_row
from fieldguide.guide.measure import LARGE_PX, Measured, deal_batches
from fieldguide.guide.shards import Shard, find_workers, send_out
from fieldguide.guide.specimens import Table
from fieldguide.guide.workspace import Workspace

# Numbers that are kept of a subject: its box and how sure it is, the words of what is seen of it,
# and its map; besides, in `SAID`, what the network says of the picture by both looks.
KEPT = {"subjects": 5, "seen": len(SUBJECT_NAMES) + len(SURROUNDING_NAMES), "maps": MAP_SIZE}
SAID = "said"


class VanishedError(Exception):
    """An image that was measured can no longer be read: (path, reason)."""


def measure_rows(
    work: Workspace, stack: FeatureStack, kept: Kept, earlier: Earlier, ids: Sequence[int]
) -> None:
    """Describe those specimens that are neither kept in the journal nor in the earlier guide."""
    table: Table = work.built[specimens.NAME]
    sizes = list_kept(table, stack)
    done, needed = set(kept), ("rows", *sizes)
    logits = table.features.get("logits")
    todo = [
        int(i)
        for i in ids
        if name_entry(table.records[i]) not in done
        and any(earlier.feature(name, name_entry(table.records[i])) is None for name in needed)
    ]
    if work.network.n_at_once > 1:  # pictures of one shape go to a device together
        records = table.records
        todo.sort(key=lambda i: fit_whole((records[i].width, records[i].height), work.network))
    n, n_done = len(ids), len(ids) - len(todo)
    batches = deal_batches(todo, work.network)

    def pack(batch: Sequence[int]) -> Shard:
        return Shard(
            work.collection.part([table.item_rows[i] for i in batch]),
            np.asarray(table.features["embedding"][batch]),
            None if logits is None else np.asarray(logits[batch]),
        )

    step = "looking closer" if stack.finder_ is not None else "describing images"
    work.progress(step, n_done, n)
    # Another number of threads may sum in another order.
    with one_blas_thread():
        workers, shards = find_workers(work, len(todo)), [partial(pack, batch) for batch in batches]
        for place, rows in send_out(work, workers, DescribeShard(stack, sizes), shards):
            names = [name_entry(table.records[i]) for i in batches[place]]
            kept.write(zip(names, rows, strict=True))
            n_done += len(rows)
            work.progress(step, n_done, n)


@dataclass(frozen=True)
class DescribeShard:
    """Describes the images of a shard; returns what the journal keeps of each."""

    stack: FeatureStack
    sizes: dict[str, int]

    def __call__(self, shard: Shard, network: Network) -> list[bytes]:
        """Do it."""
        assert shard.embedding is not None
        pictures = [decode_item(shard.images, i) for i in range(len(shard.images))]
        return describe_pictures(
            self.stack, self.sizes, pictures, shard.embedding, shard.logits, network
        )


def describe_pictures(
    stack: FeatureStack,
    sizes: dict[str, int],
    pictures: Sequence[Picture],
    embedding: np.ndarray,
    logits: np.ndarray | None,
    network: Network,
) -> list[bytes]:
    """Return what the journal keeps of each picture or clip: its row, what a second look finds.

    ``sizes`` are the columns of each part of that; ``embedding`` and ``logits`` are of the first
    look.
    """

    def describe(images: Sequence[Image.Image], of: list[int]) -> np.ndarray:
        first = None if logits is None else logits[of]
        return _describe_images(stack, images, embedding[of], first, network)

    found: dict[int, np.ndarray] = {}
    for k, picture in enumerate(pictures):
        if picture.clip is not None:
            frames = describe(picture.images, [k] * len(picture.images))
            found[k] = _pool_frames(frames, sizes, picture.telling)
    still = [k for k in range(len(pictures)) if k not in found]
    if still:
        rows = describe([pictures[k].image for k in still], still)
        found |= dict(zip(still, rows, strict=True))
    return [pack_row(found[k]) for k in range(len(pictures))]


def _describe_images(
    stack: FeatureStack,
    images: Sequence[Image.Image],
    embedding: np.ndarray,
    logits: np.ndarray | None,
    network: Network,
) -> np.ndarray:
    """Return a row of all that is kept of each image."""
    looks = stack.look_closer_all(images, network)
    found = [stack.describe(images, embedding, looks)]
    if looks:
        subjects = (_list_found(*each) for each in zip(images, looks, strict=True))
        found.append(np.stack(list(subjects)))
    if looks and logits is not None:
        both = (say_of_both(*each, network) for each in zip(logits, looks, strict=True))
        found.append(np.stack(list(both)))
    return np.concatenate(found, axis=1)


def _list_found(image: Image.Image, looks: Looks) -> np.ndarray:
    """Return the subject that the second look found, and what is seen of it."""
    found = np.array([*looks.subject.box, looks.subject.confidence], dtype=np.float32)
    seen = see_subject(np.asarray(image), looks.subject)
    return np.concatenate([found, score_subject(seen), map_subject(seen)])


def _pool_frames(frames: np.ndarray, sizes: dict[str, int], telling: int) -> np.ndarray:
    """Return what is kept of a clip, from what is of each of its frames, a row each."""
    parts = [split_row(frame, sizes) for frame in frames]
    pooled = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    pools = {"rows": pool_rows, "seen": pool_scores, SAID: pool_logarithms}
    return np.concatenate(
        [pools[name](each) if name in pools else each[telling] for name, each in pooled.items()]
    )


def list_kept(table: Table, stack: FeatureStack) -> dict[str, int]:
    """Return how many numbers are kept of a picture besides its row, by the names of matrices."""
    if stack.finder_ is None:
        return {}
    logits = table.features.get("logits")
    return KEPT if logits is None else KEPT | {SAID: logits.shape[1]}


def split_row(packed: np.ndarray, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Return what is kept of a picture by the names of feature matrices."""
    n_columns = len(packed) - sum(sizes.values())
    parts = np.split(packed, np.cumsum([n_columns, *sizes.values()])[:-1])
    return dict(zip(("rows", *sizes), parts, strict=True))


def name_entry(record: Measured) -> str:
    """Return the name by which the journal and an earlier guide know what was measured."""
    return f"{record.path}\0{record.stamp}"


def decode_item(collection: Collection, i: int) -> Picture:
    """Return image ``i``; VanishedError where it can no longer be read."""
    try:
        return collection.picture(i, at_least_px=LARGE_PX)[0]
    except UnreadableImageError as error:
        raise VanishedError(collection.items[i].path, str(error)) from None
