"""The key of a guide that has got new kinds: an attention tree learns them without a training.

What that takes is kept with the guide besides the key: which training rows came to which node. The
rows themselves are those of the specimens. A key can grow where all specimens that it was trained
on are there still, with the same kinds and the same rows, and all others are of new kinds. Its
answers about the old specimens stay what they were. Those about the new ones are of keys that were
taught the new kinds without them, a fold at a time.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fieldguide._saving import Estimator, unpack
from fieldguide.errors import FieldguideError
from fieldguide.guide import folder as files
from fieldguide.guide import rows, specimens
from fieldguide.guide.workspace import Workspace
from fieldguide.identify import AttentionTreeClassifier

STEP = "teaching the key new kinds"
_KEY = Estimator(AttentionTreeClassifier)


class Grown(NamedTuple):
    """A key that has learnt new kinds, and what it says of each specimen."""

    key: AttentionTreeClassifier
    kinds: list[str | None]
    confidence: list[float | None]


class CannotGrow(Exception):
    """Why a key must be trained again, as a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The key was trained again: {reason}.")


class NoKey(CannotGrow):
    """There is no earlier key."""

    def __init__(self) -> None:
        Exception.__init__(self, "The guide had no key that could learn new kinds.")


def save_plan(key: Any, draft: files.NewFiles) -> None:
    """Write which training rows came to which node, of a key that can grow."""
    if isinstance(key, AttentionTreeClassifier):
        files.write_model(draft, files.KEY_PLAN, *key.plan_to_state())


def grow_key(work: Workspace, asked: Any) -> Grown | None:
    """Return the key of the earlier guide with the new kinds; None where it must be trained.

    ``asked`` is the key, not fitted, that would be trained; None where it is yet to be chosen.
    Where specimens are added the earlier one is good whatever its parameters are; a build has those
    that it was asked for, and chooses again. The guide says what happened.
    """
    is_added = work.settings.adds_to is not None
    if asked is None and not is_added:
        return None
    try:
        grown = _grow(work, None if is_added else asked)
    except CannotGrow as reason:
        if is_added:
            work.info["growth"] = {"because": str(reason)}
        return None
    work.info["growth"] = _describe(work, grown)
    return grown


def _grow(work: Workspace, asked: Any) -> Grown:
    kinds: list[str | None] = work.built[specimens.NAME].kinds
    X: np.ndarray = work.built[rows.NAME].X
    key = _open_earlier(work)
    if asked is not None and not _is_alike(key, asked):
        raise CannotGrow("it was asked for with other parameters")
    old = _find_old(work)
    labelled = np.array([i for i, kind in enumerate(kinds) if kind is not None], dtype=np.int64)
    new = np.setdiff1d(labelled, old)
    y_old, y_new = (np.array([kinds[i] for i in ids], dtype=str) for ids in (old, new))
    known = sorted(set(y_new.tolist()).intersection(key.classes_.tolist()))
    if known:
        listed = ", ".join(map(repr, known[:3])) + (", …" if len(known) > 3 else "")
        raise CannotGrow(f"there are new pictures of kinds that it knows already ({listed})")
    if not len(new):
        raise CannotGrow("there is no picture of a new kind")
    work.progress(STEP, 0, 1)
    assert work.earlier.folder is not None
    _resume(key, X[old], y_old, work.earlier.folder)
    key.set_params(n_jobs=work.n_jobs)
    said = _keep_answers(work, len(kinds))
    held_out = key.hold_out_kinds(X[new], y_new)
    key.add_kind(X[new], y_new)
    if held_out is not None:
        for i, answer, sure in zip(new, held_out.answer, held_out.confidence, strict=True):
            said[i] = str(key.classes_[answer]), float(sure)
    key.renumber_rows(np.searchsorted(labelled, np.concatenate([old, new])))
    work.progress(STEP, 1, 1)
    unlabelled = np.setdiff1d(np.arange(len(kinds)), labelled)
    for i, answer in zip(unlabelled, _answer(key, X[unlabelled]), strict=True):
        said[i] = answer
    return Grown(key, [kind for kind, _ in said], [sure for _, sure in said])


def _open_earlier(work: Workspace) -> AttentionTreeClassifier:
    """Return the key of the earlier guide."""
    name = work.earlier.info.get("settings", {}).get("key")
    if work.earlier.folder is None or name is None:
        raise NoKey
    if name != AttentionTreeClassifier.__name__:
        raise CannotGrow(f"{name} cannot learn kinds without that, only an attention tree can")

    def make(arrays: dict[str, np.ndarray], record: dict[str, Any]) -> AttentionTreeClassifier:
        key: AttentionTreeClassifier = unpack(_KEY, arrays, record, "key")
        return key

    try:
        return files.read_model(work.earlier.folder, files.KEY, "key", make)
    except FieldguideError:
        raise CannotGrow("the earlier one is damaged") from None


def _resume(key: AttentionTreeClassifier, X: np.ndarray, y: np.ndarray, edition: Path) -> None:
    if not (edition / f"{files.KEY_PLAN}.safetensors").exists():
        raise CannotGrow("it was built by an earlier version, which kept no plan of it")
    try:
        files.read_model(
            edition, files.KEY_PLAN, "plan of the key", lambda *plan: key.resume(X, y, plan)
        )
    except FieldguideError:
        raise CannotGrow("its plan is damaged") from None


def _is_alike(key: Any, asked: Any) -> bool:
    """Whether two keys are of one class and have the same parameters; threads do not count."""
    own, other = key.get_params() | {"n_jobs": 1}, asked.get_params() | {"n_jobs": 1}
    return type(key) is type(asked) and own == other


def _find_old(work: Workspace) -> np.ndarray:
    """Return the specimens that the key was trained on, in the order of its training."""
    records, kinds = work.built[specimens.NAME].records, work.built[specimens.NAME].kinds
    assert work.earlier.folder is not None
    before = rows.open_rows(work.earlier.folder, work.earlier.info)
    place = {record.path: i for i, record in enumerate(records)}
    trained = [each for each in work.earlier.specimens() if each.kind is not None]
    old = np.array([place.get(each.path, -1) for each in trained], dtype=np.int64)
    if (old < 0).any() or any(kinds[i] != t.kind for i, t in zip(old, trained, strict=True)):
        raise CannotGrow("specimens that it was trained on are gone, or have other kinds")
    X = work.built[rows.NAME].X
    if X.shape[1] != before.shape[1] or not np.array_equal(X[old], before[[t.id for t in trained]]):
        raise CannotGrow("specimens that it was trained on have changed")
    return old


def _keep_answers(work: Workspace, n: int) -> list[tuple[str | None, float | None]]:
    """Return what the earlier guide said of each specimen; nothing of the new ones."""
    place = {record.path: i for i, record in enumerate(work.built[specimens.NAME].records)}
    said: list[tuple[str | None, float | None]] = [(None, None)] * n
    for each in work.earlier.specimens():
        if each.path in place:
            said[place[each.path]] = each.answer, each.confidence
    return said


def _answer(key: Any, X: np.ndarray) -> list[tuple[str | None, float | None]]:
    if not len(X):
        return []
    return [(str(key.classes_[row.argmax()]), float(row.max())) for row in key.predict_proba(X)]


def _describe(work: Workspace, grown: Grown) -> dict[str, Any]:
    """Return what guide.json says of the kinds that the key was not trained with."""
    kinds: Sequence[str | None] = work.built[specimens.NAME].kinds
    before = set(work.earlier.info.get("growth", {}).get("kinds", ()))
    known = {each.kind for each in work.earlier.specimens()}
    new = {kind for kind in kinds if kind is not None and kind not in known}
    ids = [i for i, kind in enumerate(kinds) if kind in new | before and grown.kinds[i] is not None]
    n_right = sum(grown.kinds[i] == kinds[i] for i in ids)
    what = "a new kind" if len(new) == 1 else f"{len(new)} new kinds"
    return {
        "because": f"The key learnt {what} without being trained again.",
        "kinds": sorted(new | before),
        "n_specimens": len(ids),
        "accuracy": n_right / len(ids) if ids else None,
    }
