"""Turn measurements into the records of a guide: exemplars, branches, kinds, look-alikes."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.guide.naming import show_kinds
from fieldguide.guide.views import Branch, Kind, Word

if TYPE_CHECKING:
    from fieldguide.guide.trees import GrownTree

N_EXEMPLARS = 12
N_LOOK_ALIKES = 4
N_WORDS = 8
_MIN_WORD_SHARE = 0.4
_MIN_WORD_RISE = 0.15
_REPETITION = 0.5  # how much likeness to an exemplar already chosen counts against the next
_MOST_COMPARED = 4096  # specimens of a branch or kind whose rows are in memory at a time


def normalise_rows(X: np.ndarray) -> np.ndarray:
    """Return the rows scaled to length one, float32; a row of zeros stays."""
    X = np.asarray(X, dtype=np.float32)
    unit_rows: np.ndarray = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return unit_rows


def group_kinds(kinds: Sequence[str | None]) -> dict[str, list[int]]:
    """Return the specimens of each kind, by name; those without a kind are in none."""
    members: dict[str, list[int]] = {k: [] for k in sorted({k for k in kinds if k is not None})}
    for i, kind in enumerate(kinds):
        if kind is not None:
            members[kind].append(i)
    return members


def index_kinds(kinds: Sequence[str | None]) -> np.ndarray:
    """Return the place of each specimen's kind among the names in order; −1 for none."""
    index = np.full(len(kinds), -1, dtype=np.int32)
    for k, ids in enumerate(group_kinds(kinds).values()):
        index[ids] = k
    return index


def list_children(parent: np.ndarray) -> list[list[int]]:
    """Return the children of each node of a tree in pre-order, in order."""
    children: list[list[int]] = [[] for _ in parent]
    for node in range(1, len(parent)):
        children[parent[node]].append(node)
    return children


def choose_exemplars(X: np.ndarray, ids: np.ndarray, n: int = N_EXEMPLARS) -> tuple[int, ...]:
    """Return up to ``n`` of ``ids`` that are typical of them all and unlike one another.

    Rows of ``X`` have length one. The first is the nearest to the mean; each further one is the
    nearest to the mean less half its likeness to those already chosen. Of very many, some evenly
    drawn ones stand for all.
    """
    ids = ids[:: max(-(-len(ids) // _MOST_COMPARED), 1)]
    rows = X[ids]
    typical = rows @ rows.mean(axis=0)
    likeness = np.full(len(ids), -1.0, dtype=np.float32)
    chosen: list[int] = []
    for _ in range(min(n, len(ids))):
        score = typical - (_REPETITION * likeness if chosen else 0)
        score[chosen] = -np.inf
        best = int(np.argmax(score))
        chosen.append(best)
        likeness = np.maximum(likeness, rows @ rows[best])
    return tuple(int(ids[i]) for i in chosen)


def typicality(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the likeness of each row to the mean of its group."""
    result = np.empty(len(X))
    for group in np.unique(groups):
        ids = np.flatnonzero(groups == group)
        mean = X[ids[:: -(-len(ids) // _MOST_COMPARED)]].mean(axis=0)
        for start in range(0, len(ids), _MOST_COMPARED):
            part = ids[start : start + _MOST_COMPARED]
            result[part] = X[part] @ mean
    return result


def make_branches(
    grown: "GrownTree", X: np.ndarray, kinds: Sequence[str | None]
) -> tuple[Branch, ...]:
    """Return the branches of a tree."""
    described = grown.described
    parent, labels = described.parent, described.labels
    n_nodes = len(parent)
    children = list_children(parent)
    depth = described.depth.tolist()
    members = [np.flatnonzero(labels == node) for node in range(n_nodes)]
    here = [len(rows) for rows in members]
    for node in range(n_nodes - 1, 0, -1):
        members[parent[node]] = np.concatenate([members[parent[node]], members[node]])
    branches = []
    for node in range(n_nodes):
        ids = np.sort(members[node])
        counts = Counter(kinds[i] for i in ids)
        named = sorted(
            ((kind, count) for kind, count in counts.items() if kind is not None),
            key=lambda pair: (-pair[1], pair[0]),
        )
        branches.append(
            Branch(
                node,
                int(parent[node]) if node else None,
                depth[node],
                tuple(children[node]),
                described.words[node],
                bool(grown.is_likeness[node]),
                len(ids),
                here[node],
                float(described.truth[node]),
                None if np.isnan(grown.stability[node]) else float(grown.stability[node]),
                choose_exemplars(X, ids),
                tuple(named),
            )
        )
    return tuple(branches)


def make_kinds(
    kinds: Sequence[str | None],
    answers: Sequence[str | None],
    X: np.ndarray,
    shows: np.ndarray,
    names: Sequence[str],
    labels: np.ndarray,
) -> tuple[Kind, ...]:
    """Return the kinds of a collection, by name.

    Parameters
    ----------
    kinds, answers : sequences of length n
        The label, and the key's held-out answer, of each specimen.
    X : ndarray of shape (n, dim)
        Rows of length one.
    shows : ndarray of shape (n, n_attributes), bool
    labels : ndarray of shape (n,)
        Branch of each specimen.
    """
    rows_of = group_kinds(kinds)
    all_kinds = list(rows_of)
    confusions = count_confusions(kinds, answers)
    means = np.array([X[rows_of[kind]].mean(axis=0) for kind in all_kinds])
    total = shows.sum(axis=0)
    slugs, shown = make_slugs(all_kinds), show_kinds(all_kinds)
    records = []
    for k, name in enumerate(all_kinds):
        ids = np.array(rows_of[name])
        said = [answers[i] for i in ids]
        known = [answer for answer in said if answer is not None]
        branches = Counter(int(labels[i]) for i in ids)
        records.append(
            Kind(
                name,
                slugs[k],
                len(ids),
                choose_exemplars(X, ids),
                _words_apart(shows[ids], total, len(shows), names),
                sum(answer == name for answer in known) / len(known) if known else None,
                _look_alikes(k, all_kinds, rows_of, confusions, means),
                tuple(sorted(branches.items(), key=lambda pair: (-pair[1], pair[0]))),
                shown[k],
            )
        )
    return tuple(records)


def count_confusions(
    kinds: Sequence[str | None], answers: Sequence[str | None]
) -> Counter[tuple[str, str]]:
    """Count the pairs (kind, wrong answer)."""
    return Counter(
        (kind, answer)
        for kind, answer in zip(kinds, answers, strict=True)
        if kind is not None and answer is not None and kind != answer
    )


def make_slugs(names: Sequence[str]) -> list[str]:
    """Return a short unique ASCII name for each name, safe in an address and in a file name."""
    taken: set[str] = set()
    slugs = []
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or "kind"
        slug, number = base, 2
        while slug in taken:
            slug, number = f"{base}-{number}", number + 1
        taken.add(slug)
        slugs.append(slug)
    return slugs


def _words_apart(
    shows: np.ndarray, total: np.ndarray, n: int, names: Sequence[str]
) -> tuple[Word, ...]:
    share = shows.mean(axis=0)
    elsewhere = (total - shows.sum(axis=0)) / max(n - len(shows), 1)
    rise = share - elsewhere
    order = np.argsort(-rise, kind="stable")
    kept = [j for j in order if share[j] >= _MIN_WORD_SHARE and rise[j] >= _MIN_WORD_RISE]
    return tuple(Word(names[j], float(share[j]), float(elsewhere[j])) for j in kept[:N_WORDS])


def _look_alikes(
    k: int,
    all_kinds: list[str],
    rows_of: dict[str, list[int]],
    confusions: Counter[tuple[str, str]],
    means: np.ndarray,
) -> tuple[tuple[str, float], ...]:
    """Return the kinds most often confused with kind ``k``, then those that look most like it."""
    name = all_kinds[k]
    likeness = means @ means[k]

    def rank(other: int) -> tuple[float, float]:
        confused = confusions[name, all_kinds[other]] + confusions[all_kinds[other], name]
        share = confused / (len(rows_of[name]) + len(rows_of[all_kinds[other]]))
        return share, float(likeness[other])

    others = sorted((o for o in range(len(all_kinds)) if o != k), key=rank, reverse=True)
    return tuple((all_kinds[o], rank(o)[0]) for o in others[:N_LOOK_ALIKES])
