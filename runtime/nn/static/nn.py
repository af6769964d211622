"""Functions that make weights, or a layer where they are called, or work on sequences: `paddle.static.nn`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime.lookup.sparse import sparse_lookup
from runtime.nn.functional.activation import softmax
from runtime.nn.functional.matrix import with_bias
from runtime.nn.static.lod import LoDTensor
from runtime.nn.static.program import Program, current
from runtime.nn.static.summaries import data_norm
from runtime.nn.weights.creation import initializer_of, parameter
from runtime.nn.weights.param_attr import attribute
from runtime.nn.weights.table_weight import TableWeight

__all__ = ["continuous_value_model", "data_norm", "embedding", "fc", "sequence_pool", "sparse_embedding"]


def sparse_embedding(
    input: Any,
    size: Sequence[int],
    padding_idx: int | None = None,
    is_test: bool = False,
    entry: Any = None,
    table_class: str = "MemorySparseTable",
    param_attr: Any = None,
    dtype: Any = "float32",
    slot: int | None = None,
) -> Any:
    """Return the rows of ids from a table: [..., dim] for ids [..., 1], with the sequences of the ids.

    Args:
        input: int64 ids whose last size is 1.
        size: expected number of ids, and values per row.
        padding_idx: an id that reads zeros and is not trained.
        is_test: whether unknown ids get no row; also where the program evaluates.
        entry: which ids get a row, one of `runtime.nn.static`.
        table_class: has no effect.
        param_attr: how rows begin and train; a table of the same name is the same.
        dtype: float32.
        slot: has no effect.

    Raises:
        ValueError: the last size of the ids is not 1, or `size` or the dtype is not supported.
    """
    del table_class, slot
    ids = _ids(input)
    if ids.shape.rank is None or ids.shape.rank < 2 or ids.shape[-1] != 1:
        raise ValueError(f"sparse_embedding got ids of shape {ids.shape}: their last size must be 1")
    if tf.as_dtype(dtype) != tf.float32:
        raise ValueError(f"sparse_embedding got dtype={dtype!r}: rows of tables are float32")
    rows = _looked_up(ids[..., 0], size, padding_idx, param_attr, is_test, "sparse_embedding", entry)
    return _like(input, rows)


def embedding(
    input: Any,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Return the rows of ids from a table: [..., dim] for ids [...], with the sequences of the ids.

    Args:
        input: int64 ids.
        size: expected number of ids, and values per row.
        is_sparse: Paddle's choice of the form of gradients.
        is_distributed: has no effect.
        padding_idx: an id that reads zeros and is not trained.
        param_attr: how rows begin and train; a table of the same name is the same.
        dtype: float32.

    Raises:
        ValueError: `size` or the dtype is not supported.
    """
    del is_distributed
    if tf.as_dtype(dtype) != tf.float32:
        raise ValueError(f"embedding got dtype={dtype!r}: rows of tables are float32")
    rows = _looked_up(_ids(input), size, padding_idx, param_attr, False, "embedding", None, is_sparse)
    return _like(input, rows)


def _ids(ids: Any) -> tf.Tensor:
    return tf.convert_to_tensor(ids)


def _like(like: Any, values: tf.Tensor) -> Any:
    return like.with_values(values) if isinstance(like, LoDTensor) else values


def _looked_up(
    ids: tf.Tensor,
    size: Sequence[int],
    padding_idx: int | None,
    param_attr: Any,
    is_test: bool,
    kind: str,
    entry: Any,
    sparse: bool = True,
) -> tf.Tensor:
    program = current()
    if program is None:
        raise ValueError(f"{kind} makes a weight, which a program holds: build it in `with nn.static.Program():`")
    rows, dim = (int(one) for one in size)
    padding = padding_idx if padding_idx is None or padding_idx >= 0 else rows + padding_idx
    weight = _table(program, (rows, dim), param_attr, padding, kind, sparse)
    trains = program.training and not is_test
    config = None if entry is None else entry.config
    embedded = sparse_lookup(
        weight.table, ids, is_train=trains, is_grad=weight.trainable, access_and_evict_config=config
    )
    if padding is None:
        return embedded
    return tf.where(tf.equal(ids, tf.cast(padding, ids.dtype))[..., tf.newaxis], tf.zeros([], embedded.dtype), embedded)


def _table(
    program: Program, shape: tuple[int, int], param_attr: Any, padding: int | None, kind: str, sparse: bool
) -> TableWeight:
    settings = attribute(param_attr)
    own = f"{program.numbered(kind)}.w_0"  # Paddle counts those that have another name, too
    known = program.weights.get(settings.name or "")
    if isinstance(known, TableWeight):
        if known.declared_shape != shape:
            raise ValueError(
                f"two layers have a weight named `{settings.name}`, of the shapes {list(known.declared_shape)} and "
                f"{list(shape)}: give them one shape, or two names"
            )
        return known
    weight = TableWeight(shape, initializer_of(settings), settings, padding)
    weight.sparse = sparse
    program.hold(weight, settings.name or own)
    return weight


def sequence_pool(input: Any, pool_type: str, is_test: bool = False, pad_value: float = 0.0) -> tf.Tensor:
    """Return one row for each sequence: [sequences, …].

    Args:
        input: sequences of items [...].
        pool_type: "sum", "average", "sqrt" (the sum by the root of the length), "max", "first" or "last".
        is_test: has no effect.
        pad_value: all values of a sequence without items.

    Raises:
        ValueError: the input has no sequences, or the type is something else.
    """
    del is_test
    if not isinstance(input, LoDTensor):
        raise ValueError(f"sequence_pool got {input!r}, which has no sequences: give what a lookup returned")
    pool = _POOLS.get(pool_type.lower())
    if pool is None:
        raise ValueError(f"sequence_pool got pool_type={pool_type!r}: give one of {', '.join(_POOLS)}")
    lengths = input.row_splits[1:] - input.row_splits[:-1]
    pooled = pool(input, lengths)
    pooled.set_shape([None, *input.shape[1:]])
    return tf.where(_column(lengths, pooled) > 0, pooled, tf.cast(pad_value, pooled.dtype))


def _column(lengths: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    return tf.reshape(lengths, [-1] + [1] * (int(like.shape.rank) - 1))


def _owners(input: LoDTensor, lengths: tf.Tensor) -> tf.Tensor:
    return tf.repeat(tf.range(tf.size(lengths)), lengths)


def _sum(input: LoDTensor, lengths: tf.Tensor) -> tf.Tensor:
    return tf.math.unsorted_segment_sum(input.values, _owners(input, lengths), tf.size(lengths))


def _average(input: LoDTensor, lengths: tf.Tensor) -> tf.Tensor:
    total = _sum(input, lengths)
    return total / tf.cast(tf.maximum(_column(lengths, total), 1), total.dtype)


def _sqrt(input: LoDTensor, lengths: tf.Tensor) -> tf.Tensor:
    total = _sum(input, lengths)
    return total / tf.sqrt(tf.cast(tf.maximum(_column(lengths, total), 1), total.dtype))


def _max(input: LoDTensor, lengths: tf.Tensor) -> tf.Tensor:
    """The gradient goes to the first of equal items, as in Paddle; TensorFlow's segments would share it."""
    values, owners = input.values, _owners(input, lengths)
    most = tf.math.unsorted_segment_max(tf.stop_gradient(values), owners, tf.size(lengths))
    place = tf.cast(tf.reshape(tf.range(tf.shape(values)[0]), [-1] + [1] * (int(values.shape.rank) - 1)), tf.int32)
    place = place + tf.zeros_like(values, tf.int32)
    candidates = tf.where(tf.equal(values, tf.gather(most, owners)), place, tf.int32.max)
    first = tf.math.unsorted_segment_min(candidates, owners, tf.size(lengths))
    chosen = tf.equal(place, tf.gather(first, owners))
    return tf.math.unsorted_segment_sum(tf.where(chosen, values, tf.zeros_like(values)), owners, tf.size(lengths))


def _at(input: LoDTensor, lengths: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Return the items at places, zeros for sequences without items."""
    sizes = tf.shape(input.values)
    padded = tf.concat([input.values, tf.zeros(tf.concat([[1], sizes[1:]], 0), input.dtype)], 0)
    return tf.gather(padded, tf.where(lengths > 0, places, tf.cast(sizes[0], tf.int64)))


def _first(input: LoDTensor, lengths: tf.Tensor) -> tf.Tensor:
    return _at(input, lengths, input.row_splits[:-1])


def _last(input: LoDTensor, lengths: tf.Tensor) -> tf.Tensor:
    return _at(input, lengths, input.row_splits[1:] - 1)


_POOLS: dict[str, Callable[[LoDTensor, tf.Tensor], tf.Tensor]] = {
    "sum": _sum,
    "average": _average,
    "sqrt": _sqrt,
    "max": _max,
    "last": _last,
    "first": _first,
}


def continuous_value_model(input: Any, cvm: Any, use_cvm: bool = True) -> Any:
    """Return rows whose first two values are counts of shows and clicks: as logarithms, or without them.

    Args:
        input: [n, d] rows.
        cvm: [n, 2] shows and clicks of the n samples; the gradient of the first two values of a row is these counts.
        use_cvm: whether the result is [n, d] with log(shows + 1) and log(clicks + 1) - log(shows + 1) in front, or
            [n, d - 2].
    """
    counts = tf.stop_gradient(tf.convert_to_tensor(cvm))

    def computed(rows: tf.Tensor) -> Any:
        shows, clicks = tf.math.log(rows[:, :1] + 1), tf.math.log(rows[:, 1:2] + 1)
        result = tf.concat([shows, clicks - shows, rows[:, 2:]], 1) if use_cvm else rows[:, 2:]
        return result, lambda above: tf.concat([counts, above[:, 2:] if use_cvm else above], 1)

    return _like(input, tf.custom_gradient(computed)(tf.convert_to_tensor(input)))


_ACTIVATIONS: dict[str | None, Any] = {
    None: tf.identity,
    "relu": tf.nn.relu,
    "sigmoid": tf.sigmoid,
    "tanh": tf.tanh,
    "softmax": softmax,
}


def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return x times a weight, plus a bias: [..., size].

    Args:
        x: a tensor, of which all sizes from `num_flatten_dims` on are known and count as one.
        size: number of values of the result.
        num_flatten_dims: how many sizes the result keeps.
        weight_attr: of the weight [product of the sizes, size].
        bias_attr: of the bias; False: there is none.
        activation: "relu", "sigmoid", "tanh", "softmax" or None.
        name: begin of the weights' names, `fc_0` by default.

    Raises:
        ValueError: there is no program, a size is not known, or the activation is another one.
    """
    program, x = current(), tf.convert_to_tensor(x)
    if program is None:
        raise ValueError("fc makes weights, which a program holds: build it in `with nn.static.Program():`")
    inner = x.shape[num_flatten_dims:].as_list()
    if None in inner:
        raise ValueError(f"fc got the shape {x.shape}: the sizes from dimension {num_flatten_dims} on must be known")
    if activation not in _ACTIVATIONS:
        raise ValueError(f"fc got activation={activation!r}: give relu, sigmoid, tanh, softmax or None")
    kind = name or program.numbered("fc")
    flat = tf.reshape(x, [-1, math.prod(inner)])
    weight = _held(program, parameter([math.prod(inner), int(size)], weight_attr), f"{kind}.w_0")
    bias = _held(program, parameter([int(size)], bias_attr, is_bias=True), f"{kind}.b_0")
    result = tf.matmul(flat, weight.variable)
    result = result if bias is None else with_bias(result, bias.variable)
    outer = tf.shape(x)[:num_flatten_dims]
    shaped = tf.reshape(result, tf.concat([outer, [size]], 0))
    shaped.set_shape([*x.shape[:num_flatten_dims], size])
    return _ACTIVATIONS[activation](shaped)


def _held(program: Program, weight: Any, name: str) -> Any:
    if weight is not None:
        program.hold(weight, weight.attr.name or name)
    return weight
