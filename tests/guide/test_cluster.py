"""A guide that is measured by workers of a scheduler, some of which die."""

import os
from threading import Timer

import numpy as np
import pytest
from PIL import Image
from tests.guide.contents import contents
from tests.guide.killed_build import check_killed_build
from tests.guide.workers import Workers

from fieldguide import _cluster, chapters
from fieldguide._cluster import open_cluster
from fieldguide.collection import Collection
from fieldguide.errors import ClusterError
from fieldguide.features.network import Network
from fieldguide.guide import Guide
from fieldguide.guide.measure import measure_batch
from fieldguide.guide.shards import (
    Lens,
    Odd,
    Parcel,
    Sent,
    Shard,
    check_shared,
    find_odd,
    measure_shard,
)
from fieldguide.select import ConcertSelector, FeatureSums

pytest.importorskip("distributed", reason="needs the extra cluster")
SETTINGS = {
    "features": "looks",
    "marks": False,
    "places": False,
    "tree": "agglomerative",
    "key": "ova",
}
QUICK = SETTINGS | {"features": "deep"}


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    made = Workers(tmp_path_factory.mktemp("cluster"))
    try:
        for _ in range(2):
            made.start()
        made.wait()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory) -> Guide:
    return Guide.build(folder, tmp_path_factory.mktemp("whole") / "guide", n_jobs=1, **SETTINGS)


def test_a_build_that_loses_its_workers_ends_in_the_same_guide(folder, whole, tmp_path, workers):
    """One worker is killed while pictures are measured; the other while they are looked at closer,
    so that one that has joined late does the rest."""
    seen, killed = set(), []

    def progress(step, done, total):
        if step in ("reading images", "looking closer") and step not in seen:
            seen.add(step)
            victim = next(iter(workers.running))
            workers.freeze(victim)  # so that it has work, and not done it, when it dies
            if step == "looking closer":
                workers.start()
            killed.append(Timer(1.0, workers.kill, [victim]))
            killed[-1].start()

    guide = Guide.build(
        folder, tmp_path / "guide", client=workers.address, progress=progress, **SETTINGS
    )
    assert len(killed) == 2
    assert len(workers.running) == 1
    assert contents(guide.folder) == contents(whole.folder)
    workers.start()


def test_a_killed_build_goes_on_with_the_same_workers(folder, whole, tmp_path, workers):
    step, client = "looking closer", str(workers.file)
    check_killed_build(folder, whole, tmp_path / "guide", step, 8, step, client=client, **SETTINGS)


def test_arrays_chains_and_exemplars_travel_too(blobs, tmp_path, workers):
    from distributed import Client

    collection = Collection.from_arrays(blobs[0][::2], blobs[1][::2])
    settings = QUICK | {"places": True, "tree": "attribute"}
    alone = Guide.build(collection, tmp_path / "alone", n_jobs=1, **settings)
    with Client(workers.address, set_as_default=False) as client:
        guide = Guide.build(collection, tmp_path / "guide", client=client, **settings)
        assert client.status == "running"
    assert contents(guide.folder) == contents(alone.folder)
    assert guide.all_located() or "places" not in chapters.OPTIONAL


def test_images_and_clips_at_an_address_are_fetched_by_workers(blobs, tmp_path, workers):
    pytest.importorskip("fsspec", reason="needs the extra remote")
    pictures = [Image.fromarray(blobs[0][8 * i]) for i in range(3)]
    pictures[0].save(tmp_path / "0.gif", save_all=True, append_images=pictures[1:])
    for i in (1, 2):
        pictures[i].save(tmp_path / f"{i}.png")
    found, network = Collection.from_folder(f"file://{tmp_path}"), Network()
    parcel = Parcel()
    here = measure_batch(found, range(3), network, parcel)
    with open_cluster(workers.address) as cluster:
        function = Sent(measure_shard, Lens.of(network, (), "cpu"))
        ((there, sent),) = cluster.map_in_order(function, [Shard(found.part(range(3)))])
    assert sent == parcel.pictures
    assert here[0].clip is not None
    assert [r.without_arrays() for r in there] == [r.without_arrays() for r in here]
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.logits, other.logits)


def test_a_file_that_changes_after_it_was_listed_is_read_here(folder, whole, workers, tmp_path):
    root = tmp_path / "images"
    root.mkdir()
    for i in range(2):
        Image.new("RGB", (40, 40), (90 * i, 9, 9)).save(root / f"{i}.png")
    listed = Collection.from_folder(root)
    Image.effect_noise((64, 64), 50).save(root / "1.png")
    assert find_odd(listed) == "1.png"
    guide = Guide.build(listed, tmp_path / "guide", client=workers.address, **QUICK)
    assert [each.width for each in guide.specimens(range(2))] == [40, 64]


def test_a_worker_that_sees_other_files_is_refused(folder):
    images = Collection.from_folder(folder).part([0, 1])
    with pytest.raises(ClusterError, match=r"sees another file 'disc/00\.png' in .* share"):
        check_shared(images, Odd(images.items[0].path, "tcp://elsewhere:1"))


def test_a_worker_with_another_version_is_refused(folder, tmp_path, workers, monkeypatch):
    versions = tuple(
        (name, "0.0.1" if name == "Pillow" else version)
        for name, version in _cluster.list_versions()
    )
    monkeypatch.setattr(_cluster, "list_versions", lambda: versions)
    with pytest.raises(ClusterError, match=r"tcp.* has Pillow .*, and this machine has 0\.0\.1"):
        Guide.build(folder, tmp_path / "guide", client=workers.address, **SETTINGS)


@pytest.mark.parametrize(
    ("lens", "match"),
    [
        (Lens((), "cpu", "another"), "has the network EfficientNet.*, and this machine another"),
        (Lens(("/nowhere.onnx",), "cpu", "x"), "cannot open the network .* all machines see it"),
    ],
)
def test_a_worker_with_another_network_is_refused(folder, workers, lens, match):
    shard = Shard(Collection.from_folder(folder).part([0]))
    with open_cluster(workers.address) as cluster:
        assert cluster is not None
        with pytest.raises(ClusterError, match=match):
            list(cluster.map_as_done(Sent(measure_shard, lens), [shard]))


def test_results_come_back_with_their_numbers(workers):
    with open_cluster(workers.address) as cluster:
        assert cluster.map_in_order(str, range(20)) == [str(i) for i in range(20)]
        with pytest.raises(ZeroDivisionError):
            cluster.map_in_order(lambda i: 1 // i, [2, 1, 0])


def test_sums_for_a_concert_are_made_in_parts(workers):
    rng = np.random.default_rng(0)
    F, index = rng.uniform(size=(90, 6)), np.arange(90) % 3
    F[np.arange(90), index] += 0.5
    parts = [(F[i : i + 30], index[i : i + 30]) for i in range(0, 90, 30)]
    with open_cluster(workers.address) as cluster:
        sums = cluster.map_in_order(lambda part: FeatureSums(3, 6).add(*part), parts)
    found = ConcertSelector().fit_sums(sums[0] + sums[1] + sums[2], ["a", "b", "c"])
    whole = ConcertSelector().fit_sums(FeatureSums(3, 6).add(F, index), ["a", "b", "c"])
    np.testing.assert_allclose(found.weights_, whole.weights_, atol=1e-8)


def test_work_that_kills_and_a_scheduler_that_goes_away_are_one_sentence(tmp_path):
    alone = Workers(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    alone.start()
    try:
        alone.wait()
        with open_cluster(alone.address) as cluster:
            with pytest.raises(ClusterError, match=r"cannot run .* \(No module named 'nowhere'\)"):
                cluster.map_in_order(__import__, ["nowhere"])
            with pytest.raises(ClusterError, match=r"died again and again .*more memory"):
                cluster.map_in_order(os._exit, [1])
            cluster.waiting = alone.stop  # there is no worker any more
            with pytest.raises(ClusterError, match=r"went away.*goes on where this one stopped"):
                cluster.map_in_order(str, range(3))
    finally:
        alone.stop()


def test_where_there_is_no_scheduler_it_is_said_at_once(folder, tmp_path, monkeypatch):
    import distributed

    class NotedClient(distributed.Client):
        def __init__(self, *args, timeout, **options):
            waits_s.append(timeout)
            super().__init__(*args, timeout=timeout, **options)

    waits_s = []
    monkeypatch.setattr(distributed, "Client", NotedClient)
    monkeypatch.setattr(_cluster, "CONNECT_S", 0.5)
    out = tmp_path / "guide"
    for given in ("tcp://127.0.0.1:9", "nonsense://127.0.0.1", "no-such-host.invalid:8786"):
        with pytest.raises(ClusterError, match=r"No scheduler answers at .*'dask scheduler'"):
            Guide.build(folder, out, client=given)
    assert waits_s == [0.5] * 3
    with pytest.raises(ClusterError, match=r"There is no scheduler file 'none\.json'"):
        Guide.build(folder, out, client="none.json")
    for given in (8786, ""):
        with pytest.raises(ClusterError, match=r"client must be a distributed\.Client"):
            Guide.build(folder, out, client=given)
    assert not out.exists()


def test_without_dask_it_is_said_how_to_get_it(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install fieldguide\[cluster\]"):
        Guide.build(folder, tmp_path / "guide", client="tcp://127.0.0.1:9")
