"""A guide of pictures in which something needs a look."""

import numpy as np
import pytest
from PIL import Image

from fieldguide.collection import Collection
from fieldguide.guide import Guide


@pytest.fixture(scope="session")
def untidy(blobs, build_once) -> Guide:
    """A copy, a dark and a tiny picture, a wrong label, and a kind of one picture."""
    images, kinds = blobs
    names = [f"{kind}/{i:02d}.png" for i, kind in enumerate(kinds)]
    added = {
        "disc/again.png": np.roll(images[0], 1, axis=1),
        "square/night.png": (images[9] // 16).astype(np.uint8),
        "stripe/tiny.png": np.asarray(Image.fromarray(images[17]).resize((12, 12))),
        "stripe/wrong.png": images[3][::-1],
        "zebra/one.png": images[20][:, ::-1],
    }
    collection = Collection.from_arrays(
        [*images, *added.values()],
        [*kinds, *(name.split("/")[0] for name in added)],
        names=[*names, *added],
        name="untidy",
    )
    settings = {"key": "ova", "marks": False, "places": False, "tree": "agglomerative"}
    return build_once("untidy", collection, features="deep", n_jobs=1, **settings)
