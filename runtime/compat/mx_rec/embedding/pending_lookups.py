"""Lookups of a graph that wait for others: as data, which the state of the graph keeps."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

__all__ = ["Joint", "Standing"]


@dataclasses.dataclass(frozen=True)
class Standing:
    """A lookup that is not built yet: what it was given, and the tensor that stands for its rows."""

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
    #: What the lookup reads: the ids [n] of all, and what those without a row give [n, dim], where any is told.
    ids: tf.Tensor
    default: tf.Tensor | None
    rows: tf.Tensor
    #: Of each: its ids [m], its default, and the identity of its part of the rows [m, dim].
    parts: list[tuple[tf.Tensor, tf.Tensor | None, tf.Tensor]] = dataclasses.field(default_factory=list)
