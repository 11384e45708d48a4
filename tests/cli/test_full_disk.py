"""Every command that writes a file, on a disk without room: one sentence, and nothing is lost."""

import os
import shutil

import pytest
from PIL import Image

from fieldguide.exports import FORMATS
from tests.cli.commands import call
from tests.guide.contents import everything
from tests.guide.full_disk import small_disk

pytestmark = pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
ROOM = 32 * 2**20  # enough for whatever is written
MISSING = {"parquet": "pyarrow"}  # packages that only one format needs


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    try:
        with small_disk(tmp_path_factory.mktemp("full") / "disk", ROOM + 2**20) as place:
            yield place
    except OSError as error:
        pytest.skip(str(error))


@pytest.fixture
def fill(disk):
    """Leave so many bytes on the disk."""
    ballast = disk / "ballast"

    def leave(n_bytes: int) -> None:
        ballast.unlink(missing_ok=True)
        free = shutil.disk_usage(disk).free
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, free - n_bytes)

    yield leave
    for path in disk.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def new_picture(tmp_path_factory, blobs):
    folder = tmp_path_factory.mktemp("new")
    Image.fromarray(blobs[0][0]).save(folder / "a.png")
    return folder


def read_written(disk) -> dict[str, bytes]:
    """The bytes of every file on the disk but the ballast, which is large."""
    return everything(disk, but="ballast")


def list_writers(guide, pictures) -> dict[str, list]:
    """Commands that write a file or a folder, without its name, which comes last."""
    exports = {name: ["export", guide, "--format", name] for name in FORMATS}
    return {
        **exports,
        "plot": ["plot", guide, "key", "--out"],
        "comparison": ["describe", guide, "--beside", guide, "--out"],
        "names": ["identify", guide, pictures, "--csv"],
        "check": ["check", guide, "--csv"],
        "edits": ["edit", guide, "--export"],
    }


@pytest.mark.parametrize("name", list_writers("", ""))
def test_no_room_is_one_sentence_and_leaves_nothing(name, small_guide, new_picture, disk, fill):
    if name in MISSING:
        pytest.importorskip(MISSING[name])
    command = list_writers(small_guide.folder, new_picture)[name]
    suffix = FORMATS[name].suffix if name in FORMATS else {"plot": ".svg"}.get(name, ".csv")
    suffix = ".html" if name == "comparison" else suffix
    target = disk / f"out{suffix}"
    said = []
    for n_bytes in (0, 4096, 40_960):
        fill(n_bytes)
        before = read_written(disk)
        result = call(*command, target)
        if not result.exit_code:  # a small file has room
            target.unlink()
            break
        said.append(result.stderr)
        assert result.exit_code == 2, result.output
        told = [line for line in result.stderr.splitlines() if line.startswith("fieldguide: ")]
        assert len(told) == 1, result.stderr
        assert "No space left" in told[0] or "no room left" in told[0]
        left = read_written(disk)
        left.pop("out.csv.part", None)  # from which naming pictures goes on
        assert left == before
        assert not list(disk.glob(".*"))
    assert said
    fill(ROOM)
    done = call(*command, target)
    assert done.exit_code == 0, done.output
    whole = read_written(disk)
    fill(0)  # what is there stays when there is no room for another
    result = call(*command, target, *(["--overwrite"] if name in FORMATS else []))
    left = read_written(disk)
    assert left == whole, result.output
