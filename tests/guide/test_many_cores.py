"""A guide that is measured by processes of one machine, as where there are many cores."""

import shutil

import pytest
from tests.guide.contents import contents
from tests.interrupts import interrupt_at

from fieldguide import chapters
from fieldguide.errors import GuideError
from fieldguide.guide import Guide, shards
from fieldguide.guide.survey import NameShots, list_shots, survey

SETTINGS = {"features": "looks", "marks": False, "places": True, "tree": "agglomerative"}


@pytest.fixture(scope="module")
def images(folder, tmp_path_factory):
    """Two of the three folders: three batches, for two processes."""
    root = tmp_path_factory.mktemp("two") / "images"
    return shutil.copytree(folder, root, ignore=shutil.ignore_patterns("stripe"))


@pytest.fixture(scope="module")
def whole(images, tmp_path_factory):
    return Guide.build(images, tmp_path_factory.mktemp("whole") / "guide", n_jobs=1, **SETTINGS)


@pytest.fixture
def many_cores(monkeypatch):
    """Processes where threads would do."""
    monkeypatch.setattr(shards, "_LEAST_PROCESSES", 2)
    monkeypatch.setattr(shards, "_WORTH", 1)


@pytest.mark.usefixtures("many_cores")
def test_processes_make_the_same_guide_also_after_an_interrupt(images, whole, tmp_path):
    interrupt = interrupt_at(8, "looking closer")
    with pytest.raises(KeyboardInterrupt):
        Guide.build(images, tmp_path / "guide", n_jobs=2, progress=interrupt, **SETTINGS)
    guide = Guide.build(images, tmp_path / "guide", n_jobs=2, **SETTINGS)
    assert contents(guide.folder) == contents(whole.folder)
    assert guide.all_located() or "places" not in chapters.OPTIONAL


@pytest.mark.usefixtures("many_cores")
def test_processes_write_the_same_table_also_after_an_interrupt(flat_guide, images, tmp_path):
    shots = list_shots([images])
    survey(flat_guide, shots, tmp_path / "one.csv", n_jobs=1)

    def interrupt(step, done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey(flat_guide, shots, tmp_path / "two.csv", n_jobs=2, progress=interrupt)
    seen = []
    survey(flat_guide, shots, tmp_path / "two.csv", n_jobs=2, progress=lambda *at: seen.append(at))
    assert 0 < seen[0][1] < len(shots)
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


def test_a_process_does_not_name_by_a_guide_that_was_built_again(flat_guide):
    asked = NameShots(flat_guide.folder, (), "cpu", "of another build")
    with pytest.raises(GuideError, match="was built again meanwhile"):
        asked([])


@pytest.mark.slow
@pytest.mark.usefixtures("many_cores")
def test_processes_add_to_a_guide_as_threads_do(folder, whole, tmp_path):
    here, there = (shutil.copytree(whole.folder, tmp_path / str(n)) for n in (1, 2))
    for n_jobs, out in ((1, here), (2, there)):
        Guide.open(out).add(folder / "stripe", n_jobs=n_jobs)
    assert contents(there) == contents(here)
