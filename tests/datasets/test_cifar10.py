"""CIFAR-10 on tiny files of the same layouts."""

import pickle

import numpy as np
import pytest
from PIL import Image

from fieldguide.datasets import load_cifar10
from fieldguide.errors import CollectionError, FieldguideError

NAMES = ["airplane", "automobile", "bird"]


def write_batch(path, pictures, labels):
    """Write records as the release describes them: class, then the red, green and blue planes."""
    with path.open("wb") as file:
        for picture, label in zip(pictures, labels, strict=True):
            file.write(bytes([label]))
            for channel in range(3):
                for row in range(32):
                    file.write(bytes(picture[row, column, channel] for column in range(32)))


@pytest.fixture
def pictures():
    return np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), dtype=np.uint8)


@pytest.fixture
def binary(tmp_path, pictures):
    root = tmp_path / "cifar-10-batches-bin"
    root.mkdir()
    (root / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")
    for k in range(5):
        write_batch(root / f"data_batch_{k + 1}.bin", pictures[2 * k : 2 * k + 2], [k % 3, 2])
    write_batch(root / "test_batch.bin", pictures[10:], [1, 0])
    return root


@pytest.mark.parametrize("outer", [False, True])
def test_binary_batches_are_read_in_order(binary, pictures, outer):
    train = load_cifar10(binary.parent if outer else binary)
    np.testing.assert_array_equal(train.images, pictures[:10])
    assert train.images.dtype == np.uint8
    assert train.images.flags.c_contiguous
    assert train.target.tolist() == [0, 2, 1, 2, 2, 2, 0, 2, 1, 2]
    assert train.target_names == NAMES
    test = load_cifar10(binary, split="test")
    np.testing.assert_array_equal(test.images, pictures[10:])
    assert test.target.tolist() == [1, 0]
    assert "2 pictures of 3 classes, those for testing" in test.DESCR


@pytest.fixture
def folders(tmp_path, pictures):
    root = tmp_path / "cifar10"
    for i, picture in enumerate(pictures):
        path = root / ("train" if i < 9 else "test") / NAMES[i % 3] / f"{i:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path)
    (root / "train" / "notes.png").write_bytes((root / "train/bird/0002.png").read_bytes())
    return root


def test_folders_are_listed_class_by_class(folders, pictures):
    train = load_cifar10(folders)
    assert train.target.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert train.target_names == NAMES
    assert [item.path for item in train.images.items][:4] == [
        "airplane/0000.png",
        "airplane/0003.png",
        "airplane/0006.png",
        "automobile/0001.png",
    ]
    np.testing.assert_array_equal(next(iter(train.images)), pictures[0])
    assert [item.kind for item in load_cifar10(folders, "test").images.items] == NAMES


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: bytes([3]) + data[1:]]
)
def test_a_damaged_batch_is_refused(binary, damage):
    path = binary / "data_batch_3.bin"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CollectionError, match=r"data_batch_3.bin' must hold records of 3073 bytes"):
        load_cifar10(binary)
    assert len(load_cifar10(binary, "test").target) == 2


def test_pickles_are_not_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    root = tmp_path / "cifar-10-batches-py"
    root.mkdir()
    (root / "data_batch_1").write_bytes(pickle.dumps(Trap()))
    for folder in (root, tmp_path):
        with pytest.raises(CollectionError, match=r"python version, whose pickles are not safe"):
            load_cifar10(folder)


def test_another_layout_is_refused(binary, folders, tmp_path):
    with pytest.raises(CollectionError, match=r"There is no folder .*unpacked CIFAR-10"):
        load_cifar10(tmp_path / "nowhere")
    with pytest.raises(
        CollectionError, match=r"is not CIFAR-10: it holds neither data_batch_1.bin"
    ):
        load_cifar10(folders / "train")
    (folders / "test" / "only.png").write_bytes((folders / "test/bird/0011.png").read_bytes())
    for name in NAMES:
        for path in (folders / "test" / name).iterdir():
            path.unlink()
    with pytest.raises(CollectionError, match=r"holds no image in a folder of its class"):
        load_cifar10(folders, "test")
    (binary / "data_batch_2.bin").unlink()
    with pytest.raises(CollectionError, match=r"There is no data_batch_2.bin in"):
        load_cifar10(binary)
    (binary / "batches.meta.txt").unlink()
    with pytest.raises(CollectionError, match=r"There is no batches.meta.txt in"):
        load_cifar10(binary)
    with pytest.raises(FieldguideError, match="split of load_cifar10 must be one of"):
        load_cifar10(binary, "valid")
