"""Lookups of a graph that wait for further lookups, as data in the state of the graph."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Standing:
    """A lookup that is not built yet: its arguments, and the placeholder for its rows."""

    table: Any
    ids: tf.Tensor
    config: dict[str, Any]
    default: tf.Tensor | None
    is_grad: bool
    rows: tf.Tensor


@dataclasses.dataclass
class Joint:
    """The lookups of a table so far."""

    config: dict[str, Any] | None
    #: Inputs of the lookup: the ids [n] of all, and default rows [n, dim] for ids without a row, if any are given.
    ids: tf.Tensor
    default: tf.Tensor | None
    rows: tf.Tensor
    #: For each lookup: its ids [m], its default, and an identity op with its part of the rows [m, dim].
    parts: list[tuple[tf.Tensor, tf.Tensor | None, tf.Tensor]] = dataclasses.field(default_factory=list)
