"""Are the marks of a guide true?

- **Drawn specimens**, whose attributes are known. A guide is built of one draw, and judged by
  another: an attribute that it names as a mark of a kind is right when it is shown there by at
  least 60 % of the kind and 1.5 times as often as by the others. Recall is over the
  attributes that are marks by the guide's own rule (at most 30 % of the others show it too) in the
  second draw. Once with the attributes of all pictures, once with those of every other kind alone,
  and six times with those of a random half: the others, which are judged, have what those taught.
  Beside it the share of their marks that can be learnt: those that at least one annotated kind
  shows, and those that at least two do, so that a kind can be held out; and the recall of these.
  Then precision and recall over all kinds, annotated or not.
  Last, the share of the attributes that set kinds apart from single look-alikes, or that they are
  said to lack beside them, that is right.
- **How marks are chosen**: four of the attributes for each kind, by the first draw, judged by the
  second: by the difference of the shares, by their ratio, by the concert of votes, by the convex
  selection; and the same of those that pass the test on specimens left out.
- **CUB-200**: whether the colours that a guide gives a species are its main colours by at least
  15 % of the annotators' votes: the first of *its colours*, and every colour named by a mark that
  sets it apart from all others; beside the first colour of whole pictures, and *brown* for all.
- **CUB-200 with its 312 attributes** as the owner's, the same for all pictures of a species: the
  share of the attributes named as marks that most of the votes for the species give it, and of
  those that are voted for it more than for the mean of the others.
- **Cost**: what marks add to the CPU seconds of a build of 1,024 pictures.

    python benchmarks/run.py --only marks --data DIR

Guides are kept in ``out/bench/guides``: a second run reads them.
"""

import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.problems.subject_words import VOTED, judge_answers, share_names, share_votes
from fieldguide import Collection, Guide
from fieldguide.datasets import load_cub200, load_specimens
from fieldguide.features import COLOURS, rank_colours
from fieldguide.guide.apart import (
    LEAST_RATIO,
    LEAST_SHARE,
    MOST_ELSEWHERE,
    count_shows,
    deal_folds,
    find_marks,
)
from fieldguide.select import AdditiveKernelSelector, ConcertSelector

GUIDES = Path("out/bench/guides")
N_CHOSEN = 4
N_HALVES = 6
_FIRST_HALF = 30  # seed; what speaks for an attribute was chosen with halves of others
LEARNT = (("shown by one", 1), ("shown by two", 2))  # least annotated kinds that show a mark


def run(data: Path | None, *, tiny: bool) -> dict:
    n = 6 if tiny else 24
    first, second = (
        load_specimens(n_per_kind=n, size_px=64 if tiny else 160, random_state=seed)
        for seed in (0, 1)
    )
    kinds = range(4) if tiny else range(len(first.target_names))
    result: dict[str, Any] = {"chosen": judge_choices(first, second, kinds)}
    withheld = {"all attributes": [], "every other kind": [k for k in kinds if k % 2]}
    for seed in range(0 if tiny else N_HALVES):
        order = np.random.default_rng(_FIRST_HALF + seed).permutation(len(kinds))
        withheld[f"half {seed}"] = sorted(order[: len(kinds) // 2].tolist())
    result["named"] = {
        name: judge_named(first, second, kinds, withheld=chosen, tiny=tiny)
        for name, chosen in withheld.items()
    }
    if not tiny:
        result["cost"] = time_marks()
    if data is not None and not tiny:
        result["colours"] = judge_colours(data / "cub200")
        result["sidecar"] = judge_sidecar(data / "cub200")
    return result


def find_truth(drawn: Any, kinds: range) -> tuple[np.ndarray, np.ndarray]:
    """Return which attributes hold of a kind, and which are its marks, each (n_kinds, n)."""
    shows = drawn.attributes > 0
    holds, is_mark = [], []
    for k in kinds:
        own, other = (
            shows[drawn.target == k].mean(axis=0),
            shows[_others(drawn, k, kinds)].mean(axis=0),
        )
        passes = (own >= LEAST_SHARE) & (own >= LEAST_RATIO * other)
        holds.append(passes)
        is_mark.append(passes & (other <= MOST_ELSEWHERE))
    return np.array(holds), np.array(is_mark)


def judge_choices(first: Any, second: Any, kinds: range) -> dict[str, dict[str, float]]:
    """Judge the marks that each way of choosing names, by another draw."""
    holds, is_mark = find_truth(second, kinds)
    shows = first.attributes > 0
    index = np.where(np.isin(first.target, kinds), first.target, -1)
    counts = count_shows(shows, index, deal_folds(index, 0))
    figures: dict[str, dict[str, float]] = {}
    for tested in (False, True):
        for name, weigh in WAYS.items():
            named, right, hit, true = 0, 0, 0, 0
            for k in kinds:
                own, other = index == k, _others(first, k, kinds)
                columns = np.arange(shows.shape[1])
                if tested:
                    others = [j for j in kinds if j != k]
                    columns = np.array(
                        [p.column for p in find_marks(counts, k, others, MOST_ELSEWHERE)], dtype=int
                    )
                if len(columns):
                    weights = weigh(shows[own][:, columns], shows[other][:, columns])
                    best = np.argsort(-weights, kind="stable")[:N_CHOSEN]
                    columns = columns[best[weights[best] > 0]]
                named += len(columns)
                right += int(holds[k, columns].sum())
                hit += int(is_mark[k, columns].sum())
                true += min(int(is_mark[k].sum()), N_CHOSEN)
            figures[f"{name}{', tested' if tested else ''}"] = {
                "named": named / len(kinds),
                "precision": right / max(named, 1),
                "recall of four": hit / max(true, 1),
            }
    return figures


def weigh_difference(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    return own.mean(axis=0) - other.mean(axis=0)


def weigh_ratio(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    ratio = (
        (own.sum(axis=0) + 0.5) / (len(own) + 1) / ((other.sum(axis=0) + 0.5) / (len(other) + 1))
    )
    return np.where(ratio > 1, ratio, 0)


def weigh_concert(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    X, y = _stack(own, other)
    concert = ConcertSelector(k=min(N_CHOSEN, X.shape[1]), p1=1.0).fit(X, y)
    return np.where(concert.flips_, 0.0, concert.weights_)


def weigh_additive(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    X, y = _stack(own, other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = AdditiveKernelSelector("linear", C=1.0, mode="exact").fit(X, y)
    is_more = own.mean(axis=0) > other.mean(axis=0)
    is_chosen = selector.weights_ > 0
    shares = np.where(is_chosen, selector.weights_ * np.where(is_chosen, selector.spreads_, 0), 0)
    return np.where(is_more, shares, 0.0)


WAYS = {
    "difference": weigh_difference,
    "ratio": weigh_ratio,
    "concert": weigh_concert,
    "convex": weigh_additive,
}


def judge_named(
    first: Any, second: Any, kinds: range, *, withheld: list[int], tiny: bool
) -> dict[str, float]:
    """Judge the attributes that a guide names as marks, of the first draw, by the second.

    Judged are the kinds whose attributes are withheld, or all where none are; beside it all kinds.
    """
    is_used = np.isin(first.target, kinds)
    attributes = first.attributes[is_used].astype(np.float32)
    labels = [first.target_names[k] for k in first.target[is_used]]
    judged = withheld or list(kinds)
    attributes[np.isin(first.target[is_used], withheld)] = np.nan
    collection = Collection.from_arrays(
        first.images[is_used], labels, attributes=attributes, attribute_names=first.attribute_names
    )
    # One guide, built again with other attributes: what it has measured of the pictures stays.
    name = f"specimens-{'tiny' if tiny else 'full'}"
    guide = Guide.build(
        collection, GUIDES / name, features="deep" if tiny else "auto", tree="agglomerative"
    )
    holds, is_mark = find_truth(second, kinds)
    place = {name: j for j, name in enumerate(first.attribute_names)}
    n_given = count_given(first, kinds, withheld)
    shown = np.stack([(second.attributes[second.target == k] > 0).mean(axis=0) for k in kinds])
    shares: dict[str, list[float]] = {"precision": [], "recall": [], "apart": []}
    shares |= {f"{what}{name}": [] for name, _ in LEARNT for what in ("", "recall, ")}
    shares |= {"precision, all kinds": [], "recall, all kinds": []}
    for k in kinds:
        found = guide.marks(first.target_names[k])
        assert found is not None
        named = [place[m.text] for m in found.marks if m.source == "owner"]
        true = np.flatnonzero(is_mark[kinds.index(k)])
        if named:
            shares["precision, all kinds"].append(holds[kinds.index(k), named].mean())
        if len(true):
            shares["recall, all kinds"].append(np.isin(true, named).mean())
        if k not in judged:
            continue
        if named:
            shares["precision"].append(holds[kinds.index(k), named].mean())
        for pair in found.apart:
            other = shown[kinds.index(first.target_names.index(pair.other))]
            shares["apart"] += [
                float(is_apart(shown[kinds.index(k)], other, place[mark.text], mark.negated))
                for mark in pair.marks
                if mark.source == "owner"
            ]
        if not len(true):
            continue
        is_found = np.isin(true, named)
        shares["recall"].append(is_found.mean())
        for name, least in LEARNT:
            is_learnt = n_given[true] >= least
            shares[name].append(is_learnt.mean())
            if is_learnt.any():
                shares[f"recall, {name}"].append(is_found[is_learnt].mean())
    means = {name: float(np.mean(values)) if values else 0.0 for name, values in shares.items()}
    return {"kinds": len(judged), "named": len(shares["precision"]), **means}


def is_apart(own: np.ndarray, other: np.ndarray, j: int, negated: bool) -> bool:
    """Whether an attribute sets one kind apart from another, from the shares that show it."""
    more, less = (other[j], own[j]) if negated else (own[j], other[j])
    return bool(more >= LEAST_SHARE and more >= LEAST_RATIO * less)


def count_given(drawn: Any, kinds: range, withheld: list[int]) -> np.ndarray:
    """Return how many annotated kinds show each attribute."""
    shows = drawn.attributes > 0
    given = [k for k in kinds if k not in withheld]
    shown = [shows[drawn.target == k].mean(axis=0) >= LEAST_SHARE for k in given]
    return np.sum(shown, axis=0)


def judge_colours(folder: Path) -> dict[str, Any]:
    """Judge the colours that a guide of CUB-200 gives its species."""
    birds = load_cub200(folder)
    of_species = np.zeros((len(birds.target_names), birds.attributes.shape[1]))
    of_species[birds.target] = birds.attributes
    votes = share_votes(of_species, birds.attribute_names, "primary")
    guide = Guide.build(folder / "images", GUIDES / "cub200", tree="agglomerative")
    first, right, n_named = [], 0, 0
    for k, kind in enumerate(guide.kinds):
        found = guide.marks(kind.name)
        assert found is not None
        first.append(COLOURS.index(found.colours[0]) if found.colours else 0)
        named = {colour for mark in found.said for colour in mark.colours}
        if named:
            n_named += 1
            right += all(votes[k, COLOURS.index(colour)] >= VOTED for colour in named)
    whole = np.stack(
        [
            share_names(np.asarray(Image.open(folder / "images" / guide.specimen(i).path)), 0.0)
            for i in range(guide.n_specimens)
        ]
    )
    kinds = np.array([guide.specimen(i).kind for i in range(guide.n_specimens)])
    whole_first = rank_colours(whole, kinds)[1].argmax(axis=1)
    brown = np.full(len(votes), COLOURS.index("brown"))
    return {
        "first of its colours": judge_answers(np.array(first), votes)["all"],
        "whole pictures": judge_answers(whole_first, votes)["all"],
        "always brown": judge_answers(brown, votes)["all"],
        "species with a colour among their marks": n_named,
        "all of these colours right": right / max(n_named, 1),
    }


def judge_sidecar(folder: Path) -> dict[str, float]:
    """Judge the marks of a guide whose owner has annotated the species of CUB-200."""
    birds = load_cub200(folder)
    images = [np.asarray(birds.images.picture(i)[0].image) for i in range(len(birds.target))]
    labels = [birds.target_names[k] for k in birds.target]
    collection = Collection.from_arrays(
        images, labels, attributes=birds.attributes, attribute_names=birds.attribute_names
    )
    guide = Guide.build(
        collection, GUIDES / "cub200-attributes", features="deep", tree="agglomerative"
    )
    place = {name: j for j, name in enumerate(birds.attribute_names)}
    votes = birds.class_attributes
    named, voted, rises = 0, 0, 0
    for k, name in enumerate(birds.target_names):
        found = guide.marks(name)
        assert found is not None
        columns = [place[mark.text] for mark in found.marks if mark.source == "owner"]
        named += len(columns)
        voted += int((votes[k, columns] >= 0.5).sum())
        rises += int(
            (votes[k, columns] > np.delete(votes, k, axis=0)[:, columns].mean(axis=0)).sum()
        )
    return {
        "named of a species": named / len(votes),
        "voted": voted / max(named, 1),
        "above the others": rises / max(named, 1),
    }


def time_marks() -> dict[str, float]:
    """Return the CPU seconds of a build of 1,024 pictures, with marks and what they take."""
    drawn = load_specimens(n_per_kind=32)
    labels = [drawn.target_names[k] for k in drawn.target]
    spent: dict[str, float] = {}
    last: tuple[str, float] | None = None

    def note(step: str, done: int, total: int) -> None:
        nonlocal last
        now = time.process_time()
        if last is not None:
            spent[last[0]] = spent.get(last[0], 0.0) + now - last[1]
        last = step, now

    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        collection = Collection.from_arrays(drawn.images, labels)
        Guide.build(collection, Path(folder) / "guide", progress=note)
        total = time.process_time() - start
    return {"seconds": total, "marks": spent.get("finding marks", 0.0)}


def table(result: dict) -> str:
    lines = [
        "| four attributes by | named of a kind | precision | recall of four |",
        "|---|---|---|---|",
    ]
    for name, row in result["chosen"].items():
        figures = (f"{row[column]:.2f}" for column in ("named", "precision", "recall of four"))
        lines.append(f"| {name} | {' | '.join(figures)} |")
    lines += [
        "",
        "| a guide's marks with the attributes of | kinds judged | precision | recall | marks that "
        "an annotated kind shows | recall of these | that two show | recall of these | right "
        "between two | precision, all kinds | recall, all kinds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    columns = (
        "precision",
        "recall",
        *(f"{w}{n}" for n, _ in LEARNT for w in ("", "recall, ")),
        "apart",
        "precision, all kinds",
        "recall, all kinds",
    )
    for name, row in result["named"].items():
        figures = (f"{row[column]:.2f}" for column in columns)
        lines.append(f"| {name} | {row['kinds']} | {' | '.join(figures)} |")
    halves = [row for name, row in result["named"].items() if name.startswith("half")]
    if halves:
        spreads = ([row[column] for row in halves] for column in columns)
        figures = (f"{np.mean(v):.2f} ± {np.std(v):.2f}" for v in spreads)
        lines.append(f"| mean of the halves | {halves[0]['kinds']} | {' | '.join(figures)} |")
    if "colours" in result:
        lines += ["", "| CUB-200 | voted by 15 % | most voted |", "|---|---|---|"]
        for name in ("first of its colours", "whole pictures", "always brown"):
            voted, most = result["colours"][name]
            lines.append(f"| {name} | {voted:.3f} | {most:.3f} |")
        n = result["colours"]["species with a colour among their marks"]
        share = result["colours"]["all of these colours right"]
        lines.append(f"| colours among the marks of {n} species, all right | {share:.3f} | |")
    if "sidecar" in result:
        row = result["sidecar"]
        named, voted, above = (row[c] for c in ("named of a species", "voted", "above the others"))
        lines += [
            "",
            f"CUB-200 with its attributes: {named:.1f} marks of a species, {voted:.1%} of them by "
            f"most votes, {above:.1%} above the others.",
        ]
    if "cost" in result:
        cost = result["cost"]
        share = cost["marks"] / cost["seconds"]
        lines += [
            "",
            f"Marks take {cost['marks']:.0f} of {cost['seconds']:.0f} CPU s ({share:.0%}).",
        ]
    return "\n".join(lines)


def _others(drawn: Any, k: int, kinds: range) -> np.ndarray:
    return np.isin(drawn.target, kinds) & (drawn.target != k)


def _stack(own: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = np.concatenate([own, other]).astype(np.float64)
    return X, np.arange(len(X)) < len(own)
