"""Where in a picture its kind shows: regions, and classifiers that learn which of them matter.

- :class:`SubjectFinder`: finds the :class:`Subject` of each picture, without labels
- :func:`superpixels`: a picture cut into :class:`Regions`; :func:`to_regions` for a label map
- :func:`region_words`, :func:`region_features`: what each region looks like, in numbers
- :class:`RegionSelector`: learns from labels of pictures which regions make them positive
- :class:`MISVM`, :class:`MILBoost`: what it is compared with, by the same interface
- :func:`find_objects`: a :class:`Finding`, mask and boxes, from the scores of regions
- :func:`border_contrast`: how far each region stands out from the border of the picture
- :func:`follow_edges`: a coarse field over a picture, brought to the picture's edges
- :func:`trace_outlines`: polygons around a mask, for drawing

The same in a clip:

- :func:`supervoxels`: a clip cut into :class:`Supervoxels`; :func:`to_supervoxels` for a label map
- :func:`supervoxel_features`: what each of them looks like and how it moves, a bag
- :class:`CRANE`: ranks regions by their distance to negatives, by the same interface
- :func:`find_tubes`: a :class:`TubeFinding`, mask and a box in every frame
"""

from fieldguide.features.subject_finder import Subject, SubjectFinder
from fieldguide.locate.clip_descriptors import supervoxel_features
from fieldguide.locate.contrast import border_contrast
from fieldguide.locate.crane import CRANE
from fieldguide.locate.descriptors import region_features, region_words
from fieldguide.locate.edges import follow_edges
from fieldguide.locate.finding import Finding, find_objects
from fieldguide.locate.mi_svm import MISVM
from fieldguide.locate.mil_boost import MILBoost
from fieldguide.locate.outlines import trace_outlines
from fieldguide.locate.region_selector import RegionSelector
from fieldguide.locate.superpixels import Regions, superpixels, to_regions
from fieldguide.locate.supervoxels import Supervoxels, supervoxels, to_supervoxels
from fieldguide.locate.tubes import TubeFinding, find_tubes

__all__ = [
    "CRANE",
    "MISVM",
    "Finding",
    "MILBoost",
    "RegionSelector",
    "Regions",
    "Subject",
    "SubjectFinder",
    "Supervoxels",
    "TubeFinding",
    "border_contrast",
    "find_objects",
    "find_tubes",
    "follow_edges",
    "region_features",
    "region_words",
    "superpixels",
    "supervoxel_features",
    "supervoxels",
    "to_regions",
    "to_supervoxels",
    "trace_outlines",
]
