"""What a build measures again."""

import numpy as np
from PIL import Image

from fieldguide.chapters.check import chapter
from fieldguide.guide import Guide


def test_pictures_that_are_known_are_not_read_again(blobs, tmp_path, monkeypatch):
    read = []
    whole = chapter.read_pictures

    def listen(root, names, **settings):
        read.append(names)
        return whole(root, names, **settings)

    monkeypatch.setattr(chapter, "read_pictures", listen)
    images, kinds = blobs

    def save(i, name):
        path = tmp_path / "pictures" / kinds[i] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[i]).save(path)

    def build():
        settings = {
            "features": "color",
            "key": "ova",
            "marks": False,
            "places": False,
            "tree": "agglomerative",
        }
        guide = Guide.build(tmp_path / "pictures", tmp_path / "guide", n_jobs=1, **settings)
        return guide, guide._models.part("check").small

    for i in (0, 1, 2, 8, 9, 10):
        save(i, f"b{i}.png")
    build()
    save(3, "a3.png")
    guide, small = build()
    assert [len(names) for names in read] == [6, 1]
    fresh = whole(guide.folder, [s.picture for s in guide.specimens(range(7))], n_jobs=1)
    for kept, new in zip(small, fresh, strict=True):
        assert np.array_equal(kept, new)
