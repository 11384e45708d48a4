"""The register: branches, kinds and specimens as records, and the catalogue that holds them."""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from fieldguide.describe import DescribedTree
from fieldguide.features import AttributeMatrix
from fieldguide.features.vocabulary import YES
from fieldguide.guide import folder as files
from fieldguide.guide import key, rows, specimens, trees, words
from fieldguide.guide.catalogue import write_catalogue
from fieldguide.guide.edits import arrange_exemplars
from fieldguide.guide.key import Answers
from fieldguide.guide.specimens import Table
from fieldguide.guide.summaries import (
    N_EXEMPLARS,
    choose_exemplars,
    count_confusions,
    make_branches,
    make_kinds,
    typicality,
)
from fieldguide.guide.trees import GrownTree
from fieldguide.guide.views import Kind
from fieldguide.guide.workspace import Workspace

NAME = "register"


def build(work: Workspace) -> None:
    """Write the catalogue, and hand the kinds to the chapters after this one."""
    work.progress("writing the guide", 0, 1)
    table: Table = work.built[specimens.NAME]
    X: np.ndarray = work.built[rows.NAME].X
    matrix: AttributeMatrix = work.built[words.NAME].matrix
    grown: GrownTree = work.built[trees.NAME]
    described = grown.described
    said: Answers = work.built[key.NAME]
    shows = matrix.scores >= YES
    branches = make_branches(grown, X, table.kinds)
    kinds: tuple[Kind, ...] = make_kinds(
        table.kinds, said.kinds, X, shows, matrix.names, described.labels
    )
    kinds = tuple(_prefer_exemplars(kind, table, X) for kind in kinds)
    clips = {i: r.clip for i, r in enumerate(table.records) if r.clip is not None}
    write_catalogue(
        work.draft.new(files.CATALOGUE),
        _list_specimens(table, described, said, _find_typical(X, table, described)),
        list(zip(matrix.names, matrix.sources, strict=True)),
        ((int(i), int(j), float(matrix.scores[i, j])) for i, j in np.argwhere(shows)),
        branches,
        kinds,
        table.failed,
        ((i, record.taken) for i, record in enumerate(table.records) if record.taken is not None),
        _list_owned(work, table),
        clips.items(),
    )
    work.pictures |= {frame.picture for clip in clips.values() for frame in clip.frames}
    work.built[NAME] = kinds
    confusions = count_confusions(table.kinds, said.kinds).items()
    work.info |= {
        "n_kinds": len(kinds),
        "n_branches": len(branches) - 1,
        "features": [*sorted(table.features), "attributes", *work.built[rows.NAME].list_files()],
        "confusions": [
            [kind, answer, n]
            for (kind, answer), n in sorted(confusions, key=lambda pair: (-pair[1], pair[0]))
        ],
    }


def _prefer_exemplars(kind: Kind, table: Table, X: np.ndarray) -> Kind:
    """Return a kind with the exemplars that its owner pinned first, and none that was rejected."""
    hand = table.hand
    if not (hand.pinned or hand.rejected):
        return kind
    own = [i for i, name in enumerate(table.kinds) if name == kind.name]
    allowed = [i for i in own if i not in hand.rejected] or own
    chosen = choose_exemplars(X, np.array(allowed))
    return replace(kind, exemplars=arrange_exemplars(chosen, allowed, hand, N_EXEMPLARS) or chosen)


def _find_typical(X: np.ndarray, table: Table, described: DescribedTree) -> np.ndarray:
    """Return how like each specimen is to its kind, or to its branch where it has none."""
    pairs = zip(table.kinds, described.labels, strict=True)
    return typicality(X, np.array([f"\0{b}" if k is None else k for k, b in pairs]))


def _list_owned(work: Workspace, table: Table) -> list[tuple[int, str, list[str]]]:
    """Return the owner's caption and words of each specimen that has some; those beside an image
    come before those in it."""
    owned = []
    for i, (row, record) in enumerate(zip(table.item_rows, table.records, strict=True)):
        item = work.collection.items[row]
        caption = item.caption or (record.taken.caption if record.taken else "")
        said = list(dict.fromkeys((*item.keywords, *record.keywords)))
        if caption or said:
            owned.append((i, caption, said))
    return owned


def _list_specimens(
    table: Table, described: DescribedTree, said: Answers, typical: np.ndarray
) -> list[tuple[Any, ...]]:
    return [
        (
            i,
            record.path,
            record.stamp,
            record.digest,
            table.kinds[i],
            record.width,
            record.height,
            record.has_large,
            json.dumps(record.keywords, ensure_ascii=False),
            int(described.labels[i]),
            said.kinds[i],
            said.confidence[i],
            float(typical[i]),
        )
        for i, record in enumerate(table.records)
    ]
