"""Where the answer comes from: the places of a picture that add most to the decision of the key.

The key decides between a kind and the next likely one by a linear function, and that function is
a sum over places of the picture (:mod:`fieldguide.chapters.places.evidence`). For new images this
is done when they are identified. For a few exemplars of each kind it is done when a guide is built:
for plates by the kind's own function against all others, where the key has one, and for pages of
two kinds against the next likely one. Nobody has drawn a box: the subject is found as in the second
look.

How many exemplars are looked at grows with the collection: 15 % of it, or 160 pictures if that is
more, up to 6 of a kind and 2,400 in all, but never less than 3 of a kind; of very many kinds, the
largest.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._saving import Estimator, OrNone, pack, unpack
from fieldguide.chapters.places.evidence import lay_canvas, locate_margin, share_margin
from fieldguide.chapters.places.records import Located
from fieldguide.chapters.places.stored import read_record, to_record
from fieldguide.collection import Collection
from fieldguide.errors import GuideError, UnreadableImageError
from fieldguide.features import (
    FeatureStack,
    Looks,
    SubjectFinder,
    first_look,
    look_closer,
    picture_cells,
)
from fieldguide.features.network import WHOLE, Network, Outputs
from fieldguide.features.stack import DEEP
from fieldguide.guide import folder as files
from fieldguide.guide import key as key_chapter
from fieldguide.guide import register, rows, specimens
from fieldguide.guide.measure import LARGE_PX
from fieldguide.guide.models import Models
from fieldguide.guide.rows import Rows
from fieldguide.guide.shards import Shard, find_workers, send_out
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.summaries import normalise_rows
from fieldguide.guide.views import Kind
from fieldguide.guide.workspace import Workspace
from fieldguide.identify import Contrast, contrast_classes, contrast_others

NAME = "places"
ANSWER = Located
FILE = "models/places"
VERSION = 5  # raise it when places are found in another way: earlier ones are then not kept
STEP = "finding what decides"
SHARE, LEAST, MOST = 0.15, 160, 2400  # of the collection that is looked at
LEAST_OF_KIND, MOST_OF_KIND = 3, 6
_FINDER = OrNone(Estimator(SubjectFinder))


class Seen(NamedTuple):
    """All that the network has seen of a picture."""

    image: Image.Image
    first: Outputs  # with its cells
    looks: Looks
    row: np.ndarray


class PlaceModel(NamedTuple):
    """What a guide knows of places."""

    finder: SubjectFinder | None  # None where the second look of the rows has one
    # By the digest of a picture: what tells its kind from all others, where the key has a function
    # of that, then from the likeliest one.
    of_picture: dict[str, tuple[Located, ...]]

    def answer(self, sighting: Sighting) -> Located | None:
        """Return where the decision for the likeliest kind comes from."""
        return self.locate(sighting, sighting.kinds[0].name)

    def compare(self, kind: Kind, other: Kind, models: Models) -> None:
        """Of two kinds places say nothing: they are of pictures."""

    def look(self, sighting: Sighting) -> Looks | None:
        """Return the second look at an image, also in a guide whose rows do without."""
        finder, network = self.finder, sighting.models.network
        if finder is None or network.stride_px is None:
            return sighting.looks
        return sighting.keep(NAME, lambda: look_closer(sighting.image, network, finder))

    def locate(self, sighting: Sighting, kind: str) -> Located | None:
        """Return where the decision for a kind, against the likeliest other, comes from.

        None where no one linear function decides between the two, or the network has no map.
        """
        models, looks = sighting.models, self.look(sighting)
        if models.key is None or looks is None:
            return None
        (first,) = sighting.see("whole")
        seen = Seen(sighting.image, first, looks, sighting.row)
        if sighting.picture.clip is not None:
            seen = see_frame(seen, models.stack)
        return locate(seen, models.key, models.stack, models.network, kind)


def build(work: Workspace) -> None:
    """Find what decides on a few exemplars of each kind, where there is a way to."""
    work.info["settings"]["places"] = work.settings.places
    kinds: tuple[Kind, ...] = work.built[register.NAME]
    key = work.built[key_chapter.NAME].key
    if not work.settings.places or key is None or work.network.stride_px is None:
        return
    sample = choose_sample(kinds, len(work.built[specimens.NAME].records))
    inputs = _digest_inputs(work, sample, key)
    if work.earlier.folder is not None and _keep_earlier(work.earlier.folder, work.draft, inputs):
        return
    # Another number of threads may sum in another order.
    with one_blas_thread():
        stack = work.built[rows.NAME].stack
        own = None
        known, before = _open_earlier(work)
        if stack is None or stack.finder_ is None:
            own = known.finder or _learn_subjects(work, [i for _, ids in sample for i in ids])
        finder = own or stack.finder_
        unchanged = find_unchanged(work, sample, key, known, before)
        work.journal.kept(f"places {inputs}").write(unchanged)
        found = find_missing(work, sample, key, finder, inputs)
    save_places(PlaceModel(own, found), work.draft, inputs)


def choose_sample(kinds: Sequence[Kind], n_specimens: int) -> list[tuple[Kind, tuple[int, ...]]]:
    """Return the kinds that are looked at, each with a few of its exemplars."""
    if not kinds:
        return []
    allowed = min(max(SHARE * n_specimens, LEAST), MOST)
    n_each = int(np.clip(allowed // len(kinds), LEAST_OF_KIND, MOST_OF_KIND))
    largest = sorted(kinds, key=lambda kind: (-kind.count, kind.name))[: MOST // n_each]
    return [(kind, kind.exemplars[:n_each]) for kind in sorted(largest, key=lambda k: k.name)]


def find_unchanged(
    work: Workspace,
    sample: Sequence[tuple[Kind, tuple[int, ...]]],
    key: Any,
    known: PlaceModel,
    before: Any,
) -> list[tuple[str, bytes]]:
    """Return the exemplars on which the very same function decides as in the earlier guide.

    They come as digest and record, as the journal keeps them. ``known`` and ``before`` are the
    places and the key of that guide, which has found the subjects by the same finder.
    """
    X, records = work.built[rows.NAME].X, work.built[specimens.NAME].records
    unchanged = []
    for kind, i in ((kind.name, i) for kind, ids in sample for i in ids):
        found = known.of_picture.get(records[i].digest, ())
        if found and found[0].kind == kind:
            row = np.asarray(X[[i]])
            now, then = (list_contrasts(k, row, kind) for k in (key, before))
            told = [name_rival(key, each) for each in now]
            is_same = len(now) == len(then) and all(map(_is_same, now, then))
            if is_same and told == [each.against for each in found]:
                unchanged.append((records[i].digest, _to_bytes(found)))
    return unchanged


def find_missing(
    work: Workspace,
    sample: Sequence[tuple[Kind, tuple[int, ...]]],
    key: Any,
    finder: SubjectFinder,
    inputs: str,
) -> dict[str, tuple[Located, ...]]:
    """Return what decides on each exemplar, by the digest of its picture."""
    features: Rows = work.built[rows.NAME]
    records = work.built[specimens.NAME].records
    kept = work.journal.kept(f"places {inputs}")
    todo = [(kind.name, i) for kind, ids in sample for i in ids]
    missing = [(kind, i) for kind, i in todo if records[i].digest not in kept]

    def pack(kind: str, i: int) -> ExemplarShard:
        images = work.collection.part([work.built[specimens.NAME].item_rows[i]])
        row = np.asarray(features.X[[i]])
        return ExemplarShard(images, row=row, kind=kind, is_clip=records[i].clip is not None)

    n_done = len(todo) - len(missing)
    work.progress(STEP, n_done, len(todo))
    workers, surveyor = find_workers(work, len(missing)), Surveyor(key, finder, features.stack)
    shards = [partial(pack, *one) for one in missing]
    for place, located in send_out(work, workers, surveyor, shards):
        kept[records[missing[place][1]].digest] = located
        n_done += 1
        work.progress(STEP, n_done, len(todo))
    said = {records[i].digest: json.loads(kept[records[i].digest]) for _, i in todo}
    return {digest: tuple(map(read_record, each)) for digest, each in said.items() if each}


@dataclass(frozen=True, kw_only=True)
class ExemplarShard(Shard):
    """One exemplar, with its row and its kind."""

    row: np.ndarray
    kind: str
    is_clip: bool


@dataclass(frozen=True)
class Surveyor:
    """Finds what decides on an exemplar; nothing decides where its image cannot be read."""

    key: Any
    finder: SubjectFinder
    stack: FeatureStack | None

    def __call__(self, shard: ExemplarShard, network: Network) -> bytes:
        """Return what decides, as the journal keeps it."""
        image = _decode(shard.images, 0)  # of a clip, a frame
        if image is None:
            return _to_bytes(())
        basis = None if self.stack is None else self.stack.basis_
        first = network.see([image], cells=True)
        seen = Seen(image, first, look_closer(image, network, self.finder, basis), shard.row)
        if shard.is_clip:
            seen = see_frame(seen, self.stack)
        contrasts = list_contrasts(self.key, seen.row, shard.kind)
        return _to_bytes(lay_over(seen, contrasts, contrasts, self.key, self.stack, network))


def see_frame(seen: Seen, stack: FeatureStack | None) -> Seen:
    """Return a frame of a clip with its own row, of which the clip's is the mean: what the frame
    adds to the decision."""
    embedding = seen.first.embedding
    if stack is None:
        return seen._replace(row=normalise_rows(embedding))
    return seen._replace(row=stack.describe([seen.image], embedding, [seen.looks]))


def list_contrasts(key: Any, row: np.ndarray, kind: str) -> list[Contrast]:
    """Return the functions for a kind that an exemplar shows: against all others, and against the
    likeliest one; where the key has them."""
    k = _find_class(key, kind)
    both = (contrast_others(key, k), contrast_classes(key, row, winner=k))
    return [contrast for contrast in both if contrast is not None]


def locate(
    seen: Seen, key: Any, stack: FeatureStack | None, network: Network, kind: str
) -> Located | None:
    """Return where the decision for a kind comes from; None where no one linear function decides.

    KeyError for a kind that the key does not know.
    """
    contrasts = list_contrasts(key, seen.row, kind)
    if not contrasts or contrasts[-1].rival is None:
        return None
    return lay_over(seen, contrasts[-1:], contrasts, key, stack, network)[0]


def lay_over(
    seen: Seen,
    shown: Sequence[Contrast],
    told: Sequence[Contrast],
    key: Any,
    stack: FeatureStack | None,
    network: Network,
) -> tuple[Located, ...]:
    """Return where in a picture each shown function of the key comes from, of those for a kind."""
    n_columns = seen.row.shape[1]
    columns = {DEEP: slice(0, n_columns)} if stack is None else stack.split_columns(n_columns)
    looks = seen.looks.as_parts()
    if network.is_mean:
        looks[DEEP] = first_look(seen.first, network.find_area(WHOLE["whole"], *seen.image.size))
    canvas = lay_canvas(seen.image, seen.looks.subject)
    return tuple(
        locate_margin(
            canvas,
            share_margin(contrast, told, seen.row, columns, looks, seen.image.size, network),
            str(key.classes_[contrast.winner]),
            name_rival(key, contrast),
        )
        for contrast in shown
    )


def name_rival(key: Any, contrast: Contrast) -> str | None:
    """Return the kind that another is told from; None for all others."""
    return None if contrast.rival is None else str(key.classes_[contrast.rival])


def _find_class(key: Any, kind: str) -> int:
    return {str(name): k for k, name in enumerate(key.classes_)}[kind]


def _is_same(one: Contrast, other: Contrast) -> bool:
    return one.intercept == other.intercept and np.array_equal(one.coef, other.coef)


def _open_earlier(work: Workspace) -> tuple[PlaceModel, Any]:
    """Return the places and the key of a guide that specimens are added to: its finder serves
    these too. There are no places where others are built anew."""
    none = PlaceModel(None, {})
    if work.settings.adds_to is None or work.earlier.folder is None:
        return none, None
    try:
        said = files.read_json(work.earlier.folder / f"{FILE}.json")
        known = open_part(work.earlier.folder, {}) if said["version"] == VERSION else None
        return known or none, key_chapter.open_key(work.earlier.folder)
    except (KeyError, TypeError, GuideError):
        return none, None


def save_places(model: PlaceModel, draft: files.NewFiles, inputs: str) -> None:
    """Write what a guide knows of places."""
    arrays, finder = pack(_FINDER, model.finder)
    settings = {
        "finder": finder,
        "version": VERSION,
        "inputs": inputs,
        "pictures": {
            digest: [to_record(each) for each in found]
            for digest, found in model.of_picture.items()
        },
    }
    files.write_model(draft, FILE, arrays, settings)


def open_part(edition: Path, about: dict[str, Any]) -> PlaceModel | None:
    """Return what a guide knows of places, or None where it knows nothing."""
    if not (edition / f"{FILE}.safetensors").exists():
        return None
    return files.read_model(edition, FILE, "places", _from_state)


def _learn_subjects(work: Workspace, ids: Sequence[int]) -> SubjectFinder:
    """Return a finder that has learnt from some specimens."""
    step = max(1, len(ids) // LEAST)

    def see(i: int) -> np.ndarray | None:
        image = _read(work, i)
        return None if image is None else picture_cells(image, work.network)

    seen = map_in_order(see, ids[::step], n_jobs=work.n_jobs)
    return SubjectFinder().fit([cells for cells in seen if cells is not None])


def _read(work: Workspace, i: int) -> Image.Image | None:
    """Return the picture of a specimen as it was measured; None where it cannot be read now."""
    return _decode(work.collection, work.built[specimens.NAME].item_rows[i])


def _decode(collection: Collection, i: int) -> Image.Image | None:
    try:
        return collection.picture(i, at_least_px=LARGE_PX)[0].image
    except UnreadableImageError:
        return None


def _digest_inputs(
    work: Workspace, sample: Sequence[tuple[Kind, tuple[int, ...]]], key: Any
) -> str:
    """Return a digest of all that the places depend on."""
    records = work.built[specimens.NAME].records
    pictures = [[kind.name, [records[i].digest for i in ids]] for kind, ids in sample]
    stack = work.built[rows.NAME].stack
    said: list[Any] = [VERSION, work.network.name, work.seed, pictures]
    digest = blake2b(digest_size=16)
    for estimator in (key, stack):
        if estimator is not None:
            arrays, settings = estimator.to_state()
            said.append(settings)
            for name in sorted(arrays):
                digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    digest.update(json.dumps(said, ensure_ascii=False, sort_keys=True).encode())
    return digest.hexdigest()


def _keep_earlier(earlier: Path, draft: files.NewFiles, inputs: str) -> bool:
    """Copy the places of the earlier guide if they were found from the very same; say whether."""
    try:
        said = files.read_json(earlier / f"{FILE}.json")
        if said["inputs"] != inputs or open_part(earlier, {}) is None:
            return False
    except (KeyError, TypeError, GuideError):
        return False
    for name in (f"{FILE}.safetensors", f"{FILE}.json"):
        shutil.copyfile(earlier / name, draft.new(name))
    return True


def _to_bytes(found: Sequence[Located]) -> bytes:
    return json.dumps([to_record(each) for each in found]).encode()


def _from_state(arrays: Mapping[str, np.ndarray], settings: dict[str, Any]) -> PlaceModel:
    finder = unpack(_FINDER, dict(arrays), settings["finder"], "places")
    pictures = {
        # Guides of earlier versions have one record of a picture.
        str(digest): tuple(map(read_record, [found] if isinstance(found, dict) else found))
        for digest, found in settings["pictures"].items()
    }
    return PlaceModel(finder, pictures)
