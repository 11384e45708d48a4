"""Movement: what the kind of a clip is by how it moves, where in the clip that is, and what sets a
kind apart by it.

Of a few clips of each kind, two seconds around the most telling frame are looked at.

====================  ===========================================================================
what it is            the histogram of space-time words (small blocks of edges and of movement),
                      named by a χ² key that has not seen the clip
where, from when to   the tube of supervoxels that speaks most for its kind, by region selection
when                  on their words and flow, trained on other clips
what sets it apart    patterns of these words (``movement_marks.py``)
====================  ===========================================================================

All are found by models that are trained on other clips of the guide than the one they speak of, so
that what is shown holds on a clip that did not choose it. A tube is shown where some part of the
clip speaks for its kind at all. How often the key is right is kept with it.

OpenCV, of the extra ``video``, finds how pixels move; without it nothing is said.
"""

import io
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide.collection.frames import STRETCH_S, Stretch, find_telling
from fieldguide.errors import FieldguideWarning, GuideError, TooFewWindows, UnreadableImageError
from fieldguide.guide import folder as files
from fieldguide.guide import specimens
from fieldguide.guide.movement_marks import (
    HEIGHTS,
    PACKED_WIDTH,
    WAYS,
    Box,
    ChosenMark,
    MovementMark,
    Moving,
    SeenMark,
    Watched,
    choose_block,
    choose_marks,
    cut_moments,
    find_moving,
    measure_mark,
    train_held_out,
)
from fieldguide.guide.shelf import open_picture
from fieldguide.guide.specimens import Table
from fieldguide.guide.validation.shapes import (
    UnsoundError,
    list_of,
    number,
    one_of,
    or_none,
    record,
    row_of,
    share,
    table_of,
    text,
    whole,
)
from fieldguide.guide.workspace import Workspace

NAME = "movement"
VERSION = 2
LEAST, MOST, MOST_KINDS = 6, 12, 20  # clips of a kind, and kinds, that are looked at
N_WORDS, N_ROUNDS = 200, 10
N_FOLDS = 3
N_SHOWN = 6  # frames
_STEP = "looking at movement"
_QUALITY = 86


class MovingFrame(NamedTuple):
    """A frame of the stretch that was looked at."""

    at_s: float  # seconds from the beginning of the clip
    picture: str  # address inside the guide
    box: Box | None  # of the tube, x0, y0, x1, y1 in shares of the sides; None where it is not


class Movement(NamedTuple):
    """What a guide says of how a clip moves.

    Examples
    --------
    >>> frames = (MovingFrame(0.0, "pictures/0a/0a1b.jpg", (0.2, 0.1, 0.6, 0.9)),)
    >>> movement = Movement("wave", 0.8, frames, start_s=0.0, end_s=1.5)
    >>> movement.kind, movement.end_s - movement.start_s
    ('wave', 1.5)
    """

    kind: str  # that the movement is of, by a key that has not seen the clip
    confidence: float
    frames: tuple[MovingFrame, ...]
    start_s: float  # of the tube
    end_s: float  # both 0 where there is none
    own_kind: str = ""  # that it is labelled
    score: float = 0.0  # of its own kind, by that key
    marks: tuple[SeenMark, ...] = ()  # of its own kind, that it shows


class Movements(NamedTuple):
    """What a guide says of the movement of its clips.

    Examples
    --------
    >>> frames = (MovingFrame(0.0, "pictures/0a/0a1b.jpg", None),)
    >>> told = Movements({"0a1b": Movement("wave", 0.8, frames, 0.0, 0.0)}, n_asked=1, n_right=1)
    >>> told.list_pictures()
    ['pictures/0a/0a1b.jpg']
    """

    of_clip: dict[str, Movement]  # by digest
    n_asked: int  # clips that the key was asked about when it had not seen them
    n_right: int
    marks: Mapping[str, tuple[MovementMark, ...]] = MappingProxyType({})  # of each kind

    def list_pictures(self) -> list[str]:
        """Return the addresses of the frames, and of what shows marks."""
        moving = self.of_clip.values()
        frames = [frame.picture for each in moving for frame in each.frames]
        return [*frames, *(seen.picture for each in moving for seen in each.marks)]


def build(work: Workspace) -> None:
    """Look at the movement of a few clips of each kind, where there are enough."""
    if not work.settings.places:
        return
    if work.settings.adds_to is not None:
        _keep_earlier(work, "")
        return
    sample = draw_sample(work)
    if not sample or find_spec("cv2") is None:
        return
    inputs = _digest_inputs(work, sample)
    if _keep_earlier(work, inputs):
        return
    with one_blas_thread():
        found = look(work, sample, inputs)
    if found is not None:
        _write(work, found, inputs)


def draw_sample(work: Workspace) -> list[int]:
    """Return the clips to look at: some of each kind that has enough; none for fewer than two."""
    table: Table = work.built[specimens.NAME]
    of_kind: dict[str, list[int]] = {}
    for i, (kind, each) in enumerate(zip(table.kinds, table.records, strict=True)):
        is_moving = each.clip is not None and len(each.clip.frames) > 1
        if kind is not None and is_moving and not _item(work, i).burst:
            of_kind.setdefault(kind, []).append(i)
    enough = [ids for _, ids in sorted(of_kind.items()) if len(ids) >= LEAST][:MOST_KINDS]
    if len(enough) < 2:
        return []
    rng = np.random.default_rng(work.seed)
    return sorted(int(i) for ids in enough for i in rng.permutation(ids)[:MOST])


def look(work: Workspace, sample: Sequence[int], inputs: str) -> dict[str, Any] | None:
    """Return what is written of the clips of a sample; None where nothing can be said."""
    from fieldguide import video  # what no guide without clips loads

    table: Table = work.built[specimens.NAME]
    kept = work.journal.kept(f"movement {inputs}")
    n_jobs = work.n_jobs
    work.progress("learning movement", 0, 1)
    read = map_in_order(lambda i: _read_stretch(work, i), sample, n_jobs=n_jobs)
    pairs = [(i, stretch) for i, stretch in zip(sample, read, strict=True) if stretch is not None]
    ids, stretches = [i for i, _ in pairs], [stretch for _, stretch in pairs]
    y = np.array([table.kinds[i] for i in ids])
    if len(ids) < 2 or min(np.unique(y, return_counts=True)[1], default=0) < N_FOLDS:
        return None
    words = video.SpaceTimeWords(
        N_WORDS, n_iter=N_ROUNDS, max_side_px=128, n_jobs=n_jobs, random_state=work.seed
    )
    try:
        words.fit([stretch.frames for stretch in stretches])
    except TooFewWindows:
        return None

    def describe(pair: tuple[int, Stretch]) -> tuple[str, bytes]:
        i, (frames, _) = pair
        flow = video.optical_flow(frames)
        regions = video.supervoxels(frames, "slic", max_side_px=96, flow=flow)
        bag = video.supervoxel_features(frames, regions, words, parts=("words", "flow"), flow=flow)
        row, moving = find_moving(words, frames, flow)
        arrays = {"bag": bag, "labels": regions.labels.astype(np.int16), "row": row}
        return table.records[i].digest, save({**arrays, "moving": moving.pack()})

    known = {
        i: _unpack(kept.get(table.records[i].digest), stretch.frames.shape[:3])
        for i, stretch in pairs
    }
    missing = [pair for pair in pairs if known[pair[0]] is None]
    n_done = len(pairs) - len(missing)
    work.progress(_STEP, n_done, len(pairs))
    for part in map_in_order(describe, missing, n_jobs=n_jobs):
        kept.write([part])
        n_done += 1
        work.progress(_STEP, n_done, len(pairs))
    looked = [known[i] or load(kept[table.records[i].digest]) for i in ids]
    digests = [table.records[i].digest for i in ids]
    kinds, index = np.unique(y, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)
        rows = np.stack([each["row"] for each in looked])
        held_out = train_held_out(rows, index, seed=work.seed, n_jobs=n_jobs)
        scores = score_regions([each["bag"] for each in looked], y, n_jobs)
    own_scores = held_out.find_scores(np.arange(len(y)))
    clips: dict[str, Any] = {
        digest: {
            "kind": str(kinds[held_out.answer[k]]),
            "confidence": round(float(held_out.confidence[k]), 4),
            "frames": _show(work, stretches[k], looked[k]["labels"], scores[k]),
            "own_kind": str(y[k]),
            "score": round(float(own_scores[k]), 4),
            "marks": [],
        }
        for k, digest in enumerate(digests)
    }
    marks: dict[str, list[list[Any]]] = {}
    if work.settings.marks:
        watched = [_watch(*each) for each in zip(looked, stretches, strict=True)]
        patterns = video.group_words(words)
        for kind, chosen in zip(kinds.tolist(), choose_marks(patterns, held_out), strict=True):
            measured = [(mark, measure_mark(mark, watched)) for mark in chosen]
            marks[kind] = []
            for mark, said in measured:
                if said is not None:
                    for k, seen in _show_mark(work, mark, said.way, stretches, watched):
                        clips[digests[k]]["marks"].append([len(marks[kind]), *seen])
                    marks[kind].append(list(said))
    n_right = int((held_out.answer == index).sum())
    return {"clips": clips, "n_asked": len(ids), "n_right": n_right, "marks": marks}


def _unpack(data: bytes | None, shape: tuple[int, ...]) -> dict[str, np.ndarray] | None:
    """Return what was kept of a clip; None where it is not there, or not of such frames."""
    if data is None:
        return None
    try:
        arrays = load(data)
        fits = arrays["labels"].shape == shape and len(arrays["bag"]) > arrays["labels"].max()
        fits &= arrays["row"].shape == (N_WORDS,) and arrays["moving"].shape[1] == PACKED_WIDTH
        return arrays if fits else None
    except (SafetensorError, KeyError, ValueError, TypeError):
        return None


def score_regions(
    bags: Sequence[np.ndarray], y: np.ndarray, n_jobs: int | None
) -> list[np.ndarray]:
    """Return how far each region of each clip speaks for the clip's kind, by a model that was
    trained on other clips."""
    from fieldguide.locate import RegionSelector

    fold = np.empty(len(y), dtype=int)
    for kind in np.unique(y):
        own = np.flatnonzero(y == kind)
        fold[own] = np.arange(len(own)) % N_FOLDS
    scores: list[np.ndarray] = [np.empty(0)] * len(y)
    for k in range(N_FOLDS):
        others, held_out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        model = RegionSelector("chi2", C="cv", C_negative="balanced", n_jobs=n_jobs)
        model.fit([bags[i] for i in others.tolist()], y[others])
        said = model.instance_scores([bags[i] for i in held_out.tolist()])
        for i, each in zip(held_out.tolist(), said, strict=True):
            column = int(np.flatnonzero(model.classes_ == y[i])[0])
            if each.ndim == 1:
                scores[i] = each if column == 1 else -each
            else:
                scores[i] = each[:, column]
    return scores


def _show(
    work: Workspace, stretch: Stretch, labels: np.ndarray, scores: np.ndarray
) -> list[list[Any]]:
    """Write a few frames of a stretch; return their times, addresses and boxes of the tube."""
    from fieldguide.video import find_tubes, to_supervoxels

    frames, times = stretch
    tubes = find_tubes(to_supervoxels(labels), scores, at_least_one=False).tubes
    height, width = frames.shape[1:3]
    n_shown = min(N_SHOWN, len(frames))
    shown = []
    for t in (2 * np.arange(n_shown) + 1) * len(frames) // (2 * n_shown):
        address = work.draft.shelf.keep("frames", _encode(Image.fromarray(frames[t])), "jpg")
        box = None
        if len(tubes) and tubes[0, t, 2] > tubes[0, t, 0]:
            sides = tubes[0, t] / np.array([width, height, width, height])
            box = [round(float(side), 4) for side in sides]
        shown.append([round(times[t], 3), address, box])
    return shown


def _watch(looked: dict[str, np.ndarray], stretch: Stretch) -> Watched:
    height, width = stretch.frames.shape[1:3]
    apart_s = float(np.median(np.diff(stretch.times)))
    return Watched(Moving.unpack(looked["moving"]), height, width, apart_s)


def _show_mark(
    work: Workspace,
    mark: ChosenMark,
    way: str,
    stretches: Sequence[Stretch],
    watched: Sequence[Watched],
) -> Iterator[tuple[int, list[Any]]]:
    """Write moments of a mark in each clip that shows it; yield the clip, what the mark adds to
    its score, when that is, the address, the place and the move."""
    for k, adds in zip(mark.ids.tolist(), mark.adds.tolist(), strict=True):
        (frames, times), moving = stretches[k], watched[k].moving
        block = choose_block(mark, moving, way)
        if block is not None:
            strip, box, move = cut_moments(frames, moving, block)
            address = work.draft.shelf.keep("frames", _encode(strip), "jpg")
            span = [round(times[at], 3) for at in moving.find_span(block)]
            yield k, [round(adds, 4), *span, address, list(box), list(move)]


def _encode(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return buffer.getvalue()


def _read_stretch(work: Workspace, i: int) -> Stretch | None:
    """Return two seconds around the most telling frame; None where they cannot be read."""
    table: Table = work.built[specimens.NAME]
    clip = table.records[i].clip
    assert clip is not None
    try:
        seen = [open_picture(work.draft.root, frame.picture) for frame in clip.frames]
        at_s = min(clip.frames[find_telling(seen)].at_s, clip.seconds - STRETCH_S / 2)
        stretch = work.collection.stretch(table.item_rows[i], at_s)
    except (GuideError, UnreadableImageError):
        return None
    return stretch if stretch is not None and len(stretch.frames) > 1 else None


def _item(work: Workspace, i: int) -> Any:
    return work.collection.items[work.built[specimens.NAME].item_rows[i]]


def _digest_inputs(work: Workspace, sample: Sequence[int]) -> str:
    table: Table = work.built[specimens.NAME]
    clips = [(table.kinds[i], table.records[i].digest) for i in sample]
    said = json.dumps([VERSION, work.seed, work.settings.marks, clips], ensure_ascii=False)
    return blake2b(said.encode(), digest_size=16).hexdigest()


def _keep_earlier(work: Workspace, inputs: str) -> bool:
    """Take over what the earlier guide says, if it was found from the very same clips, or, where
    ``inputs`` is empty, whatever they were; say whether."""
    if work.earlier.folder is None:
        return False
    path = work.earlier.folder / files.MOVEMENT
    try:
        values = files.read_json(path)
        read_movements(values)
    except (GuideError, UnsoundError):
        return False
    if inputs and values["inputs"] != inputs:
        return False
    if not all(map(work.draft.shelf.has, _list_addresses(values))):
        return False
    _write(work, values, values["inputs"])
    return True


def _write(work: Workspace, found: dict[str, Any], inputs: str) -> None:
    files.write_record(work.draft, files.MOVEMENT, {**found, "inputs": inputs})
    work.pictures.update(_list_addresses(found))


def _list_addresses(found: dict[str, Any]) -> list[str]:
    return read_movements({**found, "inputs": ""}).list_pictures()


_ADDRESS = text(pattern=r"pictures/frames/[0-9a-f]{32}\.jpg")
_BOX = row_of(share(), share(), share(), share())
_FRAME = row_of(number(0, 1e7), _ADDRESS, or_none(_BOX))
_STEP_SHARES = row_of(number(-100, 100), number(-100, 100))
_SEEN = row_of(
    *(whole(0, 100), number(), number(0, 1e7), number(0, 1e7)), _ADDRESS, _BOX, _STEP_SHARES
)
_MARK = row_of(
    *(one_of(*WAYS), number(0, 1e6), one_of(*HEIGHTS), share(), number(0, 1e7)),
    *(whole(), whole(), whole(), whole(), number()),
)
_WRITTEN = record(
    {
        "clips": table_of(
            record(
                {"kind": text(), "confidence": share(), "frames": list_of(_FRAME, 64)},
                {"own_kind": text(), "score": number(), "marks": list_of(_SEEN, 100)},
            )
        ),
        "n_asked": whole(),
        "n_right": whole(),
        "inputs": text(100),
    },
    {"marks": table_of(list_of(_MARK, 100))},
)


def _read_box(sides: list[float]) -> Box:
    x0, y0, x1, y1 = map(float, sides)
    return x0, y0, x1, y1


def read_movements(values: dict[str, Any]) -> Movements:
    """Return what was written of movement; UnsoundError if it is damaged."""
    _WRITTEN(values, "")
    of_clip = {}
    for digest, said in values["clips"].items():
        frames = tuple(
            MovingFrame(float(at_s), address, None if box is None else _read_box(box))
            for at_s, address, box in said["frames"]
        )
        times = [frame.at_s for frame in frames if frame.box is not None] or [0.0]
        of_clip[digest] = Movement(
            said["kind"],
            float(said["confidence"]),
            frames,
            *(min(times), max(times), said.get("own_kind", ""), float(said.get("score", 0.0))),
            tuple(map(_read_seen, said.get("marks", ()))),
        )
    marks = {
        kind: tuple(MovementMark(*each) for each in listed)
        for kind, listed in values.get("marks", {}).items()
    }
    for digest, movement in of_clip.items():
        if any(seen.mark >= len(marks.get(movement.own_kind, ())) for seen in movement.marks):
            raise UnsoundError(f"clips.{digest}.marks must be of those of its kind")
    return Movements(of_clip, int(values["n_asked"]), int(values["n_right"]), marks)


def _read_seen(row: list[Any]) -> SeenMark:
    number, adds, start_s, end_s, picture, box, (right, down) = row
    return SeenMark(number, adds, start_s, end_s, picture, _read_box(box), (right, down))
