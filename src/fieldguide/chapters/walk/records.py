"""What a walk says of a new image, as a record."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class ImageWalk:
    """Where to walk the key by hand, with what the machine says of the image as a start."""

    kind: Annotated[str, "the kind that the walk begins with as the likeliest"]
    link: Annotated[str, "the page of the walk, relative to the root of the guide's pages"]


EXAMPLE = ImageWalk(kind="wren", link="walk.html#start=wren:0.912,robin:0.061&seen=yn-y")
"""What docs/answer.md shows."""
