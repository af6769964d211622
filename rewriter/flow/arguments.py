"""Names and types of the inputs and outputs of an op, from its definition."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rewriter import _tf_private

#: Integer inputs that give the form of a result or a number of steps; all other integers select from another input.
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


def picks_by(node: Any, number: int, given: int) -> bool:
    """Whether an input of an op holds integers that select parts of the one at `given`; also if the op is unknown.

    Inputs that share the attribute of their type are peers, ids among them: a concatenation selects nothing.
    """
    arguments = _tf_private.arguments_of(node)
    if arguments is None or max(number, given) >= len(arguments):
        return True
    name, kind, attribute = arguments[number]
    peers = attribute != "" and attribute == arguments[given][2]
    return bool(kind) and tf.as_dtype(kind).base_dtype.is_integer and name not in SHAPING and not peers
