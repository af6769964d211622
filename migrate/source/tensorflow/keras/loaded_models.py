"""Models that a program loads: whether they only predict, and go to no converter that has no op for tables."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.bindings import is_target
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, results
from migrate.source.tensorflow.keras.layer_uses import blocker_at

LOADERS = {"keras.models.load_model", "keras.saving.load_model", "saved_model.load", "saved_model.load_v2"}
#: Methods of a loaded model that give arrays, of which no gradient is taken.
_PREDICTING = frozenset({"evaluate", "predict", "predict_on_batch", "summary", "test_on_batch"})
_LITE = "lite.TFLiteConverter."


def loaded_models(file: File) -> Iterator[Blocker]:
    """Block where a model is loaded that may be trained, or converted for TensorFlow Lite."""
    for call, name in file.names.calls:
        if name in LOADERS and not _only_predicts(file, call):
            yield blocker_at(file, call, "loaded-model")
        if name.startswith(_LITE):
            yield blocker_at(file, call, "lite")


def _only_predicts(file: File, call: cst.Call) -> bool:
    """True if every use of what a call loads is seen, and predicts."""
    flow, tree = flow_of(file), file.tree
    loaded = results(file, call)
    uses = [use for value in loaded for use in flow.mentions(value) if not is_target(tree, use)]
    known = [_predicts(file, use) for use in uses]
    moves = all(one or (flow.hands_on(use) and not flow.leaves(use)) for one, use in zip(known, uses, strict=True))
    held = any(flow.holders(value) for value in loaded)
    return any(known) and moves and not held


def _predicts(file: File, use: cst.BaseExpression) -> bool:
    around = file.tree.parent(use)
    if isinstance(around, cst.Attribute) and around.value is use:
        return around.attr.value in _PREDICTING
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    return isinstance(call, cst.Call) and prints(file, call)
