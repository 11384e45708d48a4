"""A tree of the collection, in words."""

from fieldguide.describe.agglomerative import AgglomerativeTree
from fieldguide.describe.attribute_detectors import AttributeDetectors
from fieldguide.describe.attribute_tree import AttributeTree
from fieldguide.describe.bernoulli_tree import BernoulliTree
from fieldguide.describe.chain_files import load_chains, pack_chains, save_chains, unpack_chains
from fieldguide.describe.group_evidence import fill_groups, find_agreeing
from fieldguide.describe.tree import Tree
from fieldguide.describe.wording import DescribedTree, describe_tree

__all__ = [
    "AgglomerativeTree",
    "AttributeDetectors",
    "AttributeTree",
    "BernoulliTree",
    "DescribedTree",
    "Tree",
    "describe_tree",
    "fill_groups",
    "find_agreeing",
    "load_chains",
    "pack_chains",
    "save_chains",
    "unpack_chains",
]
