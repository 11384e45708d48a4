"""What needs a look: measured while a guide is built, judged when it is asked for.

A guide keeps the small form and the measures of every picture (``small.py``), the pairs that are
copies (``copies.py``) and how much each label is doubted (``labels.py``). Limits are applied when
the report is made (``judging.py``). Pictures that an earlier guide has measured are not read again.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fieldguide._saving import FLOATS, Array, Items, Part, Plain, pack, unpack
from fieldguide.chapters.check import judging
from fieldguide.chapters.check.alignment import match_pairs
from fieldguide.chapters.check.copies import Copies, find_copies
from fieldguide.chapters.check.labels import N_NEAR, Doubts, HeldOutAnswers, doubt_labels
from fieldguide.chapters.check.records import CopiedSpecimen, Finding, ImageCopies, Report
from fieldguide.chapters.check.small import WIDTH, Small, measure_picture, read_pictures
from fieldguide.errors import FieldguideError
from fieldguide.features import find_close
from fieldguide.guide import folder as files
from fieldguide.guide import key as key_chapter
from fieldguide.guide import specimens
from fieldguide.guide.key import Answers
from fieldguide.guide.measure import SMALL_PX, picture_names
from fieldguide.guide.models import Models
from fieldguide.guide.nearest import reduce_specimens
from fieldguide.guide.shards import find_processes
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.specimens import Table
from fieldguide.guide.views import Kind, Specimen
from fieldguide.guide.workspace import Workspace

if TYPE_CHECKING:
    from fieldguide.guide import Guide

NAME = "check"
ANSWER = ImageCopies
FILE = "models/check"
STEP = "looking for copies and doubtful labels"


class Checked(NamedTuple):
    """What a guide keeps."""

    small: Small
    copies: Copies
    doubts: Doubts
    kinds: list[str]  # that ``label`` and ``doubts.other`` number
    label: np.ndarray  # (n,) the kind of each specimen in this build; −1 for none


_CHECKED = Part(
    Checked,
    {
        "kinds": Items(Plain(), "n_kinds"),
        "label": Array("int64", "n", within=(-1, "n_kinds")),
        "small": Part(
            Small,
            {
                "pixels": Array("uint8", "n", WIDTH),
                "sharpness": Array(FLOATS, "n", low=0),
                "brightest": Array(FLOATS, "n", low=0, high=255),
            },
        ),
        "copies": Part(
            Copies,
            {
                "pairs": Array("int64", "n_pairs", 2, within=(0, "n")),
                "likeness": Array(FLOATS, "n_pairs", low=-1.001, high=1.001),
                "is_mirrored": Array("bool", "n_pairs"),
            },
        ),
        "doubts": Part(
            Doubts,
            {
                "doubt": Array(FLOATS, "n", low=0, high=1),
                "other": Array("int64", "n", within=(-1, "n_kinds")),
            },
        ),
    },
)


def build(work: Workspace) -> None:
    """Measure every picture, find copies, and doubt labels."""
    table: Table = work.built[specimens.NAME]
    work.progress(STEP, 0, 3)
    small = _read_small(work, table)
    work.progress(STEP, 1, 3)
    digests = [record.digest for record in table.records]
    copies = find_copies(
        *(small, table.features["embedding"], digests),
        n_jobs=work.n_jobs,
        processes=work.processes,
    )
    work.progress(STEP, 2, 3)
    kinds = sorted({kind for kind in table.kinds if kind is not None})
    numbers = {kind: k for k, kind in enumerate(kinds)}
    label = np.array(
        [-1 if kind is None else numbers[kind] for kind in table.kinds], dtype=np.int64
    )
    checked = Checked(small, copies, _doubt(work, label, numbers), kinds, label)
    files.write_model(work.draft, FILE, *pack(_CHECKED, checked, "check"))
    work.progress(STEP, 3, 3)


class CheckPart:
    """What a guide knows of what needs a look."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds that labels are judged by."""
        return self._checked.kinds

    @property
    def small(self) -> Small:
        """The small forms of all pictures."""
        return self._checked.small

    def report(self, guide: "Guide", models: Models) -> Report:
        """Return all that needs a look; not of what the owner has excluded or corrected."""
        checked, overlay = self._checked, guide.overlay
        all_of = guide.specimens(range(guide.n_specimens))
        findings = [
            *self._judge_labels(guide, all_of),
            *judging.judge_copies(
                all_of, _without(checked.copies, overlay.excluded), guide.shown_name
            ),
            *judging.judge_pictures(all_of, checked.small.sharpness, checked.small.brightest),
            *judging.judge_files(guide.unreadable),
            *judging.judge_kinds(guide.kinds, guide.about["confusions"], guide.shown_name),
        ]
        if "subjects" in guide.about["features"]:
            can_compare = models.least_subject is not None  # in a collection that is large enough
            sure = models.subjects[:, 4]
            findings += judging.judge_subjects(all_of, sure, can_compare=can_compare)
        kept = [each for each in findings if each.specimen not in overlay.excluded]
        return Report(judging.order_findings(kept))

    def _judge_labels(self, guide: "Guide", all_of: list[Specimen]) -> list[Finding]:
        checked, aliases = self._checked, guide.overlay.aliases
        if guide.kinds_are_found:  # nobody gave these labels
            return []
        names = [aliases.get(kind, kind) for kind in checked.kinds]
        found = judging.judge_labels(all_of, checked.doubts, names, guide.shown_name)
        known = {kind.name for kind in guide.kinds}
        return [
            each
            for each in found
            if each.kinds[0] == names[checked.label[each.specimen]]  # else it was corrected
            and each.kinds[0] != each.kinds[1]
            and known.issuperset(each.kinds)
        ]

    def answer(self, sighting: Sighting) -> ImageCopies | None:
        """Return the specimens that a new image is a copy of; None where it is of none."""
        image = sighting.image.copy()
        image.thumbnail((SMALL_PX, SMALL_PX))
        own, _, _ = measure_picture(image)
        near = sighting.nearest
        known = self._checked.small.pixels[near]
        both = Small(np.concatenate([own[None], known]), np.empty(0), np.empty(0))
        pairs = np.array([(0, i + 1) for i in range(len(near))])
        match = match_pairs(both, pairs)
        found = [i for i in np.argsort(-match.detail, kind="stable") if match.is_copy[i]]
        if not found:
            return None
        return ImageCopies(
            tuple(CopiedSpecimen(int(near[i]), float(match.detail[i])) for i in found)
        )

    def compare(self, kind: Kind, other: Kind, models: Models) -> None:
        """Of two kinds nothing is said that their confusions do not say."""


def open_part(edition: Path, about: dict[str, Any]) -> CheckPart | None:
    """Return what an edition holds of this chapter; None where it holds nothing."""
    if not (edition / f"{FILE}.safetensors").exists():
        return None

    def make(arrays: dict[str, np.ndarray], record: dict[str, Any]) -> CheckPart:
        checked: Checked = unpack(_CHECKED, arrays, record, "check")
        if not all(isinstance(kind, str) for kind in checked.kinds):
            raise ValueError("its kinds are no texts")
        if len(checked.small.pixels) != about["n_specimens"]:
            raise ValueError("it is of another number of specimens")
        return CheckPart(checked)

    return files.read_model(edition, FILE, "check", make)


def _without(copies: Copies, excluded: Collection[int]) -> Copies:
    """Return the pairs of copies that hold no excluded specimen."""
    is_kept = ~np.isin(copies.pairs, [*excluded]).any(axis=1)
    return Copies(*(part[is_kept] for part in copies))


def _read_small(work: Workspace, table: Table) -> Small:
    """Return the small forms of all pictures; those that the earlier guide has are not read."""
    addresses = [picture_names(record.digest, record.has_large)[1] for record in table.records]
    before, place = _open_earlier(work)
    new = [i for i, address in enumerate(addresses) if address not in place]
    read = read_pictures(
        *(work.draft.root, [addresses[i] for i in new]),
        n_jobs=work.n_jobs,
        processes=find_processes(work.processes, len(new)),
    )
    if len(new) == len(addresses):
        return read
    known = [i for i, address in enumerate(addresses) if address in place]
    rows_before = [place[addresses[i]] for i in known]
    joined = []
    for of_new, of_known in zip(read, before, strict=True):
        whole = np.empty((len(addresses), *of_new.shape[1:]), dtype=of_new.dtype)
        whole[new], whole[known] = of_new, of_known[rows_before]
        joined.append(whole)
    return Small(*joined)


def _open_earlier(work: Workspace) -> tuple[Small, dict[str, int]]:
    """Return the small forms of the earlier guide, and their rows by the pictures' addresses."""
    nothing = Small(np.empty((0, WIDTH), np.uint8), np.empty(0), np.empty(0))
    if work.earlier.folder is None:
        return nothing, {}
    try:
        part = open_part(work.earlier.folder, work.earlier.info)
    except FieldguideError:
        part = None
    if part is None:
        return nothing, {}
    return part.small, {each.picture: each.id for each in work.earlier.specimens()}


def _doubt(work: Workspace, label: np.ndarray, numbers: dict[str, int]) -> Doubts:
    """Return how much each label is doubted."""
    n = len(label)
    if len(numbers) < 2 or n < 3:
        return Doubts(np.zeros(n, np.float32), np.full(n, -1, dtype=np.int64))
    near = find_close(reduce_specimens(work), N_NEAR, n_jobs=work.n_jobs)
    said = _read_answers(work.built[key_chapter.NAME], label, numbers)
    return doubt_labels(label, said, near, len(numbers))


def _read_answers(said: Answers, label: np.ndarray, numbers: dict[str, int]) -> HeldOutAnswers:
    """Return what is said of the labelled specimens by a key that has not seen them.

    By one-vs-all where it was trained beside the key, which knows more of each kind than a key that
    goes by few couplets; else by the key.
    """
    is_asked = np.array([kind is not None for kind in said.kinds]) & (label >= 0)
    answer = np.where(is_asked, [numbers.get(str(kind), -1) for kind in said.kinds], -1)
    sure = np.array([0.0 if p is None else p for p in said.confidence])
    own = np.minimum(sure, 1 - sure)  # the most that it can be where it is not known
    judges = said.judges
    if judges is not None and judges.own_probability is not None:
        rows_asked = np.flatnonzero(label >= 0)[judges.rows]
        of_class = np.array([numbers[str(kind)] for kind in said.key.classes_])
        answer[rows_asked] = of_class[judges.answer]
        sure[rows_asked], own[rows_asked] = judges.confidence, judges.own_probability
    return HeldOutAnswers(answer, sure, own)
