"""A guide that is measured by processes of one machine, as where there are many cores."""

import shutil

import pytest
from tests.guide.contents import contents

from fieldguide import chapters
from fieldguide.guide import Guide, shards

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
    def interrupt(step, done, total):
        if step == "looking closer" and done >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Guide.build(images, tmp_path / "guide", n_jobs=2, progress=interrupt, **SETTINGS)
    guide = Guide.build(images, tmp_path / "guide", n_jobs=2, **SETTINGS)
    assert contents(guide.folder) == contents(whole.folder)
    assert guide.all_located() or "places" not in chapters.OPTIONAL
