"""Keys: classifiers that name the kind of a new specimen."""

from fieldguide.identify.attention_tree import AttentionTreeClassifier
from fieldguide.identify.auto_key import Choice, Tried, choose_key, tell_points
from fieldguide.identify.back_off import Groups
from fieldguide.identify.bounds import GeneralizationBound, generalization_bound
from fieldguide.identify.confidence import HeldOut
from fieldguide.identify.confusion_tree import ConfusionTreeClassifier
from fieldguide.identify.contrast import (
    Contrast,
    StepFunction,
    contrast_classes,
    contrast_others,
    contrast_steps,
)
from fieldguide.identify.dag_svm import DAGSVMClassifier
from fieldguide.identify.graph import ABSENT, BOTH, LEFT, RIGHT, DecisionGraph
from fieldguide.identify.key import Key
from fieldguide.identify.normalized_cut_tree import NormalizedCutTreeClassifier
from fieldguide.identify.one_vs_all import OneVsAllClassifier
from fieldguide.identify.one_vs_one import OneVsOneClassifier
from fieldguide.identify.operating_points import (
    OperatingPoint,
    cost_of_classes,
    relative_complexity,
)
from fieldguide.identify.path import Step, trace_path
from fieldguide.identify.relaxed_hierarchy import RelaxedHierarchyClassifier
from fieldguide.identify.search import SearchResult
from fieldguide.identify.search_strategies import BestFirst, Greedy, Search, Shortlist
from fieldguide.identify.serving import FastShortlist, FastWalker
from fieldguide.identify.tree_key import TreeKey

__all__ = [
    "ABSENT",
    "BOTH",
    "LEFT",
    "RIGHT",
    "AttentionTreeClassifier",
    "BestFirst",
    "Choice",
    "ConfusionTreeClassifier",
    "Contrast",
    "DAGSVMClassifier",
    "DecisionGraph",
    "FastShortlist",
    "FastWalker",
    "GeneralizationBound",
    "Greedy",
    "Groups",
    "HeldOut",
    "Key",
    "NormalizedCutTreeClassifier",
    "OneVsAllClassifier",
    "OneVsOneClassifier",
    "OperatingPoint",
    "RelaxedHierarchyClassifier",
    "Search",
    "SearchResult",
    "Shortlist",
    "Step",
    "StepFunction",
    "TreeKey",
    "Tried",
    "choose_key",
    "contrast_classes",
    "contrast_others",
    "contrast_steps",
    "cost_of_classes",
    "generalization_bound",
    "relative_complexity",
    "tell_points",
    "trace_path",
]
