"""Searches through a decision graph as plainly as they can be said, one row at a time.

``margins`` are the functions of the nodes at the row, ``flat`` those of the classes. Searches
return (class, leaf, nodes asked, masses by class, mass left), the shortlist also the classes that
it asked.
"""

import math


def chance(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def log_chance(z):
    return min(z, 0) - math.log1p(math.exp(-abs(z)))


def logit(graph, margins, node):
    return float(graph.scale[node]) * float(margins[node])


def children(graph, node, z):
    """Both children with the log-odds of going there, the side of the sign last."""
    sides = [(int(graph.left[node]), -z), (int(graph.right[node]), z)]
    return sides if z > 0 else sides[::-1]


def walk_row(graph, margins):
    node, asked = (0 if graph.n_nodes else -1), []
    while node >= 0:
        asked.append(node)
        node = int(graph.right[node] if margins[node] > 0 else graph.left[node])
    leaf = -1 - node
    return int(graph.leaf_class[leaf]), leaf, asked


def enumerate_masses(graph, margins):
    """The mass of every class, by following every path to its end."""
    mass = [0.0] * graph.n_classes

    def follow(node, p):
        if node < 0:
            mass[graph.leaf_class[-1 - node]] += p
            return
        p_right = chance(logit(graph, margins, node))
        follow(int(graph.left[node]), p * (1 - p_right))
        follow(int(graph.right[node]), p * p_right)

    follow(0 if graph.n_nodes else -1, 1.0)
    return mass


def leaf_log_chances(graph, margins):
    """The log-probability of the most probable path to each leaf, by following every path."""
    best = [-math.inf] * graph.n_leaves

    def follow(node, log_p):
        if node < 0:
            best[-1 - node] = max(best[-1 - node], log_p)
            return
        z = logit(graph, margins, node)
        follow(int(graph.left[node]), log_p + log_chance(-z))
        follow(int(graph.right[node]), log_p + log_chance(z))

    follow(0 if graph.n_nodes else -1, 0.0)
    return best


def best_first_row(graph, margins, budget=None):
    waiting = {0 if graph.n_nodes else -1: 1.0}  # node or -1 - leaf: mass
    came = {0 if graph.n_nodes else -1: 0}
    asked, masses, leaves = [], {}, {}
    clock, again, total = 0, 0, 0.0
    lead, is_ordered = None, False

    def first(entry):
        if not is_ordered:
            return waiting[entry], came[entry]
        return (-entry if entry >= 0 else 1), came[entry]

    while waiting:
        entry = max(waiting, key=first)
        mass = waiting.pop(entry)
        is_spent = entry >= 0 and entry not in asked and len(asked) == budget
        if is_spent:
            if masses:
                break
            while entry >= 0:
                if entry not in asked:
                    asked.append(entry)
                z = logit(graph, margins, entry)
                mass *= chance(abs(z))
                entry = int(graph.right[entry] if z > 0 else graph.left[entry])
        if entry < 0:
            k = int(graph.leaf_class[-1 - entry])
            masses[k] = masses.get(k, 0.0) + mass
            leaves.setdefault(k, -1 - entry)
            if lead is None or masses[k] > masses[lead]:
                lead = k
            others = [m for c, m in masses.items() if c != lead]
            total += mass
            left = 1 - total
            if is_spent or left <= 0 or masses[lead] - max(others, default=0) > left:
                break
            continue
        if entry in asked:
            again += 1
        else:
            asked.append(entry)
        is_ordered = is_ordered or again > 64 + 4 * len(asked)
        for child, z in children(graph, entry, logit(graph, margins, entry)):
            clock += 1
            if mass * chance(z) > 0:
                if child not in waiting:
                    came[child] = clock
                waiting[child] = waiting.get(child, 0.0) + mass * chance(z)
    return lead, leaves[lead], asked, masses, max(1 - total, 0)


def shortlist_row(graph, margins, flat, tolerance, max_classes, budget=None):
    waiting = {0 if graph.n_nodes else -1: 0.0}  # node or -1 - leaf: log-probability
    came = {0 if graph.n_nodes else -1: 0}
    closed, asked, masses, leaves = set(), [], {}, {}
    clock, least, is_spent = 0, -math.inf, False
    n_named = len(set(graph.leaf_class.tolist()))
    while waiting and not is_spent and len(masses) < min(max_classes, n_named):
        entry = max(waiting, key=lambda e: (waiting[e], came[e]))
        if masses and waiting[entry] <= least:
            break
        log_p = waiting.pop(entry)
        closed.add(entry)
        is_spent = entry >= 0 and len(asked) == budget
        if is_spent:
            if masses:
                break
            down = 0.0
            while entry >= 0:
                asked.append(entry) if entry not in asked else None
                z = logit(graph, margins, entry)
                down += log_chance(abs(z))
                entry = int(graph.right[entry] if z > 0 else graph.left[entry])
            log_p += down
        if entry < 0:
            if not masses:
                least = log_p - tolerance
            k = int(graph.leaf_class[-1 - entry])
            masses[k] = masses.get(k, 0.0) + math.exp(log_p)
            leaves.setdefault(k, -1 - entry)
            continue
        asked.append(entry)
        for child, z in children(graph, entry, logit(graph, margins, entry)):
            clock += 1
            rank = log_p + log_chance(z)
            if child in closed or rank <= waiting.get(child, -math.inf):
                continue
            if child not in waiting:
                came[child] = clock
            waiting[child] = rank
    listed = sorted(masses)
    answer = max(listed, key=lambda k: flat[k]) if len(listed) > 1 else listed[0]
    asked_flat = listed if len(listed) > 1 else []
    left = max(1 - sum(masses.values()), 0)
    return answer, leaves[answer], asked, masses, left, asked_flat
