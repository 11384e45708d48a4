"""The field marks of each kind: found while a guide is built, read when it is open.

Marks are found on a sample of each kind: its most typical specimens, as unlike one another as
these allow. ``windows.py`` has the network's words in windows of a picture, ``words.py`` the visual
words. Pictures are the guide's own copies. Everything else than the outputs in windows is computed
anew by each build, from the sample alone.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide.chapters.marks import windows, words
from fieldguide.chapters.marks.heat import draw_heat, encode_jpeg
from fieldguide.chapters.marks.records import (
    HeatPicture,
    ImageMarks,
    KindMarks,
    SeenMark,
    SeenMarks,
    WindowMark,
    WordMark,
)
from fieldguide.chapters.marks.windows import MEASURED, WINDOWS
from fieldguide.chapters.marks.words import KindWords
from fieldguide.errors import GuideError
from fieldguide.features import BagOfWords, ClassifierPool, FoundWords
from fieldguide.features.network import N_CLASSES
from fieldguide.features.vocabulary import class_names
from fieldguide.guide import folder as files
from fieldguide.guide import rows, specimens
from fieldguide.guide.measure import Measured, picture_names
from fieldguide.guide.rows import Rows
from fieldguide.guide.shelf import Shelf
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.specimens import Table
from fieldguide.guide.summaries import choose_exemplars
from fieldguide.guide.visual_words import encode_patches
from fieldguide.guide.workspace import Workspace

SAMPLE, SAMPLE_SHARE = 160, 1 / 12  # specimens: so many, or this share of the collection
LEAST_EACH, MOST_EACH = 2, 8  # of a kind
N_HEAT = 3  # pictures of a kind with its words brought out
NAME = "marks"
ANSWER = ImageMarks
FILE = "models/marks"
_ADDRESS = re.compile(r"pictures/marks/[0-9a-f]{32}\.(jpg|png)")


class Sample(NamedTuple):
    """The specimens that marks are found on."""

    kinds: list[str]
    kind_of: np.ndarray  # (n,) the number of the kind
    ids: np.ndarray  # (n,) the specimen


class Marks(NamedTuple):
    """All marks of a guide, and what finds them in a new picture."""

    kinds: dict[str, KindMarks]
    pool: ClassifierPool | None  # of the outputs in windows; None without window marks
    bag: BagOfWords | None  # None without visual words, or where they are those of the stack
    heat: np.ndarray | None  # (n_kinds, n_words − 1) what a window of a word adds to the heat
    uses_stack: bool

    def answer(self, sighting: Sighting) -> ImageMarks | None:
        """Return which marks of its likeliest kind a new picture shows; None without any."""
        kind = sighting.kinds[0].name
        return ImageMarks.from_seen(self.see(sighting, kind)) if kind in self.kinds else None

    def see(self, sighting: Sighting, kind: str) -> SeenMarks:
        """Say which marks of a kind a new picture shows, and where."""
        seen: tuple[SeenMark, ...] = ()
        if self.pool is not None:
            seen = windows.see_window_marks(self.kinds[kind].windows, self.pool, sighting)
        stack = sighting.models.stack
        bag = stack.descriptors_["words"] if self.uses_stack and stack is not None else self.bag
        heat = None
        if bag is not None and self.heat is not None:
            (found,) = words.find_words(bag, [sighting.image], 1)
            heat = words.spread_heat(found, self.heat[list(self.kinds).index(kind)])
        return SeenMarks(kind, seen, heat)


def build(work: Workspace) -> None:
    """Find the marks of each kind and write them."""
    work.info["settings"]["marks"] = work.settings.marks
    if not work.settings.marks:
        return
    table: Table = work.built[specimens.NAME]
    found: Rows = work.built[rows.NAME]
    sample = draw_sample(table.kinds, found.X)
    if len(sample.kinds) < 2:
        return
    records = [table.records[i] for i in sample.ids]
    names = [f"{record.path}\0{record.stamp}" for record in records]
    images = [_open_picture(work.draft.root, record) for record in records]
    arrays: dict[str, np.ndarray] = {"sample": sample.ids}
    marks: list[list[WindowMark]] = [[] for _ in sample.kinds]
    logits, pool = table.features.get("logits"), None
    if logits is not None and logits.shape[1] == N_CLASSES:
        known = read_known_windows(work.earlier.folder)
        measured = windows.measure_windows(work, images, names, known)
        outputs = np.hstack([np.asarray(logits[sample.ids]), measured])
        votes = windows.fit_window_votes(outputs, sample.kind_of, work.network.name, work.n_jobs)
        marks = windows.list_window_marks(votes, outputs, sample.kind_of, sample.ids)
        parts, pool = _pack_model("pool", votes.pool)
        arrays |= {"outputs": measured} | parts
    entries: list[dict[str, Any]] = [
        {"kind": kind, "windows": [mark.__dict__ for mark in own]}
        for kind, own in zip(sample.kinds, marks, strict=True)
    ]
    settings: dict[str, Any] = {
        "kinds": entries, "files": names, "measured": windows.MEASURED, "pool": pool, "bag": None
    }  # fmt: skip
    work.progress("weighing visual words", 0, 1)
    own_bag = None if found.stack is None else found.stack.descriptors_.get("words")
    bag = own_bag or words.learn_vocabulary(images, work.seed, work.n_jobs)
    chosen = None if bag is None else _choose_words(work, sample, images, bag, entries)
    if chosen is not None:
        arrays["heat"] = np.stack([own.heat for own in chosen])
        settings["bag"] = "stack"
        if own_bag is None and bag is not None:
            parts, settings["bag"] = _pack_model("bag", bag)
            arrays |= parts
    files.write_model(work.draft, FILE, arrays, settings)
    for entry in entries:
        for shown in (*entry.get("words", ()), *entry.get("heat", ())):
            work.pictures.add(shown["picture"])


def _choose_words(
    work: Workspace,
    sample: Sample,
    images: Sequence[Image.Image],
    bag: BagOfWords,
    entries: list[dict[str, Any]],
) -> list[KindWords] | None:
    """Choose the visual words of each kind, and add them with their pictures to its entry."""
    found = words.find_words(bag, images, work.n_jobs)
    histograms = np.stack([words.count_words(f, bag.n_words) for f in found])
    chosen = words.choose_words(histograms, sample.kind_of, len(sample.kinds), work.n_jobs)
    if chosen is None:
        return None
    for k, entry in enumerate(entries):
        own = np.flatnonzero(sample.kind_of == k)[:N_HEAT]
        shelf = work.draft.shelf
        entry |= _write_words(images, found, chosen[k], sample.kind_of == k, shelf)
        entry["heat"] = [
            {
                "specimen": int(sample.ids[i]),
                "picture": picture,
                "width": width,
                "height": height,
            }
            for i, picture, (width, height) in _write_heat(
                images, found, chosen[k], own, shelf, work.n_jobs
            )
        ]
    return chosen


def draw_sample(kinds: Sequence[str | None], X: np.ndarray) -> Sample:
    """Return the specimens of each kind that marks are found on."""
    labels = np.array(["" if kind is None else kind for kind in kinds])
    is_known = np.array([kind is not None for kind in kinds])
    names = sorted({kind for kind in kinds if kind is not None})
    budget = max(SAMPLE, int(SAMPLE_SHARE * len(kinds)))
    n_each = int(np.clip(budget // max(len(names), 1), LEAST_EACH, MOST_EACH))
    chosen = [
        choose_exemplars(X, np.flatnonzero(is_known & (labels == name)), n_each) for name in names
    ]
    index = np.repeat(np.arange(len(names)), [len(own) for own in chosen])
    return Sample(names, index, np.array([i for own in chosen for i in own], dtype=np.int64))


def read_known_windows(folder: Path | None) -> dict[str, np.ndarray]:
    """Return the outputs in windows that an edition has, by file; {} where it has none."""
    if folder is None:
        return {}

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> dict[str, np.ndarray]:
        if tuple(settings["measured"]) != MEASURED:
            return {}
        return dict(zip(settings["files"], arrays["outputs"], strict=True))

    try:
        return files.read_model(folder, FILE, "marks", make)
    except GuideError:
        return {}


def open_part(edition: Path, about: dict[str, Any]) -> Marks | None:
    """Return the marks of a guide, every value checked; None for a guide without."""
    if not (edition / f"{FILE}.json").exists():
        return None

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Marks:
        return _read_marks(arrays, settings, about["n_specimens"])

    return files.read_model(edition, FILE, "marks", make)


def _open_picture(out: Path, record: Measured) -> Image.Image:
    address = picture_names(record.digest, record.has_large)[1]
    try:
        with Image.open(out / address) as image:
            return image.convert("RGB")
    except OSError as error:
        raise GuideError(
            f"The picture {address!r} of {record.path!r} cannot be read ({error}); delete it and "
            "run the same build again, which makes it anew."
        ) from None


def _write_words(
    images: Sequence[Image.Image],
    found: Sequence[FoundWords],
    own: KindWords,
    is_kind: np.ndarray,
    shelf: Shelf,
) -> dict[str, Any]:
    """Write windows of the heaviest words; return what is said of them."""
    entries = []
    for word in np.argsort(-own.weights, kind="stable")[: words.N_MARKS]:
        if own.weights[word] <= 0:
            break
        rows = np.flatnonzero(is_kind != own.lacks[word]).tolist()
        patches = words.cut_patches([images[i] for i in rows], [found[i] for i in rows], int(word))
        entries.append(
            {
                "number": int(word),
                "lacks": bool(own.lacks[word]),
                "weight": float(own.weights[word]),
                "n_patches": len(patches),
                "picture": shelf.keep("marks", encode_patches(patches), "png"),
            }
        )
    path = {"path": own.path, "enough": own.enough, "n_words": len(own.weights)}
    return {"words": entries, **path}


def _write_heat(
    images: Sequence[Image.Image],
    found: Sequence[FoundWords],
    own: KindWords,
    rows: np.ndarray,
    shelf: Shelf,
    n_jobs: int,
) -> Iterator[tuple[int, str, tuple[int, int]]]:
    def write(i: int) -> tuple[int, str, tuple[int, int]]:
        drawn = draw_heat(images[i], words.spread_heat(found[i], own.heat))
        return i, shelf.keep("marks", encode_jpeg(drawn), "jpg"), drawn.size

    yield from map_in_order(write, rows, n_jobs=n_jobs)


def _pack_model(
    name: str, model: BagOfWords | ClassifierPool
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    arrays, settings = model.set_params(n_jobs=1).to_state()
    return {f"{name}_{field}": array for field, array in arrays.items()}, settings


def _find_arrays(name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a model among those of all."""
    own = (field for field in arrays if field.startswith(f"{name}_"))
    return {field.removeprefix(f"{name}_"): arrays[field] for field in own}


def _read_marks(arrays: dict[str, np.ndarray], settings: dict[str, Any], n_specimens: int) -> Marks:
    """Return the marks from what was written; KeyError, ValueError, TypeError if damaged."""
    kinds = {str(entry["kind"]): _read_kind(entry, n_specimens) for entry in settings["kinds"]}
    pool, bag, heat = None, None, None
    if settings["pool"] is not None:
        pool = ClassifierPool.from_state(_find_arrays("pool", arrays), settings["pool"])
        if [part[:3] for part in pool.parts_] != [("outputs", WINDOWS, class_names())]:
            raise ValueError("the pool is not one of outputs in six windows")
    uses_stack = settings["bag"] == "stack"
    if settings["bag"] is not None:
        heat = arrays["heat"]
        if not uses_stack:
            bag = BagOfWords.from_state(_find_arrays("bag", arrays), settings["bag"])
        n_words = heat.shape[1] if bag is None else bag.n_words - 1
        if heat.shape != (len(kinds), n_words) or not np.isfinite(heat).all():
            raise ValueError("the weights of the words do not fit the kinds")
    return Marks(kinds, pool, bag, heat, uses_stack)


def _read_kind(entry: dict[str, Any], n_specimens: int) -> KindMarks:
    windows = tuple(
        WindowMark(
            _check(mark["word"], mark["word"] in class_names()),
            bool(mark["lacks"]),
            float(mark["weight"]),
            tuple((_check_window(name), float(w)) for name, w in mark["windows"]),
            float(mark["typical"]),
            float(mark["elsewhere"]),
            tuple((_check_id(i, n_specimens), _check_window(w)) for i, w in mark["specimens"]),
        )
        for mark in entry["windows"]
    )  # fmt: skip
    words = tuple(
        WordMark(
            int(mark["number"]),
            bool(mark["lacks"]),
            float(mark["weight"]),
            int(mark["n_patches"]),
            _check(mark["picture"], _ADDRESS.fullmatch(mark["picture"])),
        )
        for mark in entry.get("words", ())
    )
    heat = tuple(
        HeatPicture(
            _check_id(shown["specimen"], n_specimens),
            _check(shown["picture"], _ADDRESS.fullmatch(shown["picture"])),
            int(shown["width"]),
            int(shown["height"]),
        )
        for shown in entry.get("heat", ())
    )
    path = tuple((int(n), float(score)) for n, score in entry.get("path", ()))
    enough = entry.get("enough")
    return KindMarks(
        *(str(entry["kind"]), windows, words, int(entry.get("n_words", 0)), path),
        None if enough is None else int(enough),
        heat,
    )


def _check(value: Any, is_fine: Any) -> Any:
    if not is_fine:
        raise ValueError(f"{value!r} is not what it should be")
    return value


def _check_window(name: Any) -> str:
    return str(_check(name, name in WINDOWS))


def _check_id(value: Any, n_specimens: int) -> int:
    return int(_check(value, isinstance(value, int) and 0 <= value < n_specimens))
