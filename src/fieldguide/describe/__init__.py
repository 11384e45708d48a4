"""A tree of the collection, in words."""

from fieldguide.describe.agglomerative import AgglomerativeTree
from fieldguide.describe.tree import Tree
from fieldguide.describe.wording import DescribedTree, describe_tree

__all__ = ["AgglomerativeTree", "DescribedTree", "Tree", "describe_tree"]
