"""Which embeddings become tables, and why others stay dense variables: optimizers that move every row at every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Place
from migrate.source.paddle.abstract.values import Described, Layer, Value
from migrate.source.paddle.model_files import STATIC

EMBEDDING = "paddle.nn.Embedding"


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
        Embedding(paths.get(id(layer)) or _given(program, layer), layer, _reason(program, layer))
        for layer in program.run.layers
        if isinstance(layer, Layer) and layer.name == EMBEDDING
    ]


def _given(program: Program, layer: Layer) -> str:
    """Return the name that a static model gives an embedding, which is its name in the graph."""
    attr = layer.arguments.get("weight_attr")
    if program.path != STATIC or not isinstance(attr, Described) or attr.name != "paddle.ParamAttr":
        return ""
    return str(attr.arguments.get("name") or "")


def dense_places(program: Program) -> Mapping[Place, str]:
    """Return where embeddings are made that stay dense -> why."""
    return {(one.layer.path, one.layer.span): one.dense for one in embeddings(program) if one.dense}


def table_places(program: Program) -> frozenset[Place]:
    """Return where embeddings are made that become tables."""
    dense = dense_places(program)
    return frozenset((one.layer.path, one.layer.span) for one in embeddings(program)) - dense.keys()


def given_up(program: Program, unbucket: Sequence[str]) -> dict[Place, list[Place]]:
    """Return where embeddings are made whose ids give up their buckets, with where these ids are divided.

    Args:
        program: the executed program.
        unbucket: their places in the model; `all` stands for each.
    """
    wanted = [one for one in embeddings(program) if not one.dense and {"all", one.path} & {*unbucket}]
    places: dict[Place, list[Place]] = {}
    for embedding in wanted:
        layer = embedding.layer
        divided, rows = [ids.divided for ids in layer.ids], layer.arguments["num_embeddings"]
        if divided and all(known is not None and known[1] == rows for known in divided):
            places[layer.path, layer.span] = [known[0] for known in divided if known is not None]
    return places


def _reason(program: Program, layer: Layer) -> str:
    if layer.whole_reads:
        path, span = layer.whole_reads[0]
        return f"its whole matrix is read at {path}:{span[0]}"
    return every_row(program.optimizer, [layer.arguments])


_ALL_ROWS = tuple(f"paddle.optimizer.{name}" for name in ("AdamW", "RMSProp", "Adadelta", "Adamax", "Lamb"))
_MOMENTUM = "paddle.optimizer.Momentum"  #: a table makes up for steps without a gradient, at one rate


def every_row(optimizers: Value, embeddings: Iterable[Mapping[str, Value]] = ()) -> str:
    """Return why every row moves at every step, or an empty text; of embeddings, the arguments that made them."""
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
        if isinstance(optimizer, Described) and optimizer.name in _ALL_ROWS:
            return f"`{optimizer.name.rpartition('.')[2]}` moves every row at every step"
        if (
            isinstance(optimizer, Described)
            and optimizer.name == _MOMENTUM
            and not _is_number(optimizer.arguments.get("learning_rate"))
        ):
            return "`Momentum` moves every row at every step, by a rate that changes"
        if isinstance(optimizer, Described) and decays(optimizer.arguments.get("weight_decay")):
            return "the optimizer's weight decay changes every row at every step"
    for arguments in embeddings:
        attr = arguments.get("weight_attr") or arguments.get("param_attr")
        if isinstance(attr, Described) and decays(attr.arguments.get("regularizer")):
            return "its regularizer changes every row at every step"
    return ""


def decays(value: Value) -> bool:
    """Return whether a regularizer, or a number for one, changes weights."""
    if isinstance(value, Described):
        return bool(value.arguments.get("coeff"))
    return _is_number(value) and value != 0


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float))
