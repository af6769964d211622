"""Which optimizers move every row of an embedding at every step, which tables have no exact form of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from migrate.source.paddle.abstract.values import Described, Value

_ALL_ROWS = tuple(f"paddle.optimizer.{name}" for name in ("AdamW", "RMSProp", "Adadelta", "Adamax", "Lamb"))
_MOMENTUM = "paddle.optimizer.Momentum"  #: a table makes up for steps without a gradient, at one rate


def every_row(optimizer: Value, embeddings: Iterable[Mapping[str, Value]] = ()) -> str:
    """Return why every row moves at every step, or an empty text; of embeddings, the arguments that made them."""
    for one in optimizer if isinstance(optimizer, list | tuple) else [optimizer]:
        if isinstance(one, Described) and one.name in _ALL_ROWS:
            return f"`{one.name.rpartition('.')[2]}` moves every row at every step"
        if isinstance(one, Described) and one.name == _MOMENTUM and not _is_number(one.arguments.get("learning_rate")):
            return "`Momentum` moves every row at every step, by a rate that changes"
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
    return _is_number(value) and value != 0


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float)
