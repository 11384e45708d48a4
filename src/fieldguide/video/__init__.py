"""Clips: frames and movement, and where in a clip its kind shows.

- :func:`read_clip`, :func:`optical_flow`: the frames of a clip, and how they move
- :class:`SpaceTimeWords`: clips as histograms of words of small blocks of space and time
- :func:`group_words`: words that move alike, a pattern; :func:`measure_blocks`: how blocks move
- :func:`supervoxels`: a clip cut into :class:`Supervoxels`; :func:`to_supervoxels` for a label map
- :func:`supervoxel_features`: what each of them looks like and how it moves, a bag
- :func:`find_tubes`: a :class:`TubeFinding`, mask and a box in every frame

The classifiers over bags of :mod:`fieldguide.locate` learn from either.
"""

from fieldguide.video.clips import optical_flow, read_clip
from fieldguide.video.descriptors import supervoxel_features
from fieldguide.video.patterns import BlockMoves, group_words, measure_blocks
from fieldguide.video.space_time_words import Blocks, SpaceTimeWords
from fieldguide.video.supervoxels import Supervoxels, supervoxels, to_supervoxels
from fieldguide.video.tubes import TubeFinding, find_tubes

__all__ = [
    "BlockMoves",
    "Blocks",
    "SpaceTimeWords",
    "Supervoxels",
    "TubeFinding",
    "find_tubes",
    "group_words",
    "measure_blocks",
    "optical_flow",
    "read_clip",
    "supervoxel_features",
    "supervoxels",
    "to_supervoxels",
]
