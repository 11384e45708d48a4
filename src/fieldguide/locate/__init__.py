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
- :class:`CRANE`: ranks regions by their distance to negatives, by the same interface

:mod:`fieldguide.video` does the same in clips.
"""

from fieldguide.features.subject_finder import Subject, SubjectFinder
from fieldguide.locate.contrast import border_contrast
from fieldguide.locate.crane import CRANE
from fieldguide.locate.descriptors import region_features, region_words
from fieldguide.locate.finding import Finding, find_objects
from fieldguide.locate.mi_svm import MISVM
from fieldguide.locate.mil_boost import MILBoost
from fieldguide.locate.outlines import follow_edges, trace_outlines
from fieldguide.locate.region_selector import RegionSelector
from fieldguide.locate.superpixels import Regions, superpixels, to_regions

__all__ = [
    "CRANE",
    "MISVM",
    "Finding",
    "MILBoost",
    "RegionSelector",
    "Regions",
    "Subject",
    "SubjectFinder",
    "border_contrast",
    "find_objects",
    "follow_edges",
    "region_features",
    "region_words",
    "superpixels",
    "to_regions",
    "trace_outlines",
]
