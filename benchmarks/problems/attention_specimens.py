"""Pictures of attention trees on the embedded specimens; they need matplotlib (the extra ``plot``).

``docs/pictures/attention_tree.jpg``, as Figure 7 of the document: the whole tree of a few kinds. A
node shows a specimen of each kind that comes to it, in a frame if it goes both ways, and a leaf one
of those that end there.

``docs/pictures/attention_levels.jpg``, as Figure 8: the first three levels of the tree of all 32
kinds. Each node shows specimens that it sends to the left, to both sides and to the right.

Features are HOG and colours for the few kinds, those of the network for all. Specimens are easier
to part than photographs: with fewer stumps than usual, some are hard.

    python benchmarks/run.py --only attention_specimens
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.attention_pictures import PICTURES, SIDES, describe
from fieldguide.datasets import load_specimens
from fieldguide.features import ColorHistogram, DeepFeatures, SpatialHOG
from fieldguide.identify.attention_growing import AttentionTree, grow_attention_tree
from fieldguide.identify.binning import bin_features
from fieldguide.identify.routed_plan import pick_examples, plant_trees

FEW = (
    *("green-headed duck", "horned owl", "banded angelfish", "seven-spotted ladybird"),
    *("pale moon moth", "oak leaf", "maple leaf", "golden chanterelle"),
)
PER_KIND = 16
SIGNS = {-1: "−", 0: "both", 1: "+"}


def run(data: Path | None, *, tiny: bool) -> dict:
    try:
        import matplotlib
    except ImportError:
        return {"skipped": "it needs matplotlib; install the extra 'plot'"}
    matplotlib.use("agg")
    drawn = load_specimens(4 if tiny else PER_KIND)
    images, kinds = drawn.images, np.asarray(drawn.target)
    rows = np.flatnonzero(np.isin(kinds, [drawn.target_names.index(name) for name in FEW]))
    names, index = np.unique(np.array(drawn.target_names)[kinds[rows]], return_inverse=True)
    looks = [SpatialHOG(), ColorHistogram()]
    X = np.hstack([look.fit_transform(images[rows]) for look in looks])
    few = grow_attention_tree(bin_features(X), index, len(names), delta=0.7, n_rounds=5)
    result = {"rows": [describe("few kinds", 0.7, few, index)], "names": names.tolist()}
    if not tiny:
        draw_tree(few, index, images[rows], names)
        X = DeepFeatures().transform(images)
        every = grow_attention_tree(bin_features(X), kinds, 32, delta=0.7, n_rounds=10)
        result["rows"].append(describe("all kinds", 0.7, every, kinds))
        draw_levels(every, kinds, images)
    return result


def draw_tree(tree: AttentionTree, index: np.ndarray, images: np.ndarray, names: Any) -> None:
    """Draw a whole tree, the root at the top, a leaf in a column of its own."""
    import matplotlib.pyplot as plt

    place = place_parts(tree)
    n_levels = int(tree.leaf_depth.max())
    n_each = np.bincount(index)
    plt.rcParams |= {"font.family": "serif", "font.size": 7}
    figure, axes = plt.subplots(
        figsize=(0.92 * tree.n_leaves, 1.2 * n_levels), dpi=110, layout="constrained"
    )
    on_white: dict[str, Any] = {"ha": "center", "bbox": {"pad": 1, "fc": "w", "ec": "none"}}
    for node in range(tree.n_nodes):
        x, y = place[node]
        for child, sign in ((tree.left[node], "−"), (tree.right[node], "+")):
            to_x, to_y = place[int(child)]
            axes.plot([x, to_x], [y - 0.12, to_y + 0.3], c="#8a8272", lw=0.7, zorder=0)
            axes.text((x + to_x) / 2, (y + to_y) / 2 + 0.12, sign, **on_white)
        hard = tree.hard_rows(node)
        rows = np.concatenate([hard, tree.rows_of(node)])  # of each kind a hard one, if there is
        seen, first = np.unique(index[rows], return_index=True)
        width = 0.5
        for j, row in enumerate(rows[first]):
            left = x + (j - len(seen) / 2) * width
            color = SIDES[0][1] if row in hard else None
            draw_thumbnail(axes, images[row], left, y - 0.1, width - 0.04, color)
        if len(hard):
            axes.text(
                x, y + 0.4, f"{len(hard)} go both ways", ha="center", va="bottom", style="italic"
            )
    for leaf in range(tree.n_leaves):
        x, y = place[-1 - leaf]
        rows = tree.rows_of(-1 - leaf)
        kind = int(np.bincount(index[rows]).argmax())
        draw_thumbnail(axes, images[rows[index[rows] == kind][0]], x - 0.35, y - 0.4, 0.7, None)
        label = f"{names[kind].replace(' ', chr(10), 1)}\n{len(rows)} of {n_each[kind]}"
        axes.text(x, y - 0.44, label, ha="center", va="top")
    axes.set(xlim=(-0.6, tree.n_leaves - 0.4), ylim=(-n_levels - 0.85, -0.4), aspect="equal")
    axes.axis("off")
    save(figure, "attention_tree.jpg")


def place_parts(tree: AttentionTree) -> dict[int, tuple[float, float]]:
    """Return x and y of every node and leaf: leaves side by side, nodes above what is below."""
    place: dict[int, tuple[float, float]] = {}

    def put(number: int, depth: int, n_left: int) -> int:
        if number < 0:
            place[number] = float(n_left), -float(depth)
            return n_left + 1
        n_left = put(int(tree.left[number]), depth + 1, n_left)
        n_left = put(int(tree.right[number]), depth + 1, n_left)
        below = place[int(tree.left[number])], place[int(tree.right[number])]
        place[number] = (below[0][0] + below[1][0]) / 2, -float(depth)
        return n_left

    put(0, 1, 0)
    return place


def draw_levels(tree: AttentionTree, kinds: np.ndarray, images: np.ndarray) -> None:
    """Draw the nodes of three levels, each with specimens that go left, both ways and right."""
    import matplotlib.pyplot as plt

    plan = plant_trees([tree], kinds, int(kinds.max()) + 1)
    examples = pick_examples(plan, n_levels=3)
    shown = {int(node): rows for node, rows in zip(examples.node, examples.rows, strict=True)}
    plt.rcParams |= {"font.family": "serif", "font.size": 8}
    figure, axes = plt.subplots(figsize=(12, 7.2), dpi=110, layout="constrained")
    width = 24.0
    level, parents = [0], [0]
    for depth, n_thumbnails in enumerate((12, 9, 4)):
        for j, node in enumerate(level):
            middle, top = width * (j + 0.5) / len(level), -4.7 * depth
            labels = tree.labels[tree.start[node] : tree.start[node + 1]]
            left = middle - (n_thumbnails + 0.9) / 2
            whose = f", {('left', 'right')[j % 2]} of node {parents[j // 2]}" if depth else ""
            title = f"node {node}{whose}: {len(labels)} specimens"
            axes.text(middle, top + 0.35, title, ha="center")
            for line, label in enumerate((-1, 0, 1)):
                rows = [row for row in shown[node][label + 1] if row >= 0][:n_thumbnails]
                bottom = top - 1.15 * (line + 1) + 0.15
                sign = f"{SIGNS[label]}\n{np.count_nonzero(labels == label)}"
                axes.text(left + 0.7, bottom + 0.5, sign, ha="right", va="center")
                for i, row in enumerate(rows):
                    x = left + 0.9 + i
                    draw_thumbnail(axes, images[row], x, bottom, 0.94, SIDES[label][1])
        parents, level = level, [int(c[n]) for n in level for c in (tree.left, tree.right)]
    axes.set(xlim=(-0.2, width + 0.2), ylim=(-13.3, 0.9), aspect="equal")
    axes.axis("off")
    save(figure, "attention_levels.jpg")


def draw_thumbnail(
    axes: Any, image: np.ndarray, left: float, bottom: float, size: float, color: str | None
) -> None:
    """Draw a picture in a square; with a colour, it has a frame."""
    from matplotlib.patches import Rectangle

    axes.imshow(image[::2, ::2], extent=(left, left + size, bottom, bottom + size))
    if color:
        axes.add_patch(Rectangle((left, bottom), size, size, fill=False, ec=color, lw=1.6))


def save(figure: Any, name: str) -> None:
    import matplotlib.pyplot as plt

    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(
        PICTURES / name, bbox_inches="tight", pil_kwargs={"quality": 78, "optimize": True}
    )
    plt.close(figure)


def table(result: dict) -> str:
    lines = ["| data | Δ | nodes | hard at the root | depths of leaves |", "|---|---|---|---|---|"]
    for row in result["rows"]:
        depths = [d for found in row["depths"].values() for d in found]
        lines.append(
            f"| {row['name']} | {row['delta']} | {row['n_nodes']} | {row['hard']:.0%} "
            f"| {min(depths)}–{max(depths)} |"
        )
    lines.append("")
    depths = result["rows"][0]["depths"]
    lines += [f"- {name}: {depths[k]}" for k, name in enumerate(result["names"])]
    return "\n".join(lines)
