"""What a graphics processor does for a guide, beside the processor's cores.

- looks: images per second of the first look and of both, from memory and from JPEG files, by the
  network on the cores and on the device, with as many threads as there are cores;
- training: one-vs-all functions of many kinds to a relative duality gap of 1e-3 (drawn rows), by
  the cores and by the device, beside torch's own linear layer with L-BFGS on the same objective;
- naming: rows per second named by all functions.

Without a device, its columns are left out.

    python benchmarks/run.py --only graphics --data DIR
"""

import io
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.features import FeatureStack
from fieldguide.features.network import Network
from fieldguide.svm import train_one_vs_all
from fieldguide.svm.array_one_vs_all import train_one_vs_all_arrays

N_IMAGES, N_REPEATS = 2000, 3
# rows, columns and kinds; the cores are timed on the first two alone
PROBLEMS = ((20_000, 1280, 200), (100_000, 1280, 1000), (1_000_000, 1280, 1000))
N_FOR_CORES = 2
TOL = 1e-3
MOST_SECONDS = 40  # of torch's own layer


def run(data: Path | None, *, tiny: bool) -> dict:
    device = find_graphics()
    n_jobs = len(os.sched_getaffinity(0))
    files = read_files(data, 6 if tiny else N_IMAGES)
    looks = {"cores": measure_looks(files, "cpu", n_jobs)}
    if device is not None:
        looks["device"] = measure_looks(files, "cuda", n_jobs)
    problems = ((60, 8, 3),) if tiny else PROBLEMS
    training = []
    for i, (n, d, k) in enumerate(problems):
        try:
            is_for_cores = i < N_FOR_CORES
            training.append(measure_training(n, d, k, device, n_jobs, cores=is_for_cores))
        except MemoryError:
            training.append({"rows": n, "columns": d, "kinds": k, "no memory": True})
    return {"device": device, "threads": n_jobs, "looks": looks, "training": training}


def find_graphics() -> str | None:
    """Return the name of the device, None without one."""
    try:
        import torch
    except ImportError:
        return None
    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def read_files(data: Path | None, n: int) -> list[bytes]:
    """Return JPEG files: of CUB-200, or drawn; each is taken again until there are enough."""
    if data is None:
        found = []
        for image in load_specimens(n_per_kind=1, size_px=96).images[:6]:
            buffer = io.BytesIO()
            Image.fromarray(image).save(buffer, "JPEG")
            found.append(buffer.getvalue())
    else:
        root = data / "cub200" / "images"
        items = Collection.from_folder(root).items[:n]
        found = [(root / item.path).read_bytes() for item in items]
    return [found[i % len(found)] for i in range(n)]


def measure_looks(files: list[bytes], device: str, n_jobs: int) -> dict[str, float]:
    """Return images per second, best of some turns."""
    network = Network(device=device)
    pictures = list(map_in_order(_decode, files, n_jobs=n_jobs))
    stack = FeatureStack("looks", n_jobs=n_jobs).fit(pictures[:60], network=network)
    size = max(8, network.n_at_once)

    def first(batch: list[Image.Image]) -> int:
        return len(network.see(batch).embedding)

    def both(batch: list[Image.Image]) -> int:
        embedding = network.see(batch).embedding
        return len(stack.describe(batch, embedding, stack.look_closer_all(batch, network)))

    def from_files(batch: list[bytes]) -> int:
        return both([_decode(each) for each in batch])

    return {
        "first look, from memory": _rate(first, pictures, size, n_jobs),
        "both looks, from memory": _rate(both, pictures, size, n_jobs),
        "both looks, from JPEG files": _rate(from_files, files, size, n_jobs),
    }


def _decode(file: bytes) -> Image.Image:
    return Image.open(io.BytesIO(file)).convert("RGB")


def _rate(see: Callable[[Any], int], items: list[Any], size: int, n_jobs: int) -> float:
    batches = [items[i : i + size] for i in range(0, len(items), size)]
    see(batches[0])
    rates = []
    for _ in range(N_REPEATS):
        started = time.perf_counter()
        n = sum(map_in_order(see, batches, n_jobs=n_jobs))
        rates.append(n / (time.perf_counter() - started))
    return max(rates)


def measure_training(
    n: int, d: int, k: int, device: str | None, n_jobs: int, *, cores: bool
) -> dict[str, Any]:
    """Return seconds of training and rows named per second, by each way."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, k, n)
    centres = rng.normal(size=(k, d)).astype(np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32) * np.float32(1.5) + centres[index]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    cell: dict[str, Any] = {"rows": n, "columns": d, "kinds": k}
    if cores:
        started = time.perf_counter()
        found = train_one_vs_all(X, index, k, tol=TOL, n_jobs=n_jobs)
        cell["cores"] = time.perf_counter() - started
        cell["largest gap, cores"] = float(found.gaps.max())
        started = time.perf_counter()
        (X @ found.coef.T + found.intercept).argmax(axis=1)
        cell["named per second, cores"] = n / (time.perf_counter() - started)
    if device is not None:
        cell |= _train_on_device(X, index, k)
    return cell


def _train_on_device(X: np.ndarray, index: np.ndarray, k: int) -> dict[str, Any]:
    import torch

    started = time.perf_counter()
    rows, of_class = torch.tensor(X, device="cuda"), torch.tensor(index, device="cuda")
    torch.cuda.synchronize()
    moved = time.perf_counter() - started
    train_one_vs_all_arrays(rows[:1000], of_class[:1000], k, tol=TOL)  # opens the libraries
    torch.cuda.synchronize()
    started = time.perf_counter()
    found = train_one_vs_all_arrays(rows, of_class, k, tol=TOL)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    primal = _sum_primal(rows, of_class, found.coef, found.intercept)
    started = time.perf_counter()
    for part in range(0, len(rows), 65536):
        (rows[part : part + 65536] @ found.coef.T + found.intercept).argmax(dim=1).cpu()
    named = len(rows) / (time.perf_counter() - started)
    peer = _train_layer(rows, of_class, k, goal=primal * (1 + TOL))
    return {
        "device": seconds,
        "moving rows to the device": moved,
        "largest gap, device": float(found.gaps.max()),
        "named per second, device": named,
        **peer,
        "torch's peak, GB": torch.cuda.max_memory_allocated() / 1e9,
    }


def _sum_primal(X: Any, index: Any, coef: Any, intercept: Any) -> float:
    """Return the objective of all classes together, C = 1."""
    total = 0.5 * float((coef**2).sum() + (intercept**2).sum())
    for part in range(0, len(X), 65536):
        margin = X[part : part + 65536] @ coef.T + intercept
        margin.scatter_(1, own := index[part : part + 65536, None], -margin.gather(1, own))
        total += float((1 + margin).clamp(min=0).square().sum(dtype=margin.double().dtype))
    return total


def _train_layer(X: Any, index: Any, k: int, goal: float) -> dict[str, Any]:
    """Train torch's linear layer by L-BFGS until its objective is as low, or the time is up."""
    import torch

    layer = torch.nn.Linear(X.shape[1], k, device="cuda")
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimiser = torch.optim.LBFGS(layer.parameters(), max_iter=1, line_search_fn="strong_wolfe")
    reached = [np.inf]

    def judge() -> Any:
        optimiser.zero_grad()
        whole = 0.5 * (layer.weight.square().sum() + layer.bias.square().sum())
        whole.backward()
        total = float(whole.detach())
        for part in range(0, len(X), 65536):
            own = index[part : part + 65536, None]
            margin = layer(X[part : part + 65536])
            sign = torch.ones_like(margin).scatter_(1, own, -1.0)
            loss = (1 + sign * margin).clamp(min=0).square().sum()
            loss.backward()
            total += float(loss.detach().double())
        reached[0] = total
        return torch.tensor(total)

    started, steps = time.perf_counter(), 0
    while reached[0] > goal and time.perf_counter() - started < MOST_SECONDS:
        optimiser.step(judge)
        steps += 1
    return {
        "torch's layer, L-BFGS": time.perf_counter() - started,
        "its objective ÷ ours": reached[0] / (goal / (1 + TOL)),
        "its steps": steps,
    }


def table(result: dict) -> str:
    """Return the rates of looks, and the seconds of training."""
    ways = list(result["looks"])
    name = result["device"] or "no graphics processor"
    lines = [
        f"{result['threads']} cores; {name}.",
        "",
        f"| images per second | {' | '.join(ways)} |",
        "|---" * (1 + len(ways)) + "|",
    ]
    for what in result["looks"]["cores"]:
        rates = [f"{result['looks'][way][what]:.0f}" for way in ways]
        lines.append(f"| {what} | {' | '.join(rates)} |")
    measures = list(dict.fromkeys(what for cell in result["training"] for what in cell))
    lines += ["", f"| {' | '.join(measures)} |", "|---" * len(measures) + "|"]
    for cell in result["training"]:
        shown = [f"{cell[what]:.4g}" if what in cell else "–" for what in measures]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)
