"""Fixtures that every test may use: a seed, small drawn images, one small guide, no network."""

import fcntl
import gc
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from fieldguide.collection import Collection
from fieldguide.guide import Guide
from tests.clips import clip_folder, clip_guide  # noqa: F401
from tests.site.browsing import (  # noqa: F401  (a browser of a worker has one place)
    browser,
    find,
    live,
    live_keyed,
    open_page,
    site,
)
from tests.site.fixtures import (  # noqa: F401  (fixtures that tests of pages share)
    bare_guide,
    empty_guide,
    guide,
    hostile_guide,
    keyed_guide,
    make_stand_in,
    plain_guide,
    specimens,
)

# The same examples each time, so that a run says something about the change that it tests;
# `--hypothesis-profile=explore` draws new ones.
settings.register_profile("fieldguide", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("fieldguide")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests too")
    parser.addoption("--few", action="store_true", help="draw few specimens for the drawn guide")
    parser.addoption("--seeds", type=int, default=1, help="seeds to run the seeded tests with")


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--seeds")))


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow; run with --slow"))


def pytest_collection_finish():
    """Leave what all tests share out of the search for garbage: modules, and the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch):
    """Nothing in the package may reach the network."""
    connect = socket.socket.connect

    def guarded(self, address):
        host = address[0] if isinstance(address, tuple) else ""
        if host not in ("127.0.0.1", "::1", "localhost", ""):
            raise AssertionError(f"a test tried to reach {address!r}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def draw_blobs(seed: int = 0, n_per_kind: int = 8, size_px: int = 72):
    """Three kinds of simple picture that any classifier can tell apart."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size_px, :size_px] / size_px
    images, kinds = [], []
    for kind in ("disc", "stripe", "square"):
        for _ in range(n_per_kind):
            x, y = rng.uniform(0.35, 0.65, 2)
            back, front = rng.integers(120, 250, 3), rng.integers(0, 110, 3)
            if kind == "disc":
                mask = (xx - x) ** 2 + (yy - y) ** 2 < 0.06
            elif kind == "stripe":
                mask = np.sin((xx + x) * 30) > 0
            else:
                mask = (abs(xx - x) < 0.2) & (abs(yy - y) < 0.2)
            images.append(np.where(mask[..., None], front, back).astype(np.uint8))
            kinds.append(kind)
    return images, kinds


@pytest.fixture(scope="session")
def blobs():
    """Images and their kinds."""
    return draw_blobs()


@pytest.fixture(scope="session")
def build_once(request, tmp_path_factory):
    """Build a guide that no test changes, once for all workers of a run.

    A function in place of the collection makes it, if it is needed.
    """
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # that of a worker lies in the one of the run
        folder = folder.parent

    def build(name, collection, **settings):
        out = folder / "guides" / name
        out.parent.mkdir(exist_ok=True)
        with open(out.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (out / "guide.json").exists():
                images = collection() if callable(collection) else collection
                Guide.build(images, out, **settings)
                out.with_suffix(".settings").write_text(repr(settings))
        assert out.with_suffix(".settings").read_text() == repr(settings), f"two guides {name!r}"
        return Guide.open(out)

    return build


@pytest.fixture(scope="session")
def small_guide(blobs, build_once) -> Guide:
    """A real guide of 24 simple pictures with kinds."""
    return build_once("small", Collection.from_arrays(*blobs, name="shapes"), n_jobs=1)


@pytest.fixture(scope="session")
def threaded_guide(blobs, build_once) -> Guide:
    """The same, built by three threads."""
    return build_once("threaded", Collection.from_arrays(*blobs, name="shapes"), n_jobs=3)


@pytest.fixture(scope="session")
def flat_guide(blobs, build_once) -> Guide:
    """A guide whose key has no graph."""
    collection = Collection.from_arrays(*blobs, name="shapes")
    return build_once(
        "flat", collection, key="ova", features="deep", marks=False, places=False, n_jobs=1
    )


@pytest.fixture
def folder(flat_guide, tmp_path) -> Path:
    """The folder of such a guide, to change."""
    shutil.copytree(flat_guide.folder, tmp_path / "guide")
    return tmp_path / "guide"


@pytest.fixture(scope="session")
def worded_guide(blobs, build_once) -> Guide:
    """The same pictures, compared by visual words and colours, with a key that has a graph."""
    collection = Collection.from_arrays(*blobs, name="shapes")
    return build_once("worded", collection, features="words+color", key="relaxed", n_jobs=1)
