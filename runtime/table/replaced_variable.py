"""What the anchor of a table knows of the variable that the table replaced in a rewritten graph."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

__all__ = ["ReplacedVariable"]


@dataclass(frozen=True)
class ReplacedVariable:
    """Programs that find the anchor in a collection fetch, assign and load it as they did the variable.

    `shape` is the variable's, `slots` are the names of its slot variables, and `rows` the current rows in that shape.
    The op `loaded` sets the rows to those that `given` is fed with.
    """

    shape: tuple[int, ...]
    slots: tuple[str, ...]
    rows: tf.Tensor
    given: tf.Tensor
    loaded: tf.Operation
