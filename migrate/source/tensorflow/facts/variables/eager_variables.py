"""Variables of eager code, which a tape and an optimizer of Keras train: these stay."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File, cached_query

#: Code that only programs of a v1 graph have.
_GRAPH = {
    "Session", "InteractiveSession", "placeholder", "get_variable", "global_variables_initializer", "variable_scope",
    "disable_eager_execution", "disable_v2_behavior", "train.MonitoredTrainingSession", "estimator.Estimator",
    "estimator.EstimatorSpec", "train.get_global_step", "train.get_or_create_global_step", "reset_default_graph",
    "Graph", "train.Supervisor", "app.run", "trainable_variables",
}  # fmt: skip
_BASES = {"Module", "keras.Model", "keras.models.Model", "keras.layers.Layer", "keras.Layer"}


def is_eager(file: File, call: cst.Call) -> bool:
    """True if the file of a call that makes a variable is of eager code, as far as it shows."""
    return _shows_eager(file.part(call))


@cached_query
def builds_graph(file: File, *, taped: bool = False) -> bool:
    """True if a file shows that it builds a v1 graph; where gradients are `taped`, optimizers of v1 do not show it."""
    imports = [file.tree.source(one) for one in file.tree.imports]
    return any("compat.v1" in one or "compat import v1" in one for one in imports) or any(
        name in _GRAPH or (name.startswith("train.") and name.endswith("Optimizer") and not taped)
        for _, name in file.names.calls
    )


@cached_query
def _shows_eager(file: File) -> bool:
    taped = bool(file.tree.names.get("GradientTape"))
    if builds_graph(file, taped=taped):
        return False
    classes = (one for one in file.tree.nodes() if isinstance(one, cst.ClassDef))
    bases = {file.names.of(base.value) for one in classes for base in one.bases}
    return taped or not bases.isdisjoint(_BASES)
