"""Peers: four solvers of quadratic programmes, at the tolerances that reach the gap asked for.

    PYTHON benchmarks/peers/qp.py NAME FOLDER N_REPEATS

PYTHON is one that has the peer; it needs nothing of Fieldguide. FOLDER holds ``G.npy`` (FᵀF),
``c.npy`` (Fᵀt) and ``k.npy``. Each tolerance is tried, coarse to fine; the solution of each is
saved as ``NAME_i.npy``, and a line of JSON printed: the tolerance and the CPU seconds of each
repeat, from G and c to the solution, with the matrices of the constraints made beforehand.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

TOLERANCES = {
    "quadprog": (None,),
    "piqp": (1e-4, 1e-6, 1e-8, 1e-10),
    "clarabel": (1e-4, 1e-6, 1e-8, 1e-10),
    "osqp": (1e-4, 1e-6, 1e-8),
}

ENOUGH_S = 20  # no more repeats after that
LEAST_S = 0.1  # of a repeat: clocks of processes may tick in milliseconds


def prepare_quadprog(G, c, cap):
    import quadprog

    n = len(c)
    # Its Cholesky factorization needs a positive definite matrix.
    P = 2 * G + 1e-9 * np.trace(G) / n * np.eye(n)
    A = np.concatenate([np.ones((n, 1)), np.eye(n), -np.eye(n)], axis=1)
    b = np.concatenate([[1.0], np.zeros(n), np.full(n, -cap)])
    return lambda tol: quadprog.solve_qp(P, 2 * c, A, b, 1)[0]


def prepare_piqp(G, c, cap):
    import piqp

    n = len(c)
    P, A, one = 2 * G, np.ones((1, n)), np.ones(1)
    low, high = np.zeros(n), np.full(n, cap)

    def solve(tol):
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = tol
        solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = tol
        solver.setup(P, -2 * c, A, one, None, None, None, low, high)
        solver.solve()
        return solver.result.x

    return solve


def prepare_clarabel(G, c, cap):
    import clarabel

    n = len(c)
    P = sparse.csc_matrix(np.triu(2 * G))
    A = sparse.vstack([np.ones((1, n)), sparse.eye(n), -sparse.eye(n)]).tocsc()
    b = np.concatenate([[1.0], np.full(n, cap), np.zeros(n)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]

    def solve(tol):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        return np.array(clarabel.DefaultSolver(P, -2 * c, A, b, cones, settings).solve().x)

    return solve


def prepare_osqp(G, c, cap):
    import osqp

    n = len(c)
    P = sparse.csc_matrix(np.triu(2 * G))
    A = sparse.vstack([np.ones((1, n)), sparse.eye(n)]).tocsc()
    low = np.concatenate([[1.0], np.zeros(n)])
    high = np.concatenate([[1.0], np.full(n, cap)])

    def solve(tol):
        solver = osqp.OSQP()
        settings = {"eps_abs": tol, "eps_rel": tol, "max_iter": 100_000, "verbose": False}
        solver.setup(P, -2 * c, A, low, high, polishing=True, **settings)
        return solver.solve(raise_error=False).x

    return solve


def time_call(work):
    """Return the CPU seconds of a call and its result: the mean of as many as take a while."""
    n_calls, started = 0, time.process_time()
    while time.process_time() - started < LEAST_S:
        found = work()
        n_calls += 1
    return (time.process_time() - started) / n_calls, found


def main():
    name, folder, n_repeats = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    G, c, k = (np.load(folder / f"{part}.npy") for part in "Gck")
    solve = globals()[f"prepare_{name}"](G, c, 1.0 / float(k))
    for i, tol in enumerate(TOLERANCES[name]):
        seconds = []
        while len(seconds) < n_repeats and sum(seconds) < ENOUGH_S:
            each, w = time_call(lambda tol=tol: solve(tol))
            seconds.append(each)
        np.save(folder / f"{name}_{i}.npy", np.asarray(w, dtype=np.float64))
        # One line for each: a tolerance that takes too long does not take the others with it.
        print(json.dumps({"tol": tol, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
