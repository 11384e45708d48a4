"""Compiled proposals for the parameters of one node, and their densities, attribute by attribute.

The conditional of a node's parameter, given its parent, its children and the rows at or below it,
is laid out as a histogram: coarse over the whole range, then finer where the mass is. A proposal
need not be exact, only its stated density must be its own; so logarithms are rough here.

===========  ===========================================================================
name         meaning
===========  ===========================================================================
n_children   number of children of the node
n_nodes      number of nodes with rows whose likelihood the parameter enters
room         :class:`Room`: what is known of those children and nodes, and arrays to work in
===========  ===========================================================================
"""

import math
from typing import NamedTuple

import numpy as np

from fieldguide._arrays import Floats, Ints, Words
from fieldguide._jit import inner_jit, jit
from fieldguide.describe._attribute_steps import (
    cubic_weights,
    interpolate,
    log_beta_line,
    logistic,
)
from fieldguide.describe._draws import uniform
from fieldguide.describe._node_parameters import ATTRIBUTE, Columns, Nodes

_N_BINS = 16
_N_STAGES = 3
_ANYWHERE = 0.0002  # share of a proposal that is even over the whole range
_SIGNIFICAND = np.int64((1 << 52) - 1)
_ONE = np.int64(1023 << 52)

Shape = tuple[Floats, float, float, float]  # the table of log B(x, c): log_c_low, c_step, x_edge


class Room(NamedTuple):
    """Arrays that a move of nodes writes before it reads them; there are ``room`` nodes."""

    sums: np.ndarray  # (2, n_attributes): over the children, see sum_children
    rest: np.ndarray  # (room, n_attributes): of nodes with rows, Π(1 - theta) on the rest of paths
    n1: np.ndarray  # (room, n_attributes): their rows that show an attribute
    n0: np.ndarray  # (room, n_attributes): and that do not
    path: np.ndarray  # (room, n_attributes)
    theta: np.ndarray  # (n_attributes,)
    gain: np.ndarray  # (2 n_attributes,)
    height: np.ndarray  # (_N_BINS,)
    line: np.ndarray  # (n_x,)
    branch: np.ndarray  # (room,): a node and all below it
    children: np.ndarray  # (room,)
    siblings: np.ndarray  # (room,)
    is_choice: np.ndarray  # (room,)
    is_apart: np.ndarray  # (room,): of siblings
    is_found: np.ndarray  # (room,): of siblings
    members: np.ndarray  # (n_rows,)
    goes: np.ndarray  # (n_rows,): of members


def make_room(n_rows: int, room: int, n_attributes: int, n_x: int) -> Room:
    """Return room for moves of so many rows and nodes; n_x is the width of the prior's table."""
    nodes_by_attributes = ("rest", "n1", "n0", "path")
    return Room(
        sums=np.zeros((2, n_attributes)),
        **{name: np.zeros((room, n_attributes)) for name in nodes_by_attributes},
        theta=np.zeros(n_attributes),
        gain=np.zeros(2 * n_attributes),
        height=np.zeros(_N_BINS),
        line=np.zeros(n_x),
        **{name: np.zeros(room, dtype=np.int64) for name in ("branch", "children", "siblings")},
        **{name: np.zeros(room, dtype=bool) for name in ("is_choice", "is_apart", "is_found")},
        members=np.zeros(n_rows, dtype=np.int64),
        goes=np.zeros(n_rows, dtype=bool),
    )


@jit(counted=False)
def rough_log(x: float) -> float:
    """Return log x within 2e-6; x is positive and normal."""
    bits = np.float64(x).view(np.int64)
    power = (bits >> np.int64(52)) - np.int64(1023)
    m = np.int64((bits & _SIGNIFICAND) | _ONE).view(np.float64)
    # through the Chebyshev points of [1, 2]
    log_m = -2.09964785 + m * (
        4.20523484
        + m * (-3.6471204 + m * (2.22694346 + m * (-0.8520796 + m * (0.18370084 - m * 0.01702961))))
    )
    return 0.6931471805599453 * power + log_m


@inner_jit(counted=False)
def to_line(kind: int, t: float) -> float:
    """Return the coordinate in which parameters are proposed."""
    return math.log(t / (1.0 - t)) if kind == ATTRIBUTE else t


@jit(counted=False)
def log_beta_at(
    table: Floats, log_c_low: float, c_step: float, x_edge: float, c: float, x: float
) -> float:
    """Return the tabulated normalizer at precision c and logit x."""
    at = (math.log(c) - log_c_low) / c_step
    i = min(max(int(at), 1), len(table) - 3)
    place = (x + x_edge) * (table.shape[1] - 1) / (2.0 * x_edge)
    j = min(max(int(place), 1), table.shape[1] - 3)
    w = cubic_weights(at - i)
    v = cubic_weights(place - j)
    total = 0.0
    for r in range(4):
        for s in range(4):
            total += w[r] * v[s] * table[i - 1 + r, j - 1 + s]
    return total


@inner_jit(counted=False)
def log_theta_prior(columns: Columns, shape: Shape, above: Floats, theta: Floats) -> float:
    """Return the log-density of a child's parameters, in their coordinate; shape is the table's.

    above, theta (n_attributes,) are those of the parent and of the child.
    """
    total = 0.0
    for d in range(len(theta)):
        p, t, c = above[d], theta[d], columns.spread[d]
        if columns.kind == ATTRIBUTE:
            x = to_line(ATTRIBUTE, p)
            total += c * (p * math.log(t) + (1.0 - p) * math.log(1.0 - t))
            total -= log_beta_at(shape[0], shape[1], shape[2], shape[3], c, x)
        else:
            z = (t - p) / c
            total -= 0.5 * z * z + math.log(c * math.sqrt(2.0 * math.pi))
    return total


@jit(counted=False)
def sum_children(
    columns: Columns, nodes: Nodes, children: Ints, n_children: int, sums: Floats
) -> None:
    """Write sums (2, n_attributes) of log theta and log(1 - theta), or of theta and nothing."""
    n_attributes = nodes.theta.shape[1]
    for d in range(n_attributes):
        sums[0, d] = sums[1, d] = 0.0
    for i in range(n_children):
        for d in range(n_attributes):
            t = nodes.theta[children[i], d]
            if columns.kind == ATTRIBUTE:
                sums[0, d] += math.log(t)
                sums[1, d] += math.log(1.0 - t)
            else:
                sums[0, d] += t


@inner_jit(counted=False)
def fill_heights(
    columns: Columns, room: Room, d: int, parent: float, n_children: int, n_nodes: int,
    x_edge: float, low: float, width: float,
) -> None:  # fmt: skip
    """Write the log-density, but for a constant, at the middle of each bin."""
    c = columns.spread[d]
    s1, s2 = room.sums[0, d], room.sums[1, d]
    line, rest, n1, n0, height = room.line, room.rest, room.n1, room.n0, room.height
    x = low + 0.5 * width
    if columns.kind == ATTRIBUTE:
        per_step = (len(line) - 1) / (2.0 * x_edge)
        odds = math.exp(-x)  # of the attribute not being added
        fall = math.exp(-width)
        for i in range(len(height)):
            t = 1.0 / (1.0 + odds)
            log_t = -rough_log(1.0 + odds)
            value = c * (log_t - (1.0 - parent) * x)
            if n_children > 0:
                log_b = interpolate(line, (x + x_edge) * per_step)
                value += c * (t * s1 + (1.0 - t) * s2) - n_children * log_b
            gain = (1.0 - 2.0 * columns.noise[d]) * odds * t
            for j in range(n_nodes):
                absent = columns.noise[d] + gain * rest[j, d]
                if n1[j, d] > 0.0:
                    value += n1[j, d] * rough_log(1.0 - absent)
                if n0[j, d] > 0.0:
                    value += n0[j, d] * rough_log(absent)
            height[i] = value
            x += width
            odds *= fall
        return
    for i in range(len(height)):
        z = (x - parent) / c
        value = -0.5 * z * z - x * (0.5 * n_children * x - s1) / (c * c)
        soft = math.log1p(math.exp(-abs(x)))
        for j in range(n_nodes):
            value -= n1[j, d] * (soft + max(-x, 0.0)) + n0[j, d] * (soft + max(x, 0.0))
        height[i] = value
        x += width


@jit(counted=False)
def propose_node(
    words: Words, columns: Columns, shape: Shape, room: Room, above: Floats, n_children: int,
    n_nodes: int, theta: Floats, is_given: bool,
) -> float:  # fmt: skip
    """Draw the parameters of a node into theta (n_attributes,); above are those of its parent.

    ``is_given``: draw nothing, theta is the proposal. Returns its log-density.
    """
    height = room.height
    total = 0.0
    for d in range(len(theta)):
        parent = above[d]
        if columns.kind == ATTRIBUTE:
            first, last = -shape[3], shape[3]
            if n_children > 0:
                log_beta_line(shape[0], shape[1], shape[2], columns.spread[d], room.line)
        else:
            reach = 10.0 * columns.spread[d]
            first, last = min(parent - reach, -12.0), max(parent + reach, 12.0)
        low, high = first, last
        for stage in range(_N_STAGES):
            width = (high - low) / _N_BINS
            fill_heights(columns, room, d, parent, n_children, n_nodes, shape[3], low, width)
            most = height[0]
            for i in range(1, _N_BINS):
                most = max(most, height[i])
            if stage == _N_STAGES - 1:
                break
            begin, end = 0, _N_BINS - 1
            while height[begin] < most - 12.0:
                begin += 1
            while height[end] < most - 12.0:
                end -= 1
            low, high = low + max(begin - 1, 0) * width, low + min(end + 2, _N_BINS) * width
        mass = 0.0
        for i in range(_N_BINS):
            height[i] = math.exp(height[i] - most)
            mass += height[i]
        if is_given:
            x = to_line(columns.kind, theta[d])
            if columns.kind == ATTRIBUTE:
                x = min(max(x, first), last)
            elif x < first or x > last:
                return -np.inf
        else:
            if uniform(words) < _ANYWHERE:
                x = first + (last - first) * uniform(words)
            else:
                u = uniform(words) * mass
                i = 0
                while i < _N_BINS - 1 and u >= height[i]:
                    u -= height[i]
                    i += 1
                x = low + (i + uniform(words)) * width
            theta[d] = logistic(x) if columns.kind == ATTRIBUTE else x
        density = _ANYWHERE / (last - first)
        if low <= x < high:
            i = min(int((x - low) / width), _N_BINS - 1)
            density += (1.0 - _ANYWHERE) * height[i] / (mass * width)
        total += math.log(density)
    return total
