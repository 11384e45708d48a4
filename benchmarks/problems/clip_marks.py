"""Are marks of movement true, and do they move as they are said to?

Clips that our own code draws (24 frames of 96 px, 12 a second), so that what moves, where and how
fast is known, in three draws each:

- **movers**: six ways to move (rising, falling, rushing and creeping to the side, bobbing, beating
  the wings in place), by the same birds and butterflies before the same skies and meadows: nothing
  but movement tells the kinds apart;
- **actions**: flying, swimming, crawling and hopping, each with animals and scenes of its own.

Twelve clips of each kind are the guide's; marks of movement are found in them as in a build, with
the patterns chosen by one of several rules, the same number at most for each kind. Twenty-four
other clips of each kind judge them. A mark is

=========  =====================================================================================
true       if at least 60 % of the new clips of the kind show it, and 1.5 times as many as others
on it      if at least half of the pixels that move in its blocks, in new clips of the kind, lie
           in the box of the animal, grown by 2 px
way right  if it is said to go where the middle of the animal truly goes (movers but beating)
speed      right if it is said to be within a factor of 1.5 of the animal's (the same)
=========  =====================================================================================

The rules are the guide's (difference of shares, on held-out clips), the plain ratio of the shares
in all clips without holding any out, the ratio with the guide's test, the concert of votes and the
convex selection for χ² (candidates are the patterns with a weight in all five folds), and the
guide's rule on single words, mirror images apart.

    python benchmarks/run.py --only clip_marks
"""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fieldguide.datasets import load_specimen_clips
from fieldguide.datasets.clips import Action, Track, film
from fieldguide.errors import FieldguideWarning
from fieldguide.guide.apart import (
    LEAST_RATIO,
    LEAST_SHARE,
    MOST_ELSEWHERE,
    N_FOLDS,
    Passed,
    count_shows,
    find_marks,
)
from fieldguide.guide.movement_marks import (
    ALIKE,
    DOWN,
    LEAST_ADDING,
    N_MARKS,
    SHOWN_ABOVE,
    SIDEWAYS,
    UP,
    UP_AND_DOWN,
    ChosenMark,
    HeldOutKeys,
    MovementMark,
    Moving,
    Watched,
    choose_marks,
    find_blocks,
    find_moving,
    measure_mark,
    train_held_out,
)
from fieldguide.select import AdditiveKernelSelector, ConcertSelector
from fieldguide.video import SpaceTimeWords, group_words, optical_flow

N_GUIDE, N_JUDGES, N_FRAMES, SIZE_PX, FRAMES_PER_S = 12, 24, 24, 96, 12
N_WORDS, N_ROUNDS = 200, 10
SEEDS = (20, 21, 22)
GROWN_PX, LEAST_FLOW_PX = 2, 0.4
FASTER = 1.5
RULES = ("difference", "ratio", "ratio, not held out", "concert", "additive χ²", "single words")
_STREAM = 7_000_000  # of random numbers, apart from those of the drawn actions


class Draw(NamedTuple):
    """Clips with what is known of them."""

    clips: np.ndarray
    boxes: np.ndarray  # (n, n_frames, 4) pixels
    kinds: np.ndarray
    names: list[str]


class Seen(NamedTuple):
    """The words and movement of the clips of a draw."""

    rows: np.ndarray
    flows: list[np.ndarray]
    watched: list[Watched]


def run(data: Path | None, *, tiny: bool) -> dict:
    n_guide, n_judges, n_words = (5, 1, 30) if tiny else (N_GUIDE, N_JUDGES, N_WORDS)
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)
        for name, draw in (("movers", draw_movers), ("actions", draw_actions))[
            : 1 if tiny else None
        ]:
            for seed in SEEDS[: 1 if tiny else None]:
                known = draw(n_guide + n_judges, seed, 6 if tiny else N_FRAMES)
                rows += [{"clips": name, **row} for row in judge_draw(known, n_guide, n_words)]
    return {"rows": rows}


def judge_draw(known: Draw, n_guide: int, n_words: int) -> list[dict[str, Any]]:
    """Return what each rule names of one draw, and how much of it is so."""
    n_kinds = len(known.names)
    guide, judges = (
        Draw(*(part[a:b] for part in known[:3]), known.names)
        for a, b in ((0, n_guide * n_kinds), (n_guide * n_kinds, None))
    )
    words = SpaceTimeWords(n_words, n_iter=N_ROUNDS, max_side_px=128).fit(guide.clips)
    own, new = look(words, guide.clips), look(words, judges.clips)
    held_out = train_held_out(own.rows, guide.kinds, seed=0, n_jobs=1)
    patterns = group_words(words)
    single = np.eye(n_words, dtype=bool)[group_words(words, least_words=1).any(axis=0)]
    found = []
    for rule in RULES:
        pool = single if rule == "single words" else patterns
        mean = (own.rows @ pool.T).mean(axis=0)
        graded = []
        for k, chosen in enumerate(choose(rule, pool, held_out)):
            for mark in chosen:
                place = int(np.flatnonzero((pool == mark.words).all(axis=1))[0])
                shows = new.rows @ mark.words > SHOWN_ABOVE * mean[place]
                said = measure_mark(mark, own.watched)
                graded.append((k, grade(k, mark, said, shows, judges, new, guide)))
        found.append(
            {
                "rule": rule,
                "kinds": n_kinds,
                "with a mark": len({k for k, _ in graded}),
                "with a true mark": len({k for k, each in graded if each["true"]}),
                "marks": len(graded),
                **{
                    name: [bool(each[name]) for _, each in graded if each[name] is not None]
                    for name in ("true", "on it", "way right", "speed right")
                },
            }
        )
    return found


def look(words: SpaceTimeWords, clips: np.ndarray) -> Seen:
    """Return the histogram, the flow and the moving blocks of each clip."""
    flows = [optical_flow(clip) for clip in clips]
    told = [find_moving(words, clip, flow) for clip, flow in zip(clips, flows, strict=True)]
    size = clips.shape[2:4]
    watched = [Watched(moving, *size, 1 / FRAMES_PER_S) for _, moving in told]
    return Seen(np.stack([row for row, _ in told]), flows, watched)


def choose(rule: str, pool: np.ndarray, held_out: HeldOutKeys) -> list[list[ChosenMark]]:
    """Return the marks of each kind by a rule."""
    if rule in ("difference", "single words"):
        return choose_marks(pool, held_out)
    shares, kinds = held_out.rows @ pool.T, held_out.kinds
    shows = shares > SHOWN_ABOVE * shares.mean(axis=0)
    counts = count_shows(shows, kinds, held_out.folds)
    n_kinds = len(counts.n)
    liking = weigh(rule, shares, shows, held_out)
    chosen = []
    for k in range(n_kinds):
        others = [j for j in range(n_kinds) if j != k]
        if rule == "ratio, not held out":
            passed = [count_all(shows, kinds, k, j) for j in np.argsort(-liking[k])[:N_MARKS]]
            chosen.append([make_mark(pool, held_out, shows, k, each) for each in passed])
            continue
        kept: list[ChosenMark] = []
        columns: list[int] = []
        passed = find_marks(counts, k, others, MOST_ELSEWHERE)
        for each in sorted(passed, key=lambda one: -liking[k, one.column]):
            alike = (np.corrcoef(shows[:, each.column], shows[:, j])[0, 1] for j in columns)
            if liking[k, each.column] <= 0 or any(one >= ALIKE for one in alike):
                continue
            mark = make_mark(pool, held_out, shows, k, each)
            if (mark.adds > 0).mean() >= LEAST_ADDING and mark.adds.mean() > 0:
                kept.append(mark)
                columns.append(each.column)
        chosen.append(kept[:N_MARKS])
    return chosen


def weigh(rule: str, shares: np.ndarray, shows: np.ndarray, held_out: HeldOutKeys) -> np.ndarray:
    """Return how much a rule thinks of each pattern for each kind, (n_kinds, n_patterns)."""
    kinds = held_out.kinds
    n_kinds = kinds.max() + 1
    own = np.stack([shows[kinds == k].mean(axis=0) for k in range(n_kinds)])
    others = np.stack([shows[kinds != k].mean(axis=0) for k in range(n_kinds)])
    if rule.startswith("ratio"):
        return np.where(own >= LEAST_SHARE, own / np.maximum(others, 0.5 / len(kinds)), 0)
    folds = []
    for fold in range(N_FOLDS):
        is_in = held_out.folds != fold
        if rule == "concert":
            selector: Any = ConcertSelector().fit(shows[is_in].astype(float), kinds[is_in])
            folds.append(selector.weights_ * ~selector.flips_)
        else:
            selector = AdditiveKernelSelector("chi2", mode="exact").fit(shares[is_in], kinds[is_in])
            folds.append(selector.weights_ * (own > others))
    weights = np.stack(folds)
    return np.where((weights > 0).all(axis=0), weights.mean(axis=0), 0)


def count_all(shows: np.ndarray, kinds: np.ndarray, k: int, column: int) -> Passed:
    """Return how many clips show a pattern, none of them held out."""
    own, others = shows[kinds == k, column], shows[kinds != k, column]
    return Passed(int(column), int(own.sum()), len(own), int(others.sum()), len(others))


def make_mark(
    pool: np.ndarray, held_out: HeldOutKeys, shows: np.ndarray, k: int, passed: Passed
) -> ChosenMark:
    """Return a pattern as a mark."""
    ids = np.flatnonzero((held_out.kinds == k) & shows[:, passed.column])
    words = pool[passed.column]
    adds = held_out.find_scores(ids) - held_out.find_scores(ids, words)
    return ChosenMark(words, passed, ids, adds)


def grade(
    k: int,
    mark: ChosenMark,
    said: MovementMark | None,
    shows: np.ndarray,
    judges: Draw,
    new: Seen,
    guide: Draw,
) -> dict[str, bool | None]:
    """Say what of a mark is so, in clips that the guide has not; None for what is not asked."""
    own, others = shows[judges.kinds == k].mean(), shows[judges.kinds != k].mean()
    name = judges.names[k]
    truth = MOVES[name][1] if name in MOVES else None
    ids = np.flatnonzero((judges.kinds == k) & shows)
    told: dict[str, bool | None] = {
        "true": bool(own >= LEAST_SHARE and own >= LEAST_RATIO * others),
        "on it": share_inside(mark, ids, judges, new) >= 0.5 if len(ids) else False,
        "way right": None,
        "speed right": None,
    }
    if truth is not None:
        speed = measure_truth(guide.boxes[guide.kinds == k])
        told["way right"] = said is not None and said.way == truth
        told["speed right"] = said is not None and speed / FASTER <= said.speed <= speed * FASTER
    return told


def share_inside(mark: ChosenMark, ids: Iterable[int], judges: Draw, new: Seen) -> float:
    """Return the share of the moving pixels of a mark's blocks that lie in the animal's box."""
    inside = total = 0
    for i in ids:
        blocks: Moving = find_blocks(mark, new.watched[i].moving)
        moves = np.hypot(*np.moveaxis(new.flows[i], -1, 0)) >= LEAST_FLOW_PX
        covered = np.zeros(moves.shape, dtype=bool)
        for place in range(len(blocks.word)):
            (side, _), (_, y, x) = blocks.size[place], blocks.middle[place]
            first, last = blocks.find_span(place)
            top, left = (round(float(at) - (side - 1) / 2) for at in (y, x))
            covered[first : last + 1, top : top + side, left : left + side] = True
        seen = covered & moves
        total += int(seen.sum())
        for t, (x0, y0, x1, y1) in enumerate(judges.boxes[i]):
            top, left = (max(int(low) - GROWN_PX, 0) for low in (y0, x0))
            bottom, right = (int(np.ceil(high)) + GROWN_PX for high in (y1, x1))
            inside += int(seen[t, top:bottom, left:right].sum())
    return inside / max(total, 1)


def measure_truth(boxes: np.ndarray) -> float:
    """Return how fast the middles of boxes move, in frame widths a second."""
    middle = (boxes[..., :2] + boxes[..., 2:]) / 2
    steps = np.linalg.norm(np.diff(middle, axis=1), axis=-1)
    return float(np.median(steps.mean(axis=1)) * FRAMES_PER_S / SIZE_PX)


def draw_actions(n: int, seed: int, n_frames: int) -> Draw:
    """Draw clips that fly, swim, crawl and hop, round by round."""
    drawn = load_specimen_clips(n, n_frames, SIZE_PX, random_state=seed)
    return Draw(drawn.clips, drawn.boxes, drawn.target, drawn.target_names)


def draw_movers(n: int, seed: int, n_frames: int) -> Draw:
    """Draw clips of the same animals that move in six ways, round by round."""
    clips, boxes = [], []
    for i in range(n):
        for a, (name, (move, _)) in enumerate(MOVES.items()):
            action = Action(name, _CAST, (0.4, 0.6), move)
            stream = np.random.SeedSequence(seed, spawn_key=(_STREAM + a, i))
            frames, box, _ = film(action, stream, n_frames, SIZE_PX)
            clips.append(frames)
            boxes.append(box * SIZE_PX)
    return Draw(np.stack(clips), np.stack(boxes), np.tile(np.arange(len(MOVES)), n), list(MOVES))


def _hold(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> Track:
    """Move without a beat of the wings."""
    return Track(x, y, np.zeros(len(x)), np.full(len(x), rng.random()), _face(rng))


def _face(rng: np.random.Generator) -> float:
    return float(rng.choice([-1.0, 1.0]))


def _stay(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.full(n, rng.uniform(0.4, 0.6))


def _pass(n: int, reach: float, middle: float = 0.5) -> np.ndarray:
    return middle + reach * (np.linspace(0, 1, n) - 0.5)


def _rise(rng: np.random.Generator, n: int) -> Track:
    return _hold(rng, _stay(rng, n), _pass(n, -rng.uniform(0.35, 0.5), rng.uniform(0.45, 0.55)))


def _fall(rng: np.random.Generator, n: int) -> Track:
    return _hold(rng, _stay(rng, n), _pass(n, rng.uniform(0.35, 0.5), rng.uniform(0.45, 0.55)))


def _rush(rng: np.random.Generator, n: int) -> Track:
    return _hold(rng, _pass(n, _face(rng) * rng.uniform(0.55, 0.8)), _stay(rng, n))


def _creep(rng: np.random.Generator, n: int) -> Track:
    return _hold(rng, _pass(n, _face(rng) * rng.uniform(0.15, 0.25)), _stay(rng, n))


def _bob(rng: np.random.Generator, n: int) -> Track:
    turns = rng.uniform(3, 4) * np.linspace(0, 1, n) + rng.random()
    height = rng.uniform(0.08, 0.12) * np.sin(2 * np.pi * turns)
    return _hold(rng, _stay(rng, n), rng.uniform(0.45, 0.55) + height)


def _beat(rng: np.random.Generator, n: int) -> Track:
    beats = rng.random() + rng.uniform(0.1, 0.16) * n * np.linspace(0, 1, n)
    return Track(_stay(rng, n), _stay(rng, n), np.zeros(n), beats % 1, _face(rng))


_CAST = {
    "songbirds": ("in flight", ("sky", "meadow")),
    "butterflies": ("wings open", ("sky", "meadow")),
}
# How each kind moves, and where to; wings that beat in place go many ways.
MOVES: dict[str, tuple[Any, str | None]] = {
    "rising": (_rise, UP),
    "falling": (_fall, DOWN),
    "rushing": (_rush, SIDEWAYS),
    "creeping": (_creep, SIDEWAYS),
    "bobbing": (_bob, UP_AND_DOWN),
    "beating": (_beat, None),
}


def table(result: dict) -> str:
    lines = [
        f"{len(SEEDS)} draws, all together.",
        "",
        "| clips | rule | kinds with a mark | with a true one | marks | true | on the animal "
        "| way right | speed right |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for clips in ("movers", "actions"):
        for rule in RULES:
            rows = [r for r in result["rows"] if (r["clips"], r["rule"]) == (clips, rule)]
            n, with_mark, with_true, marks = (
                sum(r[name] for r in rows)
                for name in ("kinds", "with a mark", "with a true mark", "marks")
            )
            shares = []
            for name in ("true", "on it", "way right", "speed right"):
                asked = [each for r in rows for each in r[name]]
                shares.append(f"{sum(asked)} of {len(asked)}" if asked else "")
            lines.append(
                f"| {clips} | {rule} | {with_mark} of {n} | {with_true} of {n} | {marks} "
                f"| {' | '.join(shares)} |"
            )
    return "\n".join(lines)
