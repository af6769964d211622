"""Ids that a program divides by the number of an embedding's rows: with `unbucket`, each of them gets a row of its own.

The tensor of the remainders knows what was divided, and so does what picks or shapes them. An embedding that is called
with such ids looks up what was divided instead; a row begins as that of its bucket, which is its base.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn import functional
from runtime.nn.embedding import Embedding
from runtime.nn.weights.divided_ids import Divided, divided, note
from runtime.nn.weights.table_weight import TableWeight
from runtime.policy.base import set_base

__all__ = ["frees", "methods", "require_alike", "through"]

_log = logging.getLogger(__name__)
_REMAINDERS = (functional.mod, functional.operators.mod)
#: Functions that pick or shape ids, which are their first argument.
_HANDS_ON = (
    *(functional.reshape, functional.squeeze, functional.unsqueeze, functional.flatten, functional.transpose),
    *(functional.cast, functional.getitem, functional.tile, functional.expand, functional.concat, functional.stack),
)


def through(function: Callable[..., Any], *positional: Any, **named: Any) -> Any:
    """Call a function of `runtime.nn.functional`; where ids come out of it, note what they were before a division."""
    result = function(*positional, **named)
    if isinstance(result, tf.Tensor) and result.dtype == tf.int64 and tf.executing_eagerly():
        of = _divided(function, positional, named)
        if of is not None and of.ids.shape == result.shape:
            note(result, of)
    return result


def _divided(function: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any]) -> Divided | None:
    if function in _REMAINDERS:
        x, y = (*positional, *(named[name] for name in ("x", "y") if name in named))[:2]
        whole = np.size(y) == 1 and np.asarray(y).dtype.kind in "iu" and int(y) > 0
        return Divided(x, int(y)) if whole and isinstance(x, tf.Tensor) and x.dtype == tf.int64 else None
    if function not in _HANDS_ON or not positional:
        return None
    ids, *others = positional
    several = ids if isinstance(ids, list | tuple) else [ids]
    parts = [ids for ids in map(divided, several) if ids is not None]
    if not parts or len(parts) < len(several) or len({one.buckets for one in parts}) > 1:
        return None
    wide = [one.ids for one in parts] if isinstance(ids, list | tuple) else parts[0].ids
    return Divided(function(wide, *others, **named), parts[0].buckets)


def frees(weight: TableWeight) -> bool:
    """Whether the ids of a table have rows of their own, as far as that is known: before the first lookup, they may."""
    return weight.rules.buckets is not None and weight.gives_up is not False


def require_alike(layer: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Say at the first call of an embedding whether its ids give up their buckets.

    Raises:
        ValueError: it got ids of the other kind before.
    """
    weight = layer.weight if isinstance(layer, Embedding) else None
    if not isinstance(weight, TableWeight) or weight.rules.buckets is None:
        return
    of, rows = divided(inputs[0] if inputs else named.get("x")), weight.rules.buckets.rows
    gives_up = of is not None and of.buckets == rows
    if weight.gives_up is None:
        weight.gives_up = gives_up
        _log.info(
            f"the embedding `%s` gives up the {rows} buckets of its ids"
            if gives_up
            else f"the embedding `%s` keeps its {rows} rows, because the program does not divide int64 ids by that "
            "number in front of it",
            weight.name,
        )
    if weight.gives_up != gives_up:
        raise ValueError(
            f"the embedding `{weight.name}` gets ids that are divided by its {rows} rows, and others: divide both in "
            "the same way, or run the program without unbucket"
        )


def methods() -> Iterator[tuple[type, str, Any]]:
    """Yield what weights have with `unbucket`: the class, the name, and the method."""
    begin, build = TableWeight.__init__, TableWeight.build

    def begun(self: TableWeight, *positional: Any, **named: Any) -> None:
        begin(self, *positional, **named)
        if self.rules.buckets is None:
            self.rules = dataclasses.replace(self.rules, base_buckets=self.declared_shape[0])

    def built(self: TableWeight, name: str) -> None:
        """Create the table, whose base are the rows that the embedding of Paddle begins with."""
        if not self.built:
            build(self, name)
            set_base(self.table, self.rows(tf.range(self.declared_shape[0], dtype=tf.int64), training=False))

    yield TableWeight, "__init__", begun
    yield TableWeight, "build", built
