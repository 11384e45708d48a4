"""Trees of annotated collections as text, to be read by a person.

Each line has the words of a branch, the rows in it, and in brackets the kinds of the rows that sit
right there, most frequent first. Nodes without words of their own, and those of fewer than four
rows, are folded into their parents (``describe_tree``). Four chains of 300 sweeps, random_state 0.
Of CUB-200, an attribute is one that at least half of the votes name, and those are used that 2 to
90 % of the species have.

    python benchmarks/run.py --only attribute_tree_text --data DIR
"""

from collections import Counter
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems.attribute_tree_cells import keep_cell
from fieldguide.datasets.apascal import load_apascal
from fieldguide.datasets.awa import load_awa
from fieldguide.datasets.specimens import load_specimens
from fieldguide.datasets.zoo import load_zoo
from fieldguide.describe import AttributeTree, DescribedTree, Tree, describe_tree
from fieldguide.describe.tree import find_depth

MAX_KINDS = 8


def load_tables(data: Path) -> dict[str, tuple[np.ndarray, list[str], np.ndarray]]:
    """Return, of each collection, attributes, their names, and the kind of each row."""
    zoo, awa = load_zoo(data / "zoo"), load_awa(data / "awa")
    pascal, drawn = load_apascal(data / "apascal"), load_specimens(n_per_kind=24, size_px=64)
    return {
        "specimens": (
            (drawn.attributes >= 0.5).astype(np.uint8),
            drawn.attribute_names,
            np.array(drawn.target_names)[drawn.target],
        ),
        "zoo": (zoo.attributes, zoo.attribute_names, np.array(zoo.names)),
        "AwA": (awa.attributes, awa.attribute_names, np.array(awa.target_names)),
        "CUB-200": load_birds(data / "cub200"),
        "aPascal": (
            pascal.attributes,
            pascal.attribute_names,
            np.array(pascal.target_names)[pascal.target],
        ),
    }


def load_birds(folder: Path) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Return the attributes of each species that at least half of the votes name."""
    shares = np.loadtxt(folder / "class_attributes_percent.csv", delimiter=",") / 100
    names = [line.split()[-1] for line in (folder / "attributes.txt").read_text().splitlines()]
    kinds = [line.split()[-1] for line in (folder / "classes.txt").read_text().splitlines()]
    names = [name.removeprefix("has_").replace("_", " ").replace("::", ": ") for name in names]
    kinds = [kind.partition(".")[2].replace("_", " ") for kind in kinds]
    A = (shares >= 0.5).astype(np.uint8)
    used = np.flatnonzero((A.mean(axis=0) >= 0.02) & (A.mean(axis=0) <= 0.9))
    return A[:, used], [names[j] for j in used], np.array(kinds)


def write_tree(described: DescribedTree, y: np.ndarray) -> str:
    depth = find_depth(described.parent)
    n_all = Tree(described.parent, depth).sum_up(
        np.bincount(described.labels, minlength=len(depth))
    )
    lines = []
    for k, words in enumerate(described.words):
        counts = Counter(y[described.labels == k].tolist()).most_common()
        kinds = [kind if n == 1 else f"{kind} {n}" for kind, n in counts[:MAX_KINDS]]
        if len(counts) > MAX_KINDS:
            kinds.append(f"{len(counts) - MAX_KINDS} more")
        text = f"{'  ' * depth[k]}{', '.join(words) or 'everything'}: {n_all[k]}"
        lines.append(text + (f" [{', '.join(kinds)}]" if kinds else ""))
    return "\n".join(lines)


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None:
        return {"skipped": "it needs --data"}
    trees = {}
    with threadpool_limits(1):
        for name, (A, names, y) in load_tables(data).items():

            def grow(name=name, A=A, names=names, y=y):
                model = AttributeTree(n_iter=4 if tiny else 300, random_state=0).fit(A)
                described = describe_tree(model.tree_, model.labels_, A, names, min_count=4)
                return {"text": write_tree(described, y), "r_hat": model.r_hat_["log_joint"]}

            trees[name] = grow() if tiny else keep_cell(f"text {name}", grow)
    return {"trees": trees}


def table(result: dict) -> str:
    return "\n\n".join(
        f"{name} (R-hat {tree['r_hat']:.2f}):\n\n{tree['text']}"
        for name, tree in result["trees"].items()
    )
