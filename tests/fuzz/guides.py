"""Fuzzers of the files of a guide: guide.json, catalogue, models, journal, edits.

Each harms one file of a copy, opens the guide, and where it opens asks what people ask.
"""

import json
import random
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

from fieldguide.chapters import OPTIONAL
from fieldguide.errors import EditError, FieldguideError, GuideError
from fieldguide.guide import Guide
from fieldguide.guide.journal import Journal
from fieldguide.guide.measure import Measured
from fieldguide.site.render import Renderer
from tests.fuzz.harm import harm_bytes, harm_database, harm_json
from tests.fuzz.runner import Fuzzer


class Copy(NamedTuple):
    """A copy of a guide, and the files of it that are harmed."""

    folder: Path
    edition: Path
    whole: dict[Path, bytes]


def copy_guide(source: Path, folder: Path, patterns: tuple[str, ...]) -> Copy:
    """Return a fresh copy of a guide."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    number = json.loads((folder / "guide.json").read_text())["edition"]
    edition = folder / "editions" / str(number)
    paths = sorted({p for pattern in patterns for p in folder.glob(pattern) if p.is_file()})
    return Copy(folder, edition, {path: path.read_bytes() for path in paths})


def ask_pages(guide: Guide, rng: random.Random, n: int = 3) -> None:
    """Show some pages of a guide, and find something."""
    renderer = Renderer(guide, live=True)
    addresses = [*renderer.book]
    for address in ["index.html", "about.html", *rng.sample(addresses, min(n, len(addresses)))]:
        renderer.page(address)
    guide.find(rng.choice(("disc", "red, -green", "doubt", "date:2021", "x" * 50)))
    guide.describe()
    repr(guide)
    guide._repr_html_()


def _prepare(name: str, *patterns: str, of: str = "small"):
    def prepare(work: Path, guides: dict[str, Path]) -> Copy:
        copy = copy_guide(guides[of], work / f"{name}-guide", patterns)
        ask_pages(Guide.open(copy.folder), random.Random(0))  # compiles templates before the fork
        return copy

    return prepare


def attempt_info(copy: Copy, seed: int) -> bool:
    rng = random.Random(seed)
    ((path, data),) = copy.whole.items()
    path.write_bytes(harm_json(data.decode(), rng))
    guide = Guide.open(copy.folder)
    ask_pages(guide, rng, 1)
    guide.verdict  # noqa: B018
    return True


def attempt_catalogue(copy: Copy, seed: int) -> bool:
    rng = random.Random(seed)
    ((path, data),) = copy.whole.items()
    path.write_bytes(data)
    harm_database(path, rng)
    guide = Guide.open(copy.folder)
    ask_pages(guide, rng)
    return True


def attempt_edits(copy: Copy, seed: int) -> bool:
    rng = random.Random(seed)
    lines = [
        {"number": 1, "verb": "rename", "target": {"kind": "disc"}, "value": "moon", "time": "x"},
        {"number": 2, "verb": "exclude", "target": {"specimen": "disc/000000.png"}, "value": ""},
        {"number": 3, "verb": "undo", "undoes": 1},
        *copy.whole.get("lines", ()),
    ]
    texts = [json.dumps(line) for line in lines] + copy_lines(copy)
    rng.shuffle(texts)
    harmed = [harm_json(text, rng) if rng.random() < 0.5 else text.encode() for text in texts]
    (copy.folder / "edits.jsonl").write_bytes(b"\n".join(harmed) + b"\n")
    guide = Guide.open(copy.folder)
    ask_pages(guide, rng, 1)
    list(guide.edits)
    return True


def copy_lines(copy: Copy) -> list[str]:
    """Return the edits that the copy had, made by the real thing."""
    kept = copy.folder / "edits.kept"
    if not kept.exists():
        guide = Guide.open(copy.folder)
        for verb, target, value in (
            ("rename", "kind:disc", "moon"),
            ("merge", "kind:square", "stripe"),
            ("kind", "0", "stripe"),
            ("word", "1", "shiny"),
            ("exclude", "2", ""),
            ("pin", "3", ""),
            ("hide", "branch:1", ""),
            ("note", "guide", "hello"),
        ):
            try:
                guide.edits.add(verb, target, value)
            except EditError:
                continue
            guide = Guide.open(copy.folder)
        log = copy.folder / "edits.jsonl"
        kept.write_bytes(log.read_bytes() if log.exists() else b"")
    return kept.read_text().splitlines()


def attempt_file(copy: Copy, seed: int) -> bool:
    rng = random.Random(seed)
    path = rng.choice(sorted(copy.whole))
    try:
        if path.suffix == ".json":
            path.write_bytes(harm_json(copy.whole[path].decode(), rng))
        elif rng.random() < 0.3:
            path.write_bytes(harm_bytes(copy.whole[path], rng))
        elif path.suffix == ".npy":
            harm_matrix(path, rng)
        else:
            harm_arrays(path, rng)
        ask_models(Guide.open(copy.folder), rng)
    finally:
        path.write_bytes(copy.whole[path])
    return True


def harm_matrix(path: Path, rng: random.Random) -> None:
    """Spoil a matrix in a file that is whole: its values, its width, its type."""
    array = np.load(path)
    way = rng.randrange(5)
    if way == 0:
        array = array[:, : rng.randrange(array.shape[1] + 1)]
    elif way == 1:
        array = np.hstack([array, array[:, : 1 + rng.randrange(9)]])
    elif way == 2:
        array = array.astype(rng.choice(("f8", "i4", "f2")))
    else:
        values = (np.nan, np.inf, -np.inf, 1e38, -1e38, 0.0, -1.0, 2.0)
        rows = slice(None) if way == 3 else rng.randrange(len(array))
        columns = slice(None) if rng.random() < 0.5 else rng.randrange(array.shape[1])
        array[rows, columns] = rng.choice(values)
    np.save(path, array)


def harm_arrays(path: Path, rng: random.Random) -> None:
    """Spoil the arrays of a safetensors file, in a file that is whole: circles, NaN, sizes."""
    from tests.test_saving import WAYS, harm_array

    arrays = load_file(path) or {"none": np.zeros(2)}
    name = rng.choice(sorted(arrays))
    way = rng.choice(("gone", "new", *WAYS))
    if way == "gone":
        del arrays[name]
    elif way == "new":
        arrays[f"{name}x"] = np.zeros(3)
    else:
        harmed = harm_array(arrays[name], way, np.random.default_rng(rng.randrange(2**32)))
        if isinstance(harmed, np.ndarray) and harmed.dtype.kind in "biuf":
            arrays[name] = np.ascontiguousarray(harmed.astype(harmed.dtype.newbyteorder("=")))
    save_file(arrays, path)


def ask_models(guide: Guide, rng: random.Random) -> None:
    """Ask every model of a guide for something, without the network."""
    models = guide._models
    rows = models.rows[:3]
    if models.key is not None and np.isfinite(rows).all():
        models.key.predict_proba(rows)
        guide.couplets  # noqa: B018
    if models.annotation is not None:
        models.annotation.detect(rows)
    for name in ("familiarity", "stack", "word_model", "attributes", "said"):
        getattr(models, name)
    guide.subject(0)
    guide.neighbours([0, 1])
    for name in OPTIONAL:
        models.part(name)
    guide.visual_words  # noqa: B018
    for kind in guide.kinds:
        guide.marks(kind.name)
    guide.check()
    guide.characters  # noqa: B018
    guide.dichotomy  # noqa: B018
    ask_pages(guide, rng, 2)


def prepare_journal(work: Path, guides: dict[str, Path]) -> Copy:
    """Return the journal of a build that was killed."""
    folder = work / "journal-guide"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    journal = Journal(folder, "settings")
    journal.start_edition(2)
    journal.note("editions/2/catalogue.sqlite")
    row = np.zeros(4, dtype=np.float32)
    arrays = {"properties": row, "embedding": row, "logits": None}
    journal.write(
        [
            Measured("a.png", "9-9", digest="0" * 24, width=8, height=8, **arrays),
            Measured("b.png", "8-8", reason="damaged"),
        ]
    )
    journal.kept("chains")["x"] = b"abc"
    journal.kept("rows")["a.png\x009-9"] = b"abc"
    journal.close()
    path = folder / "build.journal"
    return Copy(folder, folder, {path: path.read_bytes()})


def attempt_journal(copy: Copy, seed: int) -> bool:
    rng = random.Random(seed)
    ((path, data),) = copy.whole.items()
    for old in copy.folder.glob("build.journal*"):
        old.unlink()
    path.write_bytes(data)
    harm_database(path, rng)
    journal = Journal(copy.folder, "settings")
    try:
        journal.edition()
        journal.noted()
        journal.pictures()
        journal.digests()
        journal.failed()
        journal.taken()
        for name in journal.stamps():
            journal.read(name)
        journal.kept("chains").get("x")
        journal.note("editions/2/more")
    finally:
        journal.close()
    return True


REFUSALS = (GuideError,)
INFO = Fuzzer("info", _prepare("info", "guide.json"), attempt_info, REFUSALS)
CATALOGUE = Fuzzer(
    "catalogue", _prepare("catalogue", "editions/*/catalogue.sqlite"), attempt_catalogue, REFUSALS
)
MODELS = Fuzzer("models", _prepare("models", "editions/*/models/*"), attempt_file, REFUSALS)
WORDED = Fuzzer(
    "worded", _prepare("worded", "editions/*/models/*", of="worded"), attempt_file, REFUSALS
)
FEATURES = Fuzzer("features", _prepare("features", "editions/*/features/*"), attempt_file, REFUSALS)
EDITS = Fuzzer("edits", _prepare("edits"), attempt_edits, (FieldguideError,))
JOURNAL = Fuzzer("journal", prepare_journal, attempt_journal, (FieldguideError,))
