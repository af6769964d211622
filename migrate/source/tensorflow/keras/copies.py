"""Copies of models with tables by `copy.deepcopy`, and reads of checkpoints by the names of variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of
from migrate.source.tensorflow.facts.variables.keras_layers import Layer
from migrate.source.tensorflow.keras.layer_uses import blocker_at

#: Functions that read single variables of a checkpoint.
_READERS = {"train.load_variable", "train.load_checkpoint", "train.NewCheckpointReader"}


def copied(file: File, layers: Sequence[Layer]) -> Iterator[Blocker]:
    """Block where an object that holds a table is copied, or a checkpoint is read by names."""
    flow = flow_of(file)
    tables = [value for layer in layers for value in layer.values]
    holders = {*tables, *(holder for value in tables for holder in flow.holders(value))}
    for call in file.tree.calls:
        imported, _ = file.tree.imported_names(call.func)
        values = flow.values(call.args[0].value) if call.args and "copy.deepcopy" in imported else []
        if not holders.isdisjoint(values) or any((symbol_of(one) or "").startswith("keras.") for one in values):
            yield blocker_at(file, call, "copied")
        if file.names.of(call.func) in _READERS:
            yield blocker_at(file, call, "read-from-file")
