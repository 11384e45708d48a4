"""Image to numbers: each column has a name and, where it has one, a window of the image."""

from fieldguide.features.bag_of_words import BagOfWords, FoundWords
from fieldguide.features.classifier_pool import ClassifierPool
from fieldguide.features.color_histogram import ColorHistogram
from fieldguide.features.colour_names import COLOURS, name_colours
from fieldguide.features.components import Components, find_components
from fieldguide.features.deep import DeepFeatures
from fieldguide.features.dense_sift import DenseSIFT, dense_sift
from fieldguide.features.frames import pool_logarithms, pool_outputs, pool_rows, pool_scores
from fieldguide.features.gist import Gist
from fieldguide.features.hog import SpatialHOG, hog
from fieldguide.features.local_binary_patterns import LocalBinaryPatterns
from fieldguide.features.looks import (
    PLAIN_SPREAD,
    Look,
    Looks,
    first_look,
    fit_whole,
    look_closer,
    picture_cells,
    say_of_both,
    sum_shares,
)
from fieldguide.features.named_colours import measure_named
from fieldguide.features.neighbours import Reduction, find_close, find_largest, reduce_rows
from fieldguide.features.network import Network, Outputs
from fieldguide.features.own_words import stem_word
from fieldguide.features.stack import FeatureStack
from fieldguide.features.subject_finder import Subject, SubjectFinder
from fieldguide.features.subject_map import (
    MAP_SIZE,
    MAP_WORDS,
    MEASURES,
    SubjectMap,
    around_maps,
    map_subject,
    measure_maps,
    score_maps,
)
from fieldguide.features.subject_outline import outline_colours
from fieldguide.features.subject_words import (
    SUBJECT_NAMES,
    SURROUNDING_NAMES,
    SeenSubject,
    measure_colours,
    measure_subject,
    rank_colours,
    score_subject,
    see_subject,
)
from fieldguide.features.text_tower import TextTower
from fieldguide.features.text_vocabulary import TextVocabulary
from fieldguide.features.words import TAUGHT, VOCABULARY, AttributeMatrix, WordModel
from fieldguide.features.words_plate import draw_words_plate, pick_words

__all__ = [
    "COLOURS",
    "MAP_SIZE",
    "MAP_WORDS",
    "MEASURES",
    "PLAIN_SPREAD",
    "SUBJECT_NAMES",
    "SURROUNDING_NAMES",
    "TAUGHT",
    "VOCABULARY",
    "AttributeMatrix",
    "BagOfWords",
    "ClassifierPool",
    "ColorHistogram",
    "Components",
    "DeepFeatures",
    "DenseSIFT",
    "FeatureStack",
    "FoundWords",
    "Gist",
    "LocalBinaryPatterns",
    "Look",
    "Looks",
    "Network",
    "Outputs",
    "Reduction",
    "SeenSubject",
    "SpatialHOG",
    "Subject",
    "SubjectFinder",
    "SubjectMap",
    "TextTower",
    "TextVocabulary",
    "WordModel",
    "around_maps",
    "dense_sift",
    "draw_words_plate",
    "find_close",
    "find_components",
    "find_largest",
    "first_look",
    "fit_whole",
    "hog",
    "look_closer",
    "map_subject",
    "measure_colours",
    "measure_maps",
    "measure_named",
    "measure_subject",
    "name_colours",
    "outline_colours",
    "pick_words",
    "picture_cells",
    "pool_logarithms",
    "pool_outputs",
    "pool_rows",
    "pool_scores",
    "rank_colours",
    "reduce_rows",
    "say_of_both",
    "score_maps",
    "score_subject",
    "see_subject",
    "stem_word",
    "sum_shares",
]
