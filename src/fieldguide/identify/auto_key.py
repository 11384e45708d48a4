"""The key that a collection needs: as cheap as its own held-out rows allow.

One-vs-all is trained first. A tree key holds the same one-vs-all functions, for its shortlist, and
is judged on the same folds: what was trained once is not trained again. Each tree key has an
operating point for every tolerance of its shortlist. Of all points, one-vs-all's included, the
cheapest wins that loses no more than is allowed; of equals, that of a tree, which can be read.

The relaxed hierarchy is tried first, and the attention tree where it may do better. A tree of
yes-or-no questions asks H of them on average at least, the entropy of the classes in bits
(Shannon): a key that is near H leaves nothing to be gained. An attention tree is first grown on a
part of the columns, and of many rows on a part of them, which is quick; where the way down it is
longer than that of the relaxed hierarchy, it is left at that, and otherwise its functions are
trained and judged like the others.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from fieldguide._check import check_seed
from fieldguide.identify.attention_tree import AttentionTreeClassifier
from fieldguide.identify.confidence import HeldOut
from fieldguide.identify.growing import AnyPlan, draw_rows
from fieldguide.identify.key import Key, default_loss
from fieldguide.identify.one_vs_all import OneVsAllClassifier
from fieldguide.identify.operating_points import OperatingPoint, choose_point
from fieldguide.identify.relaxed_hierarchy import RelaxedHierarchyClassifier
from fieldguide.identify.search_strategies import Shortlist
from fieldguide.identify.tree_key import TreeKey
from fieldguide.svm import Problems

# What may be lost, one standard error of the difference included, chosen among 0.003 to 0.01 on
# twenty splits of specimens, Caltech-101 and CUB-200. Of few rows, half a standard error of
# one-vs-all's accuracy is more.
MAX_LOSS, MAX_ERRORS = 0.005, 0.5
_RHO = 1.5  # of 1, 1.1, 1.2, 1.5 and 2, on other splits than the figures of docs/keys.md
# The longest list: of 4 to all classes, on five other splits of Caltech-101. At the same cost, long
# lists of the rows that are hard are worth more than many lists.
_MAX_CLASSES = 32
ROOM = 1.25  # times H: a key that asks more leaves room for another
_COLUMNS = 640  # that boosting asks about
_MOST_TRIED = 2**13  # rows by which it is found whether an attention tree may do better


class Tried(NamedTuple):
    """A key that was tried.

    Examples
    --------
    >>> point = OperatingPoint(0.5, 4.0, 0.25, accuracy=0.90, gain=-0.01, standard_error=0.005)
    >>> tried = Tried("RelaxedHierarchyClassifier", (point,), mean_path=2.5)
    >>> [point.tolerance for point in tried.points if point.is_within(0.02)]
    [0.5]
    """

    name: str  # of its class
    points: tuple[OperatingPoint, ...]  # (): not trained, because its way down was too long
    mean_path: float | None  # functions from its root to a leaf, on average; None for a flat key


class Choice(NamedTuple):
    """The key that was taken, fitted, and all that were tried.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> choice = choose_key(X, np.repeat(list("abc"), 5), C=10.0)
    >>> choice.key.predict(np.eye(3)).tolist()
    ['a', 'b', 'c']
    """

    key: Any
    point: OperatingPoint | None  # None where no row could be held out
    tried: tuple[Tried, ...]
    flat: HeldOut | None = None  # what one-vs-all says of the same rows, where that is known


def choose_key(
    X: Any,
    y: Any,
    *,
    C: float | str = 1.0,
    kernel: str = "linear",
    gamma: float | None = None,
    max_loss: float | None = None,
    max_cost: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    words: Any = None,
    device: str = "cpu",
) -> Choice:
    """Return the cheapest of the keys that is about as good as one-vs-all.

    Parameters
    ----------
    X, y
        As of every key.
    C, kernel, gamma, n_jobs, random_state
        Of every key that is tried.
    max_loss, max_cost : float, optional
        What may be lost against one-vs-all, or spent, as of
        :class:`~fieldguide.identify.Shortlist`; by default half a point of accuracy may be lost, or
        half a standard error of one-vs-all's own where that is more.
    words : array of shape (n_classes, n_words), optional
        Of the relaxed hierarchy.
    device : {"cpu", "auto", "cuda"}
        Where linear functions are trained, as of
        :class:`~fieldguide.identify.OneVsAllClassifier`; which classes go which way at a node is
        found by the processor.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(16), 12)
    >>> X = np.eye(16)[y] + rng.normal(0, 0.1, (192, 16))
    >>> choice = choose_key(X, y, C=10.0)
    >>> type(choice.key).__name__, round(choice.point.evaluations, 1) < 6
    ('RelaxedHierarchyClassifier', True)
    """
    shared: dict[str, Any] = {"C": C, "kernel": kernel, "gamma": gamma, "n_jobs": n_jobs}
    shared["random_state"] = random_state
    limits: dict[str, Any] = {
        "max_loss": MAX_LOSS if max_loss is None else max_loss,
        "max_cost": max_cost,
    }
    search = Shortlist(**limits, max_classes=_MAX_CLASSES)
    flat = OneVsAllClassifier(**shared, device=device)
    relaxed = RelaxedHierarchyClassifier(**shared, search=search, rho=_RHO, words=words)
    attention = AttentionTreeClassifier(**shared, search=clone(search), max_columns=_COLUMNS)
    for key in (flat, relaxed, attention):
        key.check_arguments()
    rows, index = flat._read_training_rows(X, y)
    problems = Problems(
        *(rows, kernel, gamma),
        loss=default_loss(kernel),
        tol=flat.tol,
        n_jobs=n_jobs,
        seed=check_seed("choose_key", random_state),
        remember=True,
        device=flat._find_device(),
    )
    flat._fit_problems(problems, index)
    if flat.held_out_ is None:
        return Choice(flat, None, ())
    if max_loss is None:
        accuracy = flat.held_out_.accuracy
        error = np.sqrt(accuracy * (1 - accuracy) / len(flat.held_out_.rows))
        limits["max_loss"] = max(MAX_LOSS, MAX_ERRORS * float(error))
        for tree in (relaxed, attention):
            tree.set_params(search__max_loss=limits["max_loss"])
    whole = float(flat.evaluations(rows[:1])[0])
    alone = OperatingPoint(None, whole, 1.0, flat.held_out_.accuracy, 0.0, 0.0)
    candidates: list[tuple[Key, OperatingPoint]] = [(flat, alone)]
    tried = [Tried(type(flat).__name__, (alone,), None)]

    def take() -> tuple[Key, OperatingPoint]:
        return candidates[choose_point([point for _, point in candidates], **limits)]

    def train(tree: TreeKey, plan: AnyPlan) -> None:
        tree._train_plan(problems, index, plan)
        point = next(p for p in tree._points if p.tolerance == tree.tolerance_)
        candidates.insert(len(candidates) - 1, (tree, point))  # of equals, the first wins
        tried.append(Tried(type(tree).__name__, tuple(tree._points), tree._points[0].evaluations))

    train(relaxed, _plan(relaxed, flat, problems, index))
    if take()[1].evaluations > ROOM * measure_entropy(index):
        rows = np.arange(len(index))
        if len(index) > _MOST_TRIED:
            rows = draw_rows(index, _MOST_TRIED, problems.seed)
        is_whole = len(rows) == len(index)
        part = problems if is_whole else problems.part(rows)
        plan = _plan(attention, flat, part, index[rows])
        way = plan.mean_way()
        if way < relaxed._points[0].evaluations:
            train(attention, plan if is_whole else _plan(attention, flat, problems, index))
        else:
            tried.append(Tried(type(attention).__name__, (), way))
    return Choice(*take(), tuple(tried), flat.held_out_)


def tell_points(key: Key) -> Choice:
    """Return a fitted key with what each of its tolerances costs and gains against one-vs-all.

    There is nothing to tell of a flat key, of one whose tolerance was given, and where there were
    too few rows to hold any out.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> choice = tell_points(OneVsAllClassifier(C=10.0).fit(X, np.repeat(list("abc"), 5)))
    >>> choice.point, choice.tried  # a flat key has one way to answer
    (None, ())
    """
    points = key._points if isinstance(key, TreeKey) else []
    if not points:
        return Choice(key, None, ())
    taken = next(point for point in points if point.tolerance == key.tolerance_)
    whole, accuracy = taken.evaluations / taken.relative_cost, taken.accuracy - taken.gain
    alone = OperatingPoint(None, whole, 1.0, accuracy, 0.0, 0.0)
    flat = Tried(OneVsAllClassifier.__name__, (alone,), None)
    tree = Tried(type(key).__name__, tuple(points), points[0].evaluations)
    return Choice(key, taken, (flat, tree))


def measure_entropy(index: np.ndarray) -> float:
    """Return the entropy of the classes of rows, in bits."""
    share = np.bincount(index) / len(index)
    share = share[share > 0]
    return float(-share @ np.log2(share))


def _plan(tree: TreeKey, flat: Any, problems: Problems, index: np.ndarray) -> Any:
    """Return the plan of a tree for rows that the flat key has read."""
    for name in ("classes_", "n_features_in_", "feature_names_in_", "C_"):
        if hasattr(flat, name):
            setattr(tree, name, getattr(flat, name))
    return tree._plan_trees(problems.changed(loss="hinge", device="cpu"), index)
