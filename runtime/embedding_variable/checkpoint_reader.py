"""Reads a variable in DeepRec's layout from a checkpoint, for any number of parts and with missing tensors.

The reader is a function that is traced once per process for all variables whose optimizers have equally many slots:
tracing takes half a second, which would add up in a model with hundreds of variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private

#: Number of buckets that keys are hashed to and that are assigned to parts; also the largest number of parts.
BUCKETS = 1000
#: Prefix of `keys` and the other tensor names of an increment.
INCREMENT = "sparse_incr_"
#: Tensors with the settings and the counters of Bloom filters.
BLOOM = {"bloom_filters": tf.int64, "bloom_counters": tf.uint8}
_Types = dict[str, tf.DType]


def read_parts(
    prefix: tf.Tensor, base: str, slots: Sequence[str], least: int, bloom: bool = False, increment: bool = False
) -> list[tf.Tensor]:
    """Return what the checkpoint `prefix` has for the variable `base`.

    That is: whether it exists; keys, frequencies and versions, each int64 [n], values as one vector, and their width;
    keys, frequencies and versions of waiting keys; removed keys of an increment; with `bloom`, settings and counters of
    the Bloom filters of all parts, concatenated; keys and values (as one vector) of each slot. Missing frequencies are
    `least`, missing versions -1.
    """
    function = _traced(len(slots), bloom, INCREMENT if increment else "")
    names = tf.constant(list(slots), tf.string, [len(slots)])
    with tf.device("/device:CPU:0"):
        return list(function(prefix, tf.constant(base), names, tf.constant(least, tf.int64)))


@functools.cache
def _traced(slots: int, bloom: bool, infix: str) -> Any:
    """Return the function, traced in a graph of its own, so that it keeps no other graph alive."""

    def recmigrate_read(prefix: tf.Tensor, base: tf.Tensor, names: tf.Tensor, least: tf.Tensor) -> list[tf.Tensor]:
        ids, numbers = tf.zeros([0], tf.int64), tf.zeros([0])
        counted = [ids, tf.zeros([0], tf.uint8)] if bloom else []
        none = [ids, ids, ids, numbers, tf.constant(0), ids, ids, ids, ids, *counted, *[ids, numbers] * slots]

        def load(stem: tf.Tensor) -> list[tf.Tensor]:
            return _loaded(prefix, stem, tf.unstack(names, slots), least, counted, infix)

        return _joined(base, load, none)

    text, many = tf.TensorSpec([], tf.string), tf.TensorSpec([slots], tf.string)
    with tf.Graph().as_default(), tf.device("/device:CPU:0"):
        signature = [text, text, many, tf.TensorSpec([], tf.int64)]
        return tf.function(recmigrate_read, input_signature=signature, autograph=False).get_concrete_function()


def _loaded(
    prefix: tf.Tensor,
    stem: tf.Tensor,
    slots: Sequence[tf.Tensor],
    least: tf.Tensor,
    counted: list[tf.Tensor],
    infix: str,
) -> list[tf.Tensor]:
    """Return what one stem has, with the Bloom filters `counted` if it has none; it fails if there are no rows."""
    ids, numbers = tf.zeros([0], tf.int64), tf.zeros([0])

    def types(dtype: tf.DType, *names: str) -> _Types:
        return {infix + name: dtype for name in names}

    rows = types(tf.int64, "keys") | types(tf.float32, "values")
    keys, values = _with_keys(stem, lambda base, keys: tuple(_tensors(prefix, base, rows, keys)))
    freqs, versions = _first(prefix, stem, types(tf.int64, "freqs", "versions"), [ids, ids])
    filtered = types(tf.int64, "keys_filtered", "freqs_filtered", "versions_filtered")
    waiting, counts, steps = _first(prefix, stem, filtered, [ids] * 3)
    removed = _first(prefix, stem, types(tf.int64, "removed"), [ids]) if infix else [ids]
    parts = [filled(freqs, keys, least), filled(versions, keys, -1), tf.reshape(values, [-1]), tf.shape(values)[-1]]
    if counted:
        removed += _first(prefix, stem, {infix + name: dtype for name, dtype in BLOOM.items()}, counted)
    states = [_first(prefix, tf.strings.join([stem, "/", slot]), rows, [ids, numbers]) for slot in slots]
    noted = [waiting, filled(counts, waiting, 0), filled(steps, waiting, -1)]
    return [keys, *parts, *noted, *removed, *(tensor for state in states for tensor in state)]


def _joined(base: tf.Tensor, load: Callable[[tf.Tensor], list[tf.Tensor]], none: list[tf.Tensor]) -> list[tf.Tensor]:
    """Return whether the variable `base` exists, whole or in parts, and the concatenated contents of its parts.

    Datasets are used because they can ignore an error inside a graph; the number of parts is found by trial.
    """
    absent = (tf.constant(False), *none)

    def tried(stem: tf.Tensor) -> Any:
        return _or_else(stem, lambda name: (tf.constant(True), *load(name)), absent)

    def part(number: tf.Tensor) -> tf.Tensor:
        return tf.strings.join([base, "/part_", tf.strings.as_string(number)])

    def added(before: Any, more: Any) -> tuple[tf.Tensor, ...]:
        (there, *tensors), (is_part, *others) = before, more
        both = zip(tensors, others, strict=True)
        return (there | is_part, *(tf.concat(two, 0) if two[0].shape.rank == 1 else tf.maximum(*two) for two in both))

    def there(number: tf.Tensor, read: Any) -> tf.Tensor:
        return tf.equal(number, 0) | read[0]

    as_written = _tf_private.as_written
    stems = tf.data.Dataset.from_tensors(base).concatenate(tf.data.Dataset.range(BUCKETS).map(as_written(part)))
    parts = stems.map(as_written(tried)).enumerate().take_while(as_written(there))
    return list(_plain(parts.map(as_written(lambda _, read: read))).reduce(absent, as_written(added)))


def _or_else(name: tf.Tensor, load: Callable[[tf.Tensor], Any], none: Any) -> Any:
    """Return `load(name)`, or `none` if it fails."""
    return _plain(_tried(name, load).concatenate(tf.data.Dataset.from_tensors(none)).take(1)).get_single_element()


def _with_keys(name: tf.Tensor, load: Callable[[tf.Tensor, tf.DType], Any], *none: Any) -> Any:
    """Return `load(name, dtype)` with the dtype that keys have in the file, or `none` if there are no such keys.

    Without `none` it fails then.
    """
    loaded = _tried(name, lambda stem: load(stem, tf.int64)).concatenate(
        _tried(name, lambda stem: load(stem, tf.int32))
    )
    for tensor in none:
        loaded = loaded.concatenate(tf.data.Dataset.from_tensors(tensor))
    return _plain(loaded.take(1)).get_single_element()


def _tried(name: tf.Tensor, load: Callable[[tf.Tensor], Any]) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensors(name).map(_tf_private.as_written(load)).ignore_errors()


def _plain(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Disable optimization of the dataset, which would take longer than running it."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    options.threading.private_threadpool_size = 0
    return dataset.with_options(options)


def _first(prefix: tf.Tensor, stem: tf.Tensor, parts: _Types, none: list[tf.Tensor]) -> list[tf.Tensor]:
    """Return the tensors of a stem in the checkpoint, flat, or `none` if one of them is missing."""

    def load(stem: tf.Tensor, keys: tf.DType = tf.int64) -> tuple[tf.Tensor, ...]:
        return tuple(tf.reshape(tensor, [-1]) for tensor in _tensors(prefix, stem, parts, keys))

    if any(map(_are_keys, parts)):
        return list(_with_keys(stem, load, tuple(none)))
    return list(_or_else(stem, load, tuple(none)))


def _are_keys(part: str) -> bool:
    return part.removeprefix(INCREMENT) in ("keys", "keys_filtered")


def _tensors(prefix: tf.Tensor, stem: tf.Tensor, parts: _Types, keys: tf.DType) -> Sequence[tf.Tensor]:
    """Return the tensors of a stem, in which keys have the dtype `keys`."""
    restored: Sequence[tf.Tensor] = tf.raw_ops.RestoreV2(
        prefix=prefix,
        tensor_names=tf.stack([tf.strings.join([stem, "-", part]) for part in parts]),
        shape_and_slices=[""] * len(parts),
        dtypes=[keys if _are_keys(part) else dtype for part, dtype in parts.items()],
    )
    for tensor, dtype in zip(restored, parts.values(), strict=True):
        if dtype != tf.float32:
            tensor.set_shape([None])
    return [tf.cast(tensor, dtype) for tensor, dtype in zip(restored, parts.values(), strict=True)]


def filled(numbers: tf.Tensor, keys: tf.Tensor, value: Any) -> tf.Tensor:
    """Return the values recorded for keys, or `value` for each key if there are none."""
    return tf.cond(
        tf.equal(tf.size(numbers), tf.size(keys)),
        lambda: numbers,
        lambda: tf.fill(tf.shape(keys), tf.cast(value, tf.int64)),
    )
