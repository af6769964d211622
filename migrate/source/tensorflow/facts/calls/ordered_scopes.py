"""Scopes that order the ops created in them, or replace gradients: `with tf.control_dependencies(...):`."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File

NAMES = ("control_dependencies", "gradient_override_map")


def names_ordered_scopes(file: File, node: cst.CSTNode) -> bool:
    """True if any file of the program around `node` names such a scope: who is inside of it is not asked."""
    trees = [part.tree for part in file.program(node)]
    return any(tree.attributes.get(name) or tree.names.get(name) for tree in trees for name in NAMES)
