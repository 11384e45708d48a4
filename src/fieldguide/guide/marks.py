"""The field marks of each kind: found while a guide is built, read when it is open.

Marks are found on a sample of each kind: its most typical specimens, as unlike one another as
these allow. :mod:`fieldguide.guide.window_marks` has the network's words in windows of a picture,
:mod:`fieldguide.guide.word_marks` the visual words. Pictures are the guide's own copies. Everything
else than the outputs in windows is computed anew by each build, from the sample alone.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide.errors import GuideError
from fieldguide.features import BagOfWords, FeatureStack
from fieldguide.features._pool_maps import MonotoneMaps
from fieldguide.features.bag_of_words import FoundWords
from fieldguide.features.network import N_CLASSES, Network
from fieldguide.features.vocabulary import class_names
from fieldguide.guide import folder as files
from fieldguide.guide import window_marks, word_marks
from fieldguide.guide.editions import Draft
from fieldguide.guide.gather import Progress, Table
from fieldguide.guide.heat_pictures import draw_heat, encode_jpeg
from fieldguide.guide.journal import Journal
from fieldguide.guide.measure import Measured, picture_names
from fieldguide.guide.shelf import Shelf
from fieldguide.guide.summaries import choose_exemplars
from fieldguide.guide.views import HeatPicture, KindMarks, SeenMark, SeenMarks, WindowMark, WordMark
from fieldguide.guide.visual_words import encode_patches
from fieldguide.guide.window_marks import MEASURED, WINDOWS
from fieldguide.guide.word_marks import KindWords

SAMPLE, SAMPLE_SHARE = 160, 1 / 12  # specimens: so many, or this share of the collection
LEAST_EACH, MOST_EACH = 2, 8  # of a kind
N_HEAT = 3  # pictures of a kind with its words brought out
_ADDRESS = re.compile(r"pictures/marks/[0-9a-f]{32}\.(jpg|png)")


class Marks(NamedTuple):
    """All marks of a guide, and what finds them in a new picture."""

    kinds: dict[str, KindMarks]
    maps: MonotoneMaps | None  # of the outputs in windows; None without window marks
    bag: BagOfWords | None  # None without visual words, or where they are those of the stack
    heat: np.ndarray | None  # (n_kinds, n_words − 1) what a window of a word adds to the heat
    uses_stack: bool


def stage_marks(
    table: Table,
    X: np.ndarray,
    stack: FeatureStack | None,
    network: Network,
    journal: Journal,
    known: dict[str, np.ndarray],
    draft: Draft,
    progress: Progress,
    *,
    seed: int,
    n_jobs: int,
) -> set[str]:
    """Find the marks of each kind and stage them; return the addresses of their pictures.

    ``known`` has the outputs in windows of files that an earlier build has looked at.
    """
    kinds, index, ids = draw_sample(table.kinds, X)
    if len(kinds) < 2:
        return set()
    names = [f"{table.records[i].path}\0{table.records[i].stamp}" for i in ids]
    arrays: dict[str, np.ndarray] = {"sample": ids}
    windows: list[list[WindowMark]] = [[] for _ in kinds]
    if "logits" in table.features and table.features["logits"].shape[1] == N_CLASSES:
        measured = window_marks.measure_windows(
            *(lambda i: _open_picture(draft.root, table.records[ids[i]]), names, network),
            *(journal, known),
            n_jobs=n_jobs,
            progress=progress,
        )
        outputs = np.hstack([np.asarray(table.features["logits"][ids]), measured])
        votes = window_marks.fit_window_votes(outputs, index, n_jobs)
        windows = window_marks.list_window_marks(votes, outputs, index, ids)
        arrays |= {"outputs": measured} | votes.maps._asdict()
    progress("weighing visual words", 0, 1)
    images = [_open_picture(draft.root, table.records[i]) for i in ids]
    known_bag = None if stack is None else stack.descriptors_.get("words")
    bag = known_bag or word_marks.learn_vocabulary(images, seed, n_jobs)
    chosen: list[KindWords] | None = None
    if bag is not None:
        found = word_marks.find_words(bag, images, n_jobs)
        histograms = np.stack([word_marks.count_words(f, bag.n_words) for f in found])
        chosen = word_marks.choose_words(histograms, index, len(kinds), n_jobs)
    entries = []
    for k, kind in enumerate(kinds):
        entry: dict[str, Any] = {"kind": kind, "windows": [m.__dict__ for m in windows[k]]}
        if bag is not None and chosen is not None:
            rows = np.flatnonzero(index == k)[:N_HEAT]
            entry |= _write_words(images, found, chosen[k], index == k, draft.shelf)
            entry["heat"] = [
                {"specimen": int(ids[i]), "picture": picture, "width": width, "height": height}
                for i, picture, (width, height) in _write_heat(
                    images, found, chosen[k], rows, draft.shelf, n_jobs
                )
            ]
        entries.append(entry)
    settings = {"kinds": entries, "files": names, "measured": MEASURED, "bag": None}
    if bag is not None and chosen is not None:
        arrays["heat"] = np.stack([words.heat for words in chosen])
        settings["bag"] = "stack"
        if known_bag is None:
            parts, settings["bag"] = _pack_bag(bag)
            arrays |= parts
    files.write_model(draft, files.MARKS, arrays, settings)
    return {
        shown["picture"] for entry in entries for name in ("words", "heat")
        for shown in entry.get(name, ())
    }  # fmt: skip


def draw_sample(
    kinds: Sequence[str | None], X: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the kinds, and the kind's number and the specimen of each row of the sample."""
    labels = np.array(["" if kind is None else kind for kind in kinds])
    is_known = np.array([kind is not None for kind in kinds])
    names = sorted({kind for kind in kinds if kind is not None})
    budget = max(SAMPLE, int(SAMPLE_SHARE * len(kinds)))
    n_each = int(np.clip(budget // max(len(names), 1), LEAST_EACH, MOST_EACH))
    chosen = [
        choose_exemplars(X, np.flatnonzero(is_known & (labels == name)), n_each) for name in names
    ]
    index = np.repeat(np.arange(len(names)), [len(rows) for rows in chosen])
    return names, index, np.array([i for rows in chosen for i in rows], dtype=np.int64)


def read_known_windows(folder: Path | None) -> dict[str, np.ndarray]:
    """Return the outputs in windows that an edition has, by file; {} where it has none."""
    if folder is None:
        return {}

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> dict[str, np.ndarray]:
        if tuple(settings["measured"]) != MEASURED:
            return {}
        return dict(zip(settings["files"], arrays["outputs"], strict=True))

    try:
        return files.read_model(folder, files.MARKS, "marks", make)
    except GuideError:
        return {}


def open_marks(folder: Path, n_specimens: int) -> Marks | None:
    """Return the marks of a guide, every value checked; None for a guide without."""
    if not (folder / f"{files.MARKS}.json").exists():
        return None

    def make(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Marks:
        return _read_marks(arrays, settings, n_specimens)

    return files.read_model(folder, files.MARKS, "marks", make)


def see_marks(
    marks: Marks, kind: str, image: Image.Image, network: Network, stack: FeatureStack | None
) -> SeenMarks:
    """Say which marks of a kind a new picture shows, and where."""
    own = marks.kinds[kind]
    seen: tuple[SeenMark, ...] = ()
    if marks.maps is not None:
        seen = window_marks.see_window_marks(own.windows, marks.maps, network, image)
    bag = stack.descriptors_["words"] if marks.uses_stack and stack is not None else marks.bag
    heat = None
    if bag is not None and marks.heat is not None:
        (found,) = word_marks.find_words(bag, [image], 1)
        heat = word_marks.spread_heat(found, marks.heat[list(marks.kinds).index(kind)])
    return SeenMarks(kind, seen, heat)


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
    words: KindWords,
    is_kind: np.ndarray,
    shelf: Shelf,
) -> dict[str, Any]:
    """Write windows of the heaviest words; return what is said of them."""
    entries = []
    for word in np.argsort(-words.weights, kind="stable")[: word_marks.N_MARKS]:
        if words.weights[word] <= 0:
            break
        rows = np.flatnonzero(is_kind != words.lacks[word]).tolist()
        patches = word_marks.cut_patches(
            [images[i] for i in rows], [found[i] for i in rows], int(word)
        )
        entries.append(
            {
                "number": int(word),
                "lacks": bool(words.lacks[word]),
                "weight": float(words.weights[word]),
                "n_patches": len(patches),
                "picture": shelf.keep("marks", encode_patches(patches), "png"),
            }
        )
    path = {"path": words.path, "enough": words.enough, "n_words": len(words.weights)}
    return {"words": entries, **path}


def _write_heat(
    images: Sequence[Image.Image],
    found: Sequence[FoundWords],
    words: KindWords,
    rows: np.ndarray,
    shelf: Shelf,
    n_jobs: int,
) -> Iterator[tuple[int, str, tuple[int, int]]]:
    def write(i: int) -> tuple[int, str, tuple[int, int]]:
        drawn = draw_heat(images[i], word_marks.spread_heat(found[i], words.heat))
        return i, shelf.keep("marks", encode_jpeg(drawn), "jpg"), drawn.size

    yield from map_in_order(write, rows, n_jobs=n_jobs)


def _pack_bag(bag: BagOfWords) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    arrays, settings = bag.set_params(n_jobs=1).to_state()
    return {f"bag_{name}": array for name, array in arrays.items()}, settings


def _read_marks(arrays: dict[str, np.ndarray], settings: dict[str, Any], n_specimens: int) -> Marks:
    """Return the marks from what was written; KeyError, ValueError, TypeError if damaged."""
    kinds = {str(entry["kind"]): _read_kind(entry, n_specimens) for entry in settings["kinds"]}
    maps, bag, heat = None, None, None
    if "centre" in arrays:
        maps = MonotoneMaps(*(arrays[name] for name in MonotoneMaps._fields))
        if any(array.shape != (len(WINDOWS) * N_CLASSES,) for array in maps):
            raise ValueError("the maps of the windows have another length")
    uses_stack = settings["bag"] == "stack"
    if settings["bag"] is not None:
        heat = arrays["heat"]
        if not uses_stack:
            own = {name[4:]: array for name, array in arrays.items() if name.startswith("bag_")}
            bag = BagOfWords.from_state(own, settings["bag"])
        n_words = heat.shape[1] if bag is None else bag.n_words - 1
        if heat.shape != (len(kinds), n_words) or not np.isfinite(heat).all():
            raise ValueError("the weights of the words do not fit the kinds")
    return Marks(kinds, maps, bag, heat, uses_stack)


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
