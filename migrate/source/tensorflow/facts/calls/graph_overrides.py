"""Scopes of a graph that give its ops other gradients, kernels or attributes, which a table's own ops do not get."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File

#: Methods of a graph that open such a scope.
OVERRIDES = ("gradient_override_map", "_override_gradient_function", "_kernel_label_map", "_attr_scope")


def overridden(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return what opens such a scope anywhere in the program around `node`."""
    trees = [part.tree for part in file.program(node)]
    return next((mention for tree in trees for name in OVERRIDES for mention in tree.attributes.get(name, ())), None)
