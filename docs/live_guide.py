"""Build a small guide of drawn specimens and put its pages into the documentation site.

Its pages are those of any exported guide: a reader sees the real thing before installing it.
"""

import shutil
from pathlib import Path

from fieldguide import Collection, Guide
from fieldguide.datasets import load_specimens

N_PER_KIND = 5
SIZE_PX = 240


def write_guide(site: Path, work: Path) -> None:
    """Write the pages of a guide into ``site``/guide; the guide itself is built in ``work``.

    What is built there already is not built again.
    """
    drawn = load_specimens(n_per_kind=N_PER_KIND, size_px=SIZE_PX)
    collection = Collection.from_arrays(
        drawn.images,
        [drawn.target_names[k] for k in drawn.target],
        attributes=drawn.attributes,
        attribute_names=drawn.attribute_names,
        name="specimens",
    )
    guide = Guide.build(collection, work, title="Specimens")
    target = site / "guide"
    if target.exists():
        shutil.rmtree(target)
    guide.strip().export_site(target)
