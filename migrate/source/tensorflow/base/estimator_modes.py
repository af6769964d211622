"""Recognizes an Estimator's model function, where `mode` distinguishes training from evaluation."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File


def in_model_function(file: File, node: cst.CSTNode) -> bool:
    """True inside a function with a parameter `mode` that mentions `EstimatorSpec` or `ModeKeys`."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    while function is not None:
        parameters = {p.name.value for p in (*function.params.params, *function.params.kwonly_params)}
        if "mode" in parameters and _mentions(file, function, ("EstimatorSpec", "ModeKeys")):
            return True
        function = file.tree.enclosing(function, cst.FunctionDef)
    return False


def _mentions(file: File, function: cst.FunctionDef, words: tuple[str, ...]) -> bool:
    uses = [use for word in words for use in (*file.tree.names[word], *file.tree.attributes[word])]
    return any(file.tree.contains(function, use) for use in uses)
