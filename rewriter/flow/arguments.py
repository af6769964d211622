"""What the inputs of an op are, by its definition: their names and types; and what its outputs are."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rewriter import _tf_private

__all__ = ["picks_by", "writes"]

#: Integers that say of what form a result is, or how many steps there are; all others pick parts of another input.
SHAPING = frozenset(
    {
        *("shape", "dims", "multiples", "axis", "axes", "dim", "dimension", "perm", "paddings", "output_shape"),
        *("reduction_indices", "reduction_axes", "concat_dim", "split_dim", "size_splits", "num_segments", "num"),
        *("input_sizes", "filter_sizes", "ksize", "block_shape", "crops", "element_shape", "num_elements"),
        *("seq_len_max", "sequence_length", "sequence_lengths", "seq_lengths", "shift", "size", "k", "group_size"),
        *("group_key", "instance_key", "seed", "num_lower", "num_upper", "num_rows"),
        *("num_cols", "orig_input_shape", "dense_shape"),
    }
)


def picks_by(node: Any, number: int) -> bool:
    """Whether an input of an op is integers that pick parts of its other inputs; so does one that nobody knows."""
    arguments = _tf_private.arguments_of(node)
    if arguments is None or number >= len(arguments):
        return True
    name, kind = arguments[number]
    return bool(kind) and tf.as_dtype(kind).base_dtype.is_integer and name not in SHAPING


def writes(node: Any) -> bool:
    """Whether an op changes a variable in its place: it gives the variable again, or nothing."""
    return _tf_private.writes_in_place(node)
