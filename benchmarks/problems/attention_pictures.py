"""Pictures of how an attention tree divides its rows; they need matplotlib (the extra ``plot``).

``docs/pictures/attention_points.png``: 3,000 points of two classes, as in Figure 2 of the document.
Features are the position and the signed distances to 24 lines. Each panel is a node of the first
levels, with the points that it sees: those sent to the left, to the right, and the hard ones.

``docs/pictures/attention_four.png``: four classes, one of which lies between the others, as in
Figure 3: the root and its children, constrained (Δ = 0.5) above, relaxed (Δ = 0.8) below.

    python benchmarks/run.py --only attention_pictures
"""

from pathlib import Path
from typing import Any

import numpy as np

from fieldguide.identify.attention_growing import AttentionTree, grow_attention_tree
from fieldguide.identify.binning import bin_features

PICTURES = Path("docs/pictures")
SIDES = {-1: ("left", "#b5651d", "<"), 1: ("right", "#1f5a7a", ">"), 0: ("both", "#222222", "x")}
KINDS = "ABCD"


def run(data: Path | None, *, tiny: bool) -> dict:
    try:
        import matplotlib
    except ImportError:
        return {"skipped": "it needs matplotlib; install the extra 'plot'"}
    matplotlib.use("agg")
    points, X, index = draw_points(300 if tiny else 3000)
    tree = grow_attention_tree(
        bin_features(X), index, 2, delta=0.6, n_rounds=20, min_samples=10, max_depth=12
    )
    rows = [describe("points", 0.6, tree, index)]
    if not tiny:
        draw_points_picture(points, index, tree)
    four, kinds = draw_four()
    trees = {
        delta: grow_attention_tree(
            bin_features(add_lines(four)), kinds, 4, delta=delta, n_rounds=10, min_samples=10
        )
        for delta in (0.5, 0.8)
    }
    rows += [describe("four", delta, tree, kinds) for delta, tree in trees.items()]
    if not tiny:
        draw_four_picture(four, kinds, trees)
    return {"rows": rows}


def draw_points(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a far group of class 0, and a crowd of both, in which class 1 is a winding band."""
    rng = np.random.default_rng(0)
    far = rng.normal([6.0, 0.0], 0.6, (n // 3, 2))
    crowd = rng.normal(0, 1.2, (n - n // 3, 2))
    points = np.concatenate([far, crowd])
    is_band = np.abs(points[:, 1] - 0.5 * np.sin(2 * points[:, 0])) < 1.4
    index = (is_band & (np.arange(n) >= n // 3)).astype(int)
    return points, add_lines(points), index


def draw_four() -> tuple[np.ndarray, np.ndarray]:
    """Return four classes; C is wide and lies between the others."""
    rng = np.random.default_rng(1)
    centres = np.array([[-3.0, 2.0], [3.0, 2.0], [0.0, -0.5], [0.0, -4.0]])
    kinds = np.repeat(np.arange(4), 200)
    spread = np.array([0.7, 0.7, 1.9, 0.7])[kinds][:, None]
    return centres[kinds] + spread * rng.normal(size=(800, 2)), kinds


def add_lines(points: np.ndarray, n_lines: int = 24) -> np.ndarray:
    """Return the position and the signed distances to lines in all directions."""
    angle = np.pi * np.arange(n_lines) / n_lines
    offsets = np.random.default_rng(2).uniform(-1, 1, n_lines)
    return np.hstack([points, points @ np.stack([np.cos(angle), np.sin(angle)]) - offsets])


def describe(name: str, delta: float, tree: AttentionTree, index: np.ndarray) -> dict:
    """Return how deep the leaves are, and the share of hard rows at the root."""
    depth = np.repeat(tree.leaf_depth, np.diff(tree.leaf_start))
    kinds = index[tree.leaf_rows]
    return {
        "name": name,
        "delta": delta,
        "n_nodes": tree.n_nodes,
        "hard": len(tree.hard_rows(0)) / len(index),
        "depths": {int(k): np.unique(depth[kinds == k]).tolist() for k in np.unique(index)},
    }


def draw_points_picture(points: np.ndarray, index: np.ndarray, tree: AttentionTree) -> None:
    import matplotlib.pyplot as plt

    nodes = np.flatnonzero(tree.depth <= 4)[:7]
    figure, panels = open_figure(2, 4)
    axes = panels[0, 0]
    for k, (color, marker) in enumerate((("#b5651d", "o"), ("#1f5a7a", "^"))):
        axes.scatter(*points[index == k].T, s=3, c=color, marker=marker, linewidths=0)
    axes.set_title("the two classes")
    for axes, node in zip(panels.ravel()[1:], nodes, strict=False):
        draw_node(axes, points, tree, int(node))
    figure.savefig(PICTURES / "attention_points.png", metadata={"Software": None})
    plt.close(figure)


def draw_four_picture(
    points: np.ndarray, kinds: np.ndarray, trees: dict[float, AttentionTree]
) -> None:
    import matplotlib.pyplot as plt

    figure, panels = open_figure(2, 4)
    for line, (delta, tree) in zip(panels, trees.items(), strict=True):
        for k, (color, marker) in enumerate(
            zip(("#b5651d", "#1f5a7a", "#5d7a3a", "#7a3a5d"), "o^sD", strict=True)
        ):
            line[0].scatter(
                *points[kinds == k].T, s=5, c=color, marker=marker, linewidths=0, label=KINDS[k]
            )
        line[0].legend(frameon=False, fontsize=7, loc="upper left", ncols=4)
        line[0].set_title("constrained, Δ = 0.5" if delta == 0.5 else f"relaxed, Δ = {delta}")
        for axes, node in zip(
            line[1:], [0, *(c for c in (tree.left[0], tree.right[0]) if c >= 0)], strict=False
        ):
            draw_node(axes, points, tree, int(node))
            seen = np.bincount(kinds[tree.rows_of(int(node))], minlength=4)
            axes.set_xlabel(
                "sees " + " ".join(f"{k} {n}" for k, n in zip(KINDS, seen, strict=True) if n)
            )
    figure.savefig(PICTURES / "attention_four.png", metadata={"Software": None})
    plt.close(figure)


def draw_node(axes: Any, points: np.ndarray, tree: AttentionTree, node: int) -> None:
    rows = tree.rows_of(node)
    labels = tree.labels[tree.start[node] : tree.start[node + 1]]
    axes.scatter(*points.T, s=1, c="#ddd6c6", linewidths=0)
    counts = []
    for label, (side, color, marker) in SIDES.items():
        chosen = points[rows[labels == label]]
        width = 0.6 if marker == "x" else 0
        axes.scatter(*chosen.T, s=5, c=color, marker=marker, linewidths=width)
        counts.append(f"{len(chosen)} {side}")
    axes.set_title(f"node {node}, level {tree.depth[node]}: " + ", ".join(counts))


def open_figure(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    PICTURES.mkdir(parents=True, exist_ok=True)
    plt.rcParams |= {"font.family": "serif", "font.size": 8, "axes.titlesize": 8}
    figure, panels = plt.subplots(
        n_rows, n_columns, figsize=(12, 6), dpi=110, layout="constrained", sharex=True, sharey=True
    )
    for axes in panels.ravel():
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_linewidth(0.3)
    return figure, panels


def table(result: dict) -> str:
    lines = ["| data | Δ | nodes | hard at the root | depths of leaves |", "|---|---|---|---|---|"]
    for row in result["rows"]:
        depths = "; ".join(f"{k}: {d[0]}–{d[-1]}" for k, d in row["depths"].items())
        lines.append(
            f"| {row['name']} | {row['delta']} | {row['n_nodes']} | {row['hard']:.0%} | {depths} |"
        )
    return "\n".join(lines)
