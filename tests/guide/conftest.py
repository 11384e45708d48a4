from pathlib import Path

import pytest
from PIL import Image

from fieldguide.collection import Collection


@pytest.fixture(scope="session")
def folder(blobs, tmp_path_factory) -> Path:
    """Three folders of simple pictures, and one file that is no picture."""
    root = tmp_path_factory.mktemp("images")
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        path = root / kind / f"{i:02d}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(image).save(path)
    (root / "disc" / "bad.jpg").write_bytes(b"\xff\xd8\xff and no more")
    return root


@pytest.fixture
def decoded(monkeypatch):
    """The paths of images that are decoded from here on."""
    picture, paths = Collection.picture, []

    def noted(self, i, **options):
        paths.append(self.items[i].path)
        return picture(self, i, **options)

    monkeypatch.setattr(Collection, "picture", noted)
    return paths
