"""Where the marks of each kind are: learnt from its best examples, found in new images.

A few exemplars of each kind are cut into regions. For each kind, a
:class:`~fieldguide.locate.RegionSelector` learns a linear function on regions that is above 0
somewhere in each of its exemplars and below 0 everywhere in those of other kinds, its look-alikes
first. Regions that score high and stand out from the border of the picture
(:func:`~fieldguide.locate.find_objects`) are outlined. Nobody has drawn a box.

How much is looked at grows with the collection: 15 % of it, or 160 pictures if that is more, up
to 6 exemplars of a kind and 2,400 in all, but never less than 3 of a kind; of very many kinds, the
largest.
"""

import json
import shutil
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fieldguide._parallel import map_in_order
from fieldguide._saving import FLOATS, Array, Part, pack, unpack
from fieldguide.chapters.places.records import Located, Place
from fieldguide.chapters.places.regions import (
    CutPicture,
    cut_missing,
    open_cutter,
    unpack_regions,
)
from fieldguide.errors import FieldguideWarning, GuideError
from fieldguide.guide import folder as files
from fieldguide.guide import register, specimens
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.views import Kind
from fieldguide.guide.workspace import Workspace
from fieldguide.locate import (
    Finding,
    Regions,
    RegionSelector,
    find_objects,
    to_regions,
    trace_outlines,
)
from fieldguide.svm import LinearFunctions

NAME = "places"
ANSWER = Located
FILE = "models/places"
VERSION = 1  # raise it when places are found in another way: earlier ones are then not kept
SHARE, LEAST, MOST = 0.15, 160, 2400  # of the collection that is looked at
LEAST_OF_KIND, MOST_OF_KIND = 3, 6
N_BASIS, N_FOR_BASIS = 256, 3000  # directions that rows are seen in; rows that these are found from
N_NEGATIVE = 32  # pictures of other kinds that a kind is told from, half of them of look-alikes
CAP, C = 1 / 3, 1.0  # these and the next: the best of a few tried on drawn specimens
POSITIVE = 8.0  # what all exemplars of a kind cost together, in units of C
MOST_PLACES = 4  # in one picture
LEAST_SHARE = 0.01  # of the picture that a second place must cover
_FUNCTIONS = Part(
    LinearFunctions,
    {
        "coef": Array(FLOATS, "n_functions", "n_features"),
        "intercept": Array(FLOATS, "n_functions"),
    },
)
_UNIT = 1000  # outlines are stored in thousandths of width and height


class PlaceModel(NamedTuple):
    """What a guide knows of places."""

    kinds: tuple[str, ...]
    functions: LinearFunctions  # one for each kind, on the rows of regions
    of_picture: dict[str, Located]  # by the digest of a picture

    def answer(self, sighting: Sighting) -> Located | None:
        """Return where the likeliest kind shows; None where it was not looked at."""
        kind = sighting.kinds[0].name
        cut = self.cut(sighting) if kind in self.kinds else None
        return None if cut is None else self.locate(cut, kind)

    def cut(self, sighting: Sighting) -> CutPicture | None:
        """Return the regions of a new image; None with a network without a map of places."""
        return sighting.keep(NAME, lambda: self._cut(sighting))

    def _cut(self, sighting: Sighting) -> CutPicture | None:
        models = sighting.models
        cutter = models.keep(NAME, lambda: open_cutter(models.embedder))
        if cutter is None:
            return None
        if cutter.n_columns != self.functions.n_features:
            raise GuideError("The places do not fit the network; build the guide again.")
        return cutter.cut(sighting.image)

    def locate(self, cut: CutPicture, kind: str) -> Located:
        """Return where in a picture a kind shows; KeyError for a kind that was not looked at."""
        if kind not in self.kinds:
            raise KeyError(kind)
        k = self.kinds.index(kind)
        scores = cut.rows @ self.functions.coef[k] + self.functions.intercept[k]
        return find_places(kind, cut.regions, scores, cut.contrast)


def build(work: Workspace) -> None:
    """Learn the places of the kinds and write them, where there is a way to."""
    if not work.settings.marks:
        return
    kinds: tuple[Kind, ...] = work.built[register.NAME]
    digests = [record.digest for record in work.built[specimens.NAME].records]
    sample = choose_sample(kinds, len(digests))
    if len(sample) < 2:
        return
    pictures = {kind.name: [digests[i] for i in ids] for kind, ids in sample}
    questions = [(kind.name, choose_negatives(kind, pictures, work.seed)) for kind, _ in sample]
    inputs = _digest(work.network.name, work.seed, pictures, questions)
    if work.earlier.folder is not None and _keep_earlier(work.earlier.folder, work.draft, inputs):
        return
    cutter = open_cutter(work.settings.embedder)
    if cutter is None:
        return
    every = list(dict.fromkeys(digest for each in pictures.values() for digest in each))
    # Another number of threads may sum in another order.
    with threadpool_limits(1, "blas"):
        cut = cut_missing(work, every, cutter)
        model = _learn(questions, pictures, _Bags([p for p in every if p in cut], cut), work)
    if model is not None:
        save_places(model, work.draft, inputs)


def choose_sample(kinds: Sequence[Kind], n_specimens: int) -> list[tuple[Kind, tuple[int, ...]]]:
    """Return the kinds that are looked at, each with a few of its exemplars."""
    if not kinds:
        return []
    allowed = min(max(SHARE * n_specimens, LEAST), MOST)
    n_each = int(np.clip(allowed // len(kinds), LEAST_OF_KIND, MOST_OF_KIND))
    largest = sorted(kinds, key=lambda kind: (-kind.count, kind.name))[: MOST // n_each]
    return [(kind, kind.exemplars[:n_each]) for kind in sorted(largest, key=lambda k: k.name)]


def choose_negatives(kind: Kind, pictures: dict[str, list[str]], seed: int) -> list[str]:
    """Return pictures of other kinds, half of them of look-alikes; the same for the same seed."""
    name = int.from_bytes(blake2b(kind.name.encode(), digest_size=4).digest(), "little")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(name,)))
    alike = [other for other, _ in kind.look_alikes if other in pictures]
    others = [other for other in pictures if other != kind.name and other not in alike]
    first = _take_turns([pictures[other] for other in alike], rng)
    rest = _take_turns([pictures[other] for other in others], rng)
    half = first[: max(N_NEGATIVE // 2, N_NEGATIVE - len(rest))]
    own = set(pictures[kind.name])
    return [picture for picture in (*half, *rest) if picture not in own][:N_NEGATIVE]


def find_places(kind: str, regions: Regions, scores: np.ndarray, contrast: np.ndarray) -> Located:
    """Return the connected pieces of the regions that score high and stand out; never none."""
    found = find_objects(regions, scores, contrast=contrast)
    total = regions.labels.size
    shares = [float(regions.areas[piece].sum() / total) for piece in found.pieces]
    kept = [j for j, share in enumerate(shares) if j == 0 or share >= LEAST_SHARE][:MOST_PLACES]
    places = tuple(_describe(regions, found, j) for j in kept)
    covered = round(sum(shares[j] for j in kept), 4)
    return Located(kind, round(found.score, 4), covered, places)


def save_places(model: PlaceModel, draft: files.NewFiles, inputs: str) -> None:
    """Write what a guide knows of places."""
    arrays, functions = pack(_FUNCTIONS, model.functions)
    settings = {
        "functions": functions,
        "version": VERSION,
        "inputs": inputs,
        "kinds": list(model.kinds),
        "pictures": {digest: _to_record(found) for digest, found in model.of_picture.items()},
    }
    files.write_model(draft, FILE, arrays, settings)


def open_part(edition: Path, about: dict[str, Any]) -> PlaceModel | None:
    """Return what a guide knows of places, or None where it knows nothing."""
    if not (edition / f"{FILE}.safetensors").exists():
        return None
    return files.read_model(edition, FILE, "places", _from_state)


class _Bags:
    """The regions of many pictures: label maps, and rows in the directions where rows differ most.

    In a few hundred of those directions an SVM is several times faster, and the marks of drawn
    specimens were found as well as in all.
    """

    def __init__(self, pictures: Sequence[str], cut: Mapping[str, bytes]) -> None:
        self.labels: dict[str, np.ndarray] = {}
        self.rows: dict[str, np.ndarray] = {}
        self.contrast: dict[str, np.ndarray] = {}
        n_each = max(1, N_FOR_BASIS // max(len(pictures), 1))
        few = []
        for picture in pictures:
            rows = unpack_regions(cut[picture])[1]
            few.append(rows[:: max(1, len(rows) // n_each)][:n_each])
        self.basis = find_basis(np.concatenate(few)) if few else np.empty((0, 0), np.float32)
        for picture in pictures:
            labels, rows, contrast = unpack_regions(cut[picture])
            self.labels[picture], self.rows[picture] = labels, rows @ self.basis
            self.contrast[picture] = contrast


def find_basis(rows: np.ndarray) -> np.ndarray:
    """Return the directions of largest second moment, orthonormal columns, (d, at most N_BASIS)."""
    moments = rows.T.astype(np.float64) @ rows
    return np.ascontiguousarray(np.linalg.eigh(moments)[1][:, ::-1][:, :N_BASIS], dtype=np.float32)


def _learn(
    questions: Sequence[tuple[str, list[str]]],
    pictures: dict[str, list[str]],
    bags: _Bags,
    work: Workspace,
) -> PlaceModel | None:
    """Learn the function of each kind, and find its places in its own exemplars."""

    def learn(
        question: tuple[str, list[str]],
    ) -> tuple[LinearFunctions, list[tuple[str, Located]]] | None:
        kind, others = question
        own = [bags.rows[picture] for picture in pictures[kind] if picture in bags.labels]
        negative = [bags.rows[picture] for picture in others if picture in bags.labels]
        if not own or not negative:
            return None
        selector = select_regions(own, negative)
        shown = []
        for picture in dict.fromkeys(pictures[kind]):
            if picture in bags.labels:
                (scores,) = selector.instance_scores([bags.rows[picture]])
                regions = to_regions(bags.labels[picture])
                found = find_places(kind, regions, scores, bags.contrast[picture])
                shown.append((picture, found))
        return LinearFunctions(selector.coef_ @ bags.basis.T, selector.intercept_), shown

    known, functions, of_picture = [], [], {}
    with warnings.catch_warnings():
        # A search that ends early points at the regions that it has found by then.
        warnings.simplefilter("ignore", FieldguideWarning)
        answers = map_in_order(learn, questions, n_jobs=work.n_jobs)
        for k, ((kind, _), answer) in enumerate(zip(questions, answers, strict=True), start=1):
            if answer is not None:
                known.append(kind)
                functions.append(answer[0])
                of_picture.update(answer[1])
            work.progress("learning where marks are", k, len(questions))
    if not functions:
        return None
    coef = np.concatenate([function.coef for function in functions])
    intercept = np.concatenate([function.intercept for function in functions])
    return PlaceModel(tuple(known), LinearFunctions(coef, intercept), of_picture)


def select_regions(
    positive: Sequence[np.ndarray], negative: Sequence[np.ndarray]
) -> RegionSelector:
    """Return what has learnt which regions tell the bags of a kind from others."""
    selector = RegionSelector("linear", C=C * POSITIVE / len(positive), C_negative=C, cap=CAP)
    is_own = np.repeat([True, False], [len(positive), len(negative)])
    return selector.fit([*positive, *negative], is_own)


def _take_turns(lists: Sequence[list[str]], rng: np.random.Generator) -> list[str]:
    """Return the first entries of all lists, then the second ones; the lists in a drawn order."""
    drawn = [lists[k] for k in rng.permutation(len(lists))]
    longest = max(map(len, drawn), default=0)
    turns = [each[j] for j in range(longest) for each in drawn if j < len(each)]
    return list(dict.fromkeys(turns))


def _describe(regions: Regions, found: Finding, j: int) -> Place:
    height, width = regions.labels.shape
    is_inside = np.zeros(regions.n_regions, bool)
    is_inside[found.pieces[j]] = True
    box = (found.boxes[j] / (width, height, width, height)).round(4).tolist()
    outline = trace_outlines(is_inside[regions.labels])
    return Place((box[0], box[1], box[2], box[3]), outline, round(float(found.box_scores[j]), 4))


def _digest(network: str, seed: int, *parts: Any) -> str:
    text = json.dumps([VERSION, network, seed, *parts], ensure_ascii=False)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _keep_earlier(earlier: Path, draft: files.NewFiles, inputs: str) -> bool:
    """Copy the places of the earlier guide if they were found from the very same; say whether."""
    try:
        said = json.loads((earlier / f"{FILE}.json").read_text(encoding="utf-8"))
        if said["inputs"] != inputs or open_part(earlier, {}) is None:
            return False
    except (OSError, ValueError, KeyError, TypeError, GuideError):
        return False
    for name in (f"{FILE}.safetensors", f"{FILE}.json"):
        shutil.copyfile(earlier / name, draft.new(name))
    return True


def _to_record(found: Located) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "score": found.score,
        "share": found.share,
        "places": [
            {
                "box": " ".join(map(str, place.box)),
                "outline": [
                    " ".join(f"{round(x * _UNIT)},{round(y * _UNIT)}" for x, y in ring)
                    for ring in place.outline
                ],
                "score": place.score,
            }
            for place in found.places
        ],
    }


def _from_state(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> PlaceModel:
    functions = unpack(_FUNCTIONS, arrays, settings["functions"], "places")
    kinds = tuple(str(kind) for kind in settings["kinds"])
    if len(kinds) != len(functions.intercept):
        raise ValueError("its parts do not fit together")
    pictures = {str(digest): _read_record(each) for digest, each in settings["pictures"].items()}
    return PlaceModel(kinds, functions, pictures)


def _read_record(record: dict[str, Any]) -> Located:
    places = tuple(
        Place(
            _read_box(place["box"]),
            tuple(_read_ring(ring) for ring in place["outline"]),
            float(place["score"]),
        )
        for place in record["places"]
    )
    if not places:
        raise ValueError("a picture without a place")
    return Located(str(record["kind"]), float(record["score"]), float(record["share"]), places)


def _read_box(text: str) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = (_share(float(part)) for part in text.split())
    return x0, y0, x1, y1


def _read_ring(text: str) -> tuple[tuple[float, float], ...]:
    pairs = (point.split(",") for point in text.split())
    return tuple((_share(int(x) / _UNIT), _share(int(y) / _UNIT)) for x, y in pairs)


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{value} is no share of a picture")
    return value
