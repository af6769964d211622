"""Embedding columns that a model of Keras reads by `DenseFeatures`: judged as the layers with tables are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from migrate.source.tensorflow.base.arguments import bind, keyword, last_name, string
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.variables.column_names import describe
from migrate.source.tensorflow.facts.variables.embedding_columns import (
    COLUMNS,
    KERAS_READERS,
    RULE,
    are_of_keras,
    find_columns,
)
from migrate.source.tensorflow.facts.variables.keras_layers import Layer, LayerKind, layer_without_arguments
from migrate.source.tensorflow.keras.layer_uses import POLICIES, check_places

COLUMN = LayerKind(
    "embedding_column", "runtime.feature_column", "column", RULE, "", "dimension", "initializer", "truncated normal"
)
#: Arguments of the layers that decide on the variables of their columns.
_OF_VARIABLES = {"dtype", "partitioner"}


def columns_of(file: File, home: File) -> list[Layer]:
    """Return the embedding columns of `home` that a model of Keras trains, in source order, with their blockers."""
    own = {id(call) for call, _ in home.calls(*COLUMNS) if are_of_keras(home, call)}
    tables = [table for table in find_columns(file) if id(table.creation.call) in own] if own else []
    around = [*_readers(file), *_policies(file)] if tables else []
    layers = []
    for table in tables:
        call, name = table.creation.call, table.creation.target_function
        kept = [one for one in table.blockers if one.key != "no-reader"]
        describe(file, table)
        layer = Layer(call, table.label, table.creation.column, {}, kind=COLUMN, blockers=[*kept, *around])
        layer.rows_text, layer.readers = table.creation.rows_text, table.readers
        layer.arguments = bind(call, COLUMNS[f"feature_column.{name}"][0]) or {}
        if name != COLUMN.name:
            layer.blockers.append(blocker(call, RULE, "eager-shared"))
        elif len(kept) != len(table.blockers):
            layer.blockers.append(blocker(file.tree.module_of(call), RULE, "no-reader-of-keras"))
        layers.append(layer)
    return layers


def _readers(file: File) -> Iterator[Blocker]:
    """Yield blockers for layers that give variables another form, or look rows up where no gradient leaves."""
    for call, _ in file.calls(*KERAS_READERS):
        for arg in call.args:
            if (word := keyword(arg)) in _OF_VARIABLES:
                yield blocker(arg, RULE, "other-variables", word=word)
        layer = replace(layer_without_arguments(file, call, followed=True), kind=COLUMN)
        check_places(file, layer)
        yield from layer.blockers


def _policies(file: File) -> Iterator[Blocker]:
    """Yield blockers where layers compute in another type: it rounds the rows of a variable before they are pooled."""
    for call in file.tree.calls:
        if last_name(call.func) in POLICIES and not (call.args and string(call.args[0].value) == "float32"):
            yield blocker(call, RULE, "other-policy", text=file.tree.one_line(call))
