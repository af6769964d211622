"""What the anchor of a table knows of the variable that the table replaced in a rewritten graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class ReplacedVariable:
    """Programs that find the anchor in a collection fetch, assign and load it as they did the variable.

    `shape` is the variable's, `slots` are the names of its slot variables, and `rows` the current rows in that shape.
    `names` and `slot_names` are those of its parts, and of those of each slot, in a checkpoint of all variables.
    The op `loaded` sets the rows to what `placeholder` is fed with. `layout` returns what a checkpoint says of the rows
    (`runtime.checkpoint.row_layout`), given the names there of the variable's parts, and of those of each slot.
    """

    shape: tuple[int, ...]
    slots: tuple[str, ...]
    rows: tf.Tensor
    placeholder: tf.Tensor
    loaded: tf.Operation
    layout: Callable[[Sequence[str], Sequence[Sequence[str]]], str]
    names: tuple[str, ...]
    slot_names: tuple[tuple[str, ...], ...]
