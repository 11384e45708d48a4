"""Short clips of moving specimens, drawn by our own code, with a box in every frame.

A clip is one specimen, one background and one light; only the moment of the movement (a wing beat,
a swing of the tail, a step) and the place change from frame to frame.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_DESCR = """Specimen clips: short clips of moving animals, drawn by code

{n} clips of {n_actions} actions, {n_frames} frames of {size_px} pixels each, drawn for seed {seed}.
The background is still or pans slowly; now and then grass or weed stands before the animal.
Boxes: x0, y0, x1, y1 in pixels, of what can be seen of the animal in every frame.
Order: round by round, one clip of every action.
"""


@dataclass(frozen=True)
class Track:
    """Where the animal is and how it holds itself, one value per frame."""

    x: np.ndarray
    y: np.ndarray
    angle: np.ndarray
    phase: np.ndarray
    facing: float


@dataclass(frozen=True)
class Action:
    """One action: who does it (family, stance, scenes), and how it moves."""

    name: str
    cast: dict[str, tuple[str, tuple[str, ...]]]
    size: tuple[float, float]
    move: Callable[[np.random.Generator, int], Track]
    is_grounded: bool = False


def load_specimen_clips(
    n_per_action: int = 20,
    n_frames: int = 24,
    size_px: int = 96,
    *,
    random_state: int = 0,
    n_jobs: int = 1,
) -> "Bunch":
    """Draw short clips of specimens that fly, swim, crawl or hop.

    Parameters
    ----------
    n_per_action : int, default 20
        Clips of each action.
    n_frames : int, default 24
        Frames of each clip, from 2 to 240.
    size_px : int, default 96
        Width and height of a frame, from 64 to 512.
    random_state : int, default 0
        Seed. The same seed gives the same bytes.
    n_jobs : int, default 1
        Processes; the result does not depend on it.

    Returns
    -------
    sklearn.utils.Bunch
        ``clips`` : uint8 array of shape (n, n_frames, size_px, size_px, 3), round by round: clip
        ``i * n_actions + a`` is the i-th of action a.

        ``target`` : int array of shape (n,), index into ``target_names``.

        ``target_names`` : list of str, the actions.

        ``kinds`` : list of str, the kind of specimen in each clip.

        ``boxes`` : float32 array of shape (n, n_frames, 4), x0, y0, x1, y1 in pixels.

        ``DESCR`` : str.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimen_clips
    >>> clips = load_specimen_clips(n_per_action=1, n_frames=4, size_px=64)
    >>> clips.target_names
    ['flying', 'swimming', 'crawling', 'hopping']
    """
    owner = "load_specimen_clips"
    check_number(owner, "n_per_action", n_per_action, 1, 10_000, integer=True)
    check_number(owner, "n_frames", n_frames, 2, 240, integer=True)
    check_number(owner, "size_px", size_px, 64, 512, integer=True)
    check_number(owner, "random_state", random_state, 0, 2**63 - 1, integer=True)
    from sklearn.utils import Bunch

    n = n_per_action * len(ACTIONS)
    clips = np.empty((n, n_frames, size_px, size_px, 3), np.uint8)
    boxes = np.empty((n, n_frames, 4), np.float32)
    kinds = []
    work = [(*divmod(j, len(ACTIONS)), n_frames, size_px, random_state) for j in range(n)]
    for j, (frames, box, kind) in enumerate(
        map_in_order(_film, work, n_jobs=n_jobs, threads=False)
    ):
        clips[j], boxes[j] = frames, box * size_px
        kinds.append(kind)
    return Bunch(
        clips=clips,
        target=np.tile(np.arange(len(ACTIONS)), n_per_action),
        target_names=[action.name for action in ACTIONS],
        kinds=kinds,
        boxes=boxes,
        DESCR=_DESCR.format(
            n=n, n_actions=len(ACTIONS), n_frames=n_frames, size_px=size_px, seed=random_state
        ),
    )


def _film(work: tuple[int, int, int, int, int]) -> tuple[np.ndarray, np.ndarray, str]:
    """Draw clip i of action a."""
    i, a, n_frames, size_px, seed = work
    spawned = np.random.SeedSequence(seed, spawn_key=(1_000_000 + a, i))
    return film(ACTIONS[a], spawned, n_frames, size_px)


def film(
    action: Action, seed: np.random.SeedSequence, n_frames: int, size_px: int
) -> tuple[np.ndarray, np.ndarray, str]:
    """Draw one clip; return its frames, its boxes in fractions of the width, and its kind."""
    from fieldguide.datasets.specimens.canvas import Pen
    from fieldguide.datasets.specimens.clutter import draw_clutter
    from fieldguide.datasets.specimens.kinds import KINDS
    from fieldguide.datasets.specimens.plate import choose_light, compose, read_truth
    from fieldguide.datasets.specimens.scenery import SCENES, Ground

    rng, specimen_seed = (np.random.default_rng(child) for child in seed.spawn(2))
    own_seed = int(specimen_seed.integers(2**62))
    able = [kind for kind in KINDS if kind.family in action.cast]
    kind = able[rng.integers(len(able))]
    stance, scenes = action.cast[kind.family]
    scene = scenes[rng.integers(len(scenes))]
    size = rng.uniform(*action.size)
    track = action.move(rng, n_frames)
    light = choose_light(rng)
    wide_px = round(size_px * 1.15)
    ground = Ground(wide_px, rng)
    SCENES[scene][0](ground)
    view = ground.finished()
    turn = track.facing * np.pi / 2 if kind.family in _HEAD_UP else 0.0
    pan_px = _pan(rng, n_frames) * (wide_px - size_px)
    front = None
    if rng.random() < 0.35:
        front = Pen(size_px, rng, sharpness=2)
        draw_clutter(front, rng, scene, 0.3 * rng.random())

    frames = np.empty((n_frames, size_px, size_px, 3), np.uint8)
    boxes = np.empty((n_frames, 4))
    for t in range(n_frames):
        same = np.random.default_rng(own_seed)  # every frame shows the same individual
        pen = Pen(size_px, same)
        left, top = pan_px[t].round().astype(int).tolist()
        at = (track.x[t], track.y[t], track.angle[t] + turn, track.facing * size, size)
        with pen.placed(*at):
            kind.draw(pen, same, kind.look, stance, track.phase[t])
        window = view.crop((left, top, left + size_px, top + size_px))
        frames[t] = compose(window, pen, front, light, action.is_grounded)
        boxes[t] = read_truth(pen, front)[0]
    return frames, boxes, kind.name


def _pan(rng: np.random.Generator, n_frames: int) -> np.ndarray:
    """Return the corner of the view per frame, in [0, 1]; half of the clips stand still."""
    start = rng.random(2)
    end = rng.random(2) if rng.random() < 0.5 else start
    return start + (end - start) * np.linspace(0, 1, n_frames)[:, None]


def _across(rng: np.random.Generator, t: np.ndarray, reach: float) -> tuple[np.ndarray, float]:
    """Return x from one side towards the other, and the direction faced."""
    facing = float(rng.choice([-1.0, 1.0]))
    start = 0.5 - facing * rng.uniform(0.5, 1.0) * reach
    return start + facing * t * reach * rng.uniform(1.0, 1.5), facing


def _fly(rng: np.random.Generator, n_frames: int) -> Track:
    t = np.linspace(0, 1, n_frames)
    x, facing = _across(rng, t, 0.24)
    beats = rng.uniform(0.1, 0.16) * n_frames
    phase = rng.random() + beats * t
    climb = rng.normal(0, 0.14)
    y = rng.uniform(0.42, 0.58) - climb * (t - 0.5) - 0.02 * np.sin(2 * np.pi * phase)
    angle = -facing * np.full(n_frames, climb) * 0.8
    return Track(x, y, angle, phase % 1, facing)


def _swim(rng: np.random.Generator, n_frames: int) -> Track:
    t = np.linspace(0, 1, n_frames)
    x, facing = _across(rng, t, 0.2)
    phase = rng.random() + rng.uniform(0.07, 0.12) * n_frames * t
    drift = rng.normal(0, 0.1)
    y = (
        rng.uniform(0.4, 0.6)
        + drift * (t - 0.5)
        + 0.015 * np.sin(2 * np.pi * t + rng.uniform(0, 6))
    )
    return Track(x, y, facing * np.full(n_frames, drift), phase % 1, facing)


def _crawl(rng: np.random.Generator, n_frames: int) -> Track:
    """Move slowly along a gentle curve."""
    t = np.linspace(0, 1, n_frames)
    x, facing = _across(rng, t, 0.1)
    phase = rng.random() + rng.uniform(0.06, 0.1) * n_frames * t
    y = rng.uniform(0.48, 0.6) + 0.03 * np.sin(np.pi * t + rng.uniform(0, 6))
    return Track(x, y, 0.06 * np.sin(2 * np.pi * phase), phase % 1, facing)


def _hop(rng: np.random.Generator, n_frames: int) -> Track:
    t = np.linspace(0, 1, n_frames)
    facing = float(rng.choice([-1.0, 1.0]))
    hops = rng.uniform(0.09, 0.13) * n_frames * t + rng.random()
    moment = np.clip((hops % 1) / 0.7, 0, 1)  # the last part of a hop is a rest on the ground
    height = 4 * moment * (1 - moment)
    done = np.floor(hops) + moment
    x = 0.5 + facing * (done - done.mean()) * rng.uniform(0.1, 0.15)
    y = rng.uniform(0.5, 0.6) - 0.13 * height
    return Track(
        np.clip(x, 0.2, 0.8), y, -facing * 0.18 * (1 - 2 * moment) * (height > 0), moment, facing
    )


_HEAD_UP = ("butterflies", "dragonflies", "beetles")  # body plans that are drawn head up
_AIR = ("sky", "meadow")
_GROUND = ("moss", "sand", "green leaf", "forest floor")
_WATER = ("deep water", "reef", "stream")

ACTIONS = (
    Action(
        "flying",
        {
            "songbirds": ("in flight", _AIR),
            "butterflies": ("wings open", _AIR),
            "dragonflies": ("in flight", ("pond", "meadow")),
        },
        (0.45, 0.7),
        _fly,
    ),
    Action(
        "swimming",
        {
            "reef fishes": ("swimming", _WATER),
            "river fishes": ("swimming", _WATER),
            "ducks": ("swimming", ("pond",)),
        },
        (0.45, 0.7),
        _swim,
    ),
    Action(
        "crawling",
        {"beetles": ("crawling", _GROUND), "snails": ("crawling", _GROUND)},
        (0.45, 0.7),
        _crawl,
        is_grounded=True,
    ),
    Action(
        "hopping",
        {"songbirds": ("hopping", ("snow", "meadow", "sand", "forest floor"))},
        (0.45, 0.65),
        _hop,
        is_grounded=True,
    ),
)
