"""Which optimizers move every row of an embedding at every step, which tables have no exact form of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from migrate.source.paddle.abstract.values import Described, Value

_ALL_ROWS = ("paddle.optimizer.Momentum", "paddle.optimizer.AdamW")


def every_row(optimizer: Value, embeddings: Iterable[Mapping[str, Value]] = ()) -> str:
    """Return why every row moves at every step, or an empty text; of embeddings, the arguments that made them."""
    for one in optimizer if isinstance(optimizer, list | tuple) else [optimizer]:
        if isinstance(one, Described) and one.name in _ALL_ROWS:
            return f"`{one.name.rpartition('.')[2]}` moves every row at every step"
        if isinstance(one, Described) and decays(one.arguments.get("weight_decay")):
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
    return isinstance(value, int | float) and value != 0
