"""The value flow analysis of a program, computed once per program."""

from __future__ import annotations

from migrate.source.flow import ValueFlow
from migrate.source.project.combined_tree import Joined
from migrate.source.syntax.tree import Tree

#: Libraries that do not modify the lists, dicts and objects they receive.
NON_MUTATING = (
    "tensorflow", "tensorflow_core", "keras", "tf_keras", "numpy", "scipy", "pandas", "sklearn", "six", "absl", "tqdm",
    "horovod", "sparse_operation_kit",
)  # fmt: skip


def analysed(tree: Tree) -> ValueFlow:
    """Return the analysis of a file, or of all files that are analysed together with it."""
    answers = tree.parts.answers if isinstance(tree, Joined) else tree.answers
    if ("flow",) not in answers:
        answers["flow",] = _analysis(tree)
    flow: ValueFlow = answers["flow",]
    return flow


def _analysis(tree: Tree) -> ValueFlow:
    if isinstance(tree, Joined):
        return ValueFlow(list(tree.parts.trees.values()), tree.parts.outside, non_mutating=NON_MUTATING)
    return ValueFlow([tree], non_mutating=NON_MUTATING)
