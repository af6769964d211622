"""The value flow of the program that a tree is part of, analysed once for each program."""

from __future__ import annotations

from migrate.source.flow import ValueFlow
from migrate.source.project.combined_tree import Joined
from migrate.source.syntax.tree import Tree

#: Libraries that change nothing in the lists, dicts and objects that they are given.
TAME = (
    "tensorflow", "tensorflow_core", "keras", "tf_keras", "numpy", "scipy", "pandas", "sklearn", "six", "absl", "tqdm",
    "horovod", "sparse_operation_kit",
)  # fmt: skip


def analysed(tree: Tree) -> ValueFlow:
    """Return the analysis of a file, or of all files that are judged together with it."""
    if isinstance(tree, Joined):
        if tree.parts.flow is None:
            tree.parts.flow = ValueFlow(list(tree.parts.trees.values()), tree.parts.outside, tame=TAME)
        return tree.parts.flow
    found = tree.answers.get(("flow",))
    if not isinstance(found, ValueFlow):
        found = tree.answers[("flow",)] = ValueFlow([tree], tame=TAME)
    return found
