"""Which embeddings become tables, and why others stay dense variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Place
from migrate.source.paddle.abstract.values import Described, Layer, Value

EMBEDDING = "paddle.nn.Embedding"
#: Optimizers that move every row at every step, in a way that tables have no exact form of.
_ALL_ROWS = tuple(f"paddle.optimizer.{name}" for name in ("AdamW", "RMSProp", "Adadelta", "Adamax", "Lamb"))
_MOMENTUM = "paddle.optimizer.Momentum"  #: a table makes up for steps without a gradient, at one rate


@dataclass(frozen=True)
class Embedding:
    """One embedding of the model."""

    path: str  #: its place in the model; empty if no layer holds it
    layer: Layer
    dense: str  #: why it stays a dense variable; empty for a table


def embeddings(program: Program) -> list[Embedding]:
    """Return the embeddings of a program, in order of creation."""
    paths = {id(layer): path for path, layer in named_layers(program.model)} if program.model is not None else {}
    return [
        Embedding(paths.get(id(layer), ""), layer, _reason(program, layer))
        for layer in program.run.made
        if isinstance(layer, Layer) and layer.name == EMBEDDING
    ]


def dense_places(program: Program) -> Mapping[Place, str]:
    """Return where embeddings are made that stay dense -> why."""
    return {(one.layer.path, one.layer.span): one.dense for one in embeddings(program) if one.dense}


def table_places(program: Program) -> frozenset[Place]:
    """Return where embeddings are made that become tables."""
    dense = dense_places(program)
    return frozenset((one.layer.path, one.layer.span) for one in embeddings(program)) - dense.keys()


def _reason(program: Program, layer: Layer) -> str:
    if layer.whole_reads:
        path, span = layer.whole_reads[0]
        return f"its whole matrix is read at {path}:{span[0]}"
    optimizer = program.optimizer
    for one in optimizer if isinstance(optimizer, list | tuple) else [optimizer]:
        if isinstance(one, Described) and one.name in _ALL_ROWS:
            return f"`{one.name.rpartition('.')[2]}` moves every row at every step"
        if isinstance(one, Described) and one.name == _MOMENTUM and not _is_number(one.arguments.get("learning_rate")):
            return "`Momentum` moves every row at every step, by a rate that changes"
        if isinstance(one, Described) and _decays(one.arguments.get("weight_decay")):
            return "the optimizer's weight decay changes every row at every step"
    attr = layer.arguments.get("weight_attr")
    if isinstance(attr, Described) and _decays(attr.arguments.get("regularizer")):
        return "its regularizer changes every row at every step"
    return ""


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float)


def _decays(value: Value) -> bool:
    if isinstance(value, Described):
        return bool(value.arguments.get("coeff"))
    return _is_number(value) and value != 0
