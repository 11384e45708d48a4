"""Peers: napkinXC's and omikuji's trees of labels, at their own defaults.

    PYTHON benchmarks/peers/label_trees.py NAME FOLDER

PYTHON is one that has the peer; it needs nothing of Fieldguide. FOLDER holds the arrays of
``PARTS``. The last line printed is JSON, a row for each search.

- omikuji reads a text file: fits are timed from the rows in its memory on, predictions from the
  values in its buffers. A beam of b takes at most b nodes of a level and evaluates all of their
  children; its trees are balanced, so that the count follows from the number of labels.
- napkinXC does not say how many nodes its exact search opens. The way to the answer is a lower
  bound: the functions of the nodes on it, one for each child (HSM: one for two children).
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

PARTS = ("X.npy", "y.npy", "X_test.npy", "y_test.npy")
PEERS = {
    "napkinXC PLT": {"package": "napkinxc"},
    "napkinXC HSM": {"package": "napkinxc"},
    "omikuji, 3 trees": {"package": "omikuji", "n_trees": 3},
    "omikuji, 1 tree": {"package": "omikuji", "n_trees": 1},
}
N_THREADS = 2
BEAMS = (10, 5, 2, 1)
N_SINGLE = 1000


def fit_napkinxc(name, folder, X, y, X_test, y_test):
    from napkinxc import models

    Model = {"napkinXC PLT": models.PLT, "napkinXC HSM": models.HSM}[name]
    output = str(folder / "model")
    started, cpu_started = time.perf_counter(), time.process_time()
    Model(output, threads=N_THREADS, seed=0).fit(X, y.tolist())
    fit_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
    mb = peak_mb()
    model = Model(output, threads=1)
    model.load()
    answer = np.array(model.predict(X_test, top_k=1)).ravel()
    batch_s = least_seconds(lambda: model.predict(X_test, top_k=1))
    alone = [x[None] for x in X_test[:N_SINGLE]]
    single_s = least_seconds(lambda: [model.predict(x, top_k=1) for x in alone])
    n_labels = len(np.unique(y))
    least = count_on_path(model.get_tree_structure(), answer, name == "napkinXC HSM")
    return [
        {
            "search": "exact",
            "accuracy": float((answer == y_test).mean()),
            "rc": least / n_labels,
            "rc is least": True,
            "fit_s": fit_s,
            "fit_cpu_s": cpu_s,
            "peak_mb": mb,
            "batch_us": batch_s / len(X_test) * 1e6,
            "single_us": single_s / len(alone) * 1e6,
        }
    ]


def count_on_path(structure, answer, is_shared):
    """Return the mean number of functions of the nodes on the way to each answer.

    ``structure`` lists (parent, node, label), with −1 for no parent and no label. A node has one
    function for each child; with ``is_shared``, two children share one.
    """
    parent = {node: above for above, node, _ in structure if above >= 0}
    n_functions = Counter(parent.values())
    if is_shared:
        n_functions = {node: 1 if n == 2 else n for node, n in n_functions.items()}
    length = {}
    for _, node, label in structure:
        if label >= 0:
            length[label] = 0
            while node in parent:
                node = parent[node]
                length[label] += n_functions[node]
    return float(np.mean([length[label] for label in answer.tolist()]))


def fit_omikuji(name, folder, X, y, X_test, y_test):
    from omikuji import Model, _ThreadPoolHandle, ffi, lib

    n_labels = len(np.unique(y))
    path = folder / "rows.txt"
    write_rows(path, X, y, n_labels)
    threads = _ThreadPoolHandle(N_THREADS)
    rows = lib.load_omikuji_data_set(ffi.new("char[]", str(path).encode()), threads.ptr)
    settings = Model.default_hyper_param()
    settings.n_trees = PEERS[name]["n_trees"]
    started, cpu_started = time.perf_counter(), time.process_time()
    model = Model(lib.train_omikuji_model(rows, settings, threads.ptr))
    fit_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
    mb = peak_mb()
    model.init_prediction_thread_pool(1)
    columns = np.arange(X.shape[1], dtype=np.uint32)
    indices = ffi.from_buffer("uint32_t[]", columns)
    label, score = ffi.new("uint32_t[]", 1), ffi.new("float[]", 1)

    def predict(x, beam):
        values = ffi.from_buffer("float[]", x)
        lib.omikuji_predict(
            *(model._model_ptr, beam, len(x), indices, values, 1, label, score),
            model._thread_pool.ptr,
        )
        return label[0]

    found, alone = [], X_test[:N_SINGLE]
    for beam in BEAMS:
        answer = np.array([predict(x, beam) for x in X_test])
        single_s = least_seconds(lambda beam=beam: [predict(x, beam) for x in alone])
        found.append(
            {
                "search": f"beam {beam}",
                "accuracy": float((answer == y_test).mean()),
                "rc": settings.n_trees * count_beam(n_labels, beam, settings) / n_labels,
                "fit_s": fit_s,
                "fit_cpu_s": cpu_s,
                "peak_mb": mb,
                "batch_us": None,
                "single_us": single_s / len(alone) * 1e6,
            }
        )
    return found


def write_rows(path, X, y, n_labels):
    """Write the rows in the format of the extreme classification repository."""
    form = " ".join(f"{j}:%.6g" for j in range(X.shape[1]))
    with path.open("w") as file:
        file.write(f"{len(X)} {X.shape[1]} {n_labels}\n")
        for label, x in zip(y.tolist(), X, strict=True):
            file.write(f"{label} {form % tuple(x.tolist())}\n")


def count_beam(n_labels, beam, settings):
    """Return how many functions a beam evaluates in one balanced tree of two branches."""
    total, n_nodes, size = 0, 1, float(n_labels)
    while size >= settings.min_branch_size:
        total += 2 * min(n_nodes, beam)
        n_nodes, size = 2 * min(n_nodes, beam), size / 2
    return total + min(n_nodes, beam) * size


def least_seconds(work):
    """Return the least CPU time of five, which what else runs on the machine disturbs least."""
    seconds = []
    for _ in range(5):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def peak_mb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main():
    name, folder = sys.argv[1], Path(sys.argv[2])
    arrays = [np.load(folder / part) for part in PARTS]
    fit = fit_napkinxc if PEERS[name]["package"] == "napkinxc" else fit_omikuji
    rows = fit(name, folder, *arrays)
    print("\n" + json.dumps([{"key": name, "n_nodes": 0, **row} for row in rows]))


if __name__ == "__main__":
    main()
