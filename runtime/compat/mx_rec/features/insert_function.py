"""`get_asc_insert_func`: a function for `dataset.map` that says which entries of a batch are ids of which table.

In Rec SDK it sends the ids to the host. Here lookups read the batch itself, so it records where they are, and adds what
Rec SDK's function adds to the batch, so that programs find the expected structure.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.compat.mx_rec.features import batch_ids
from runtime.compat.mx_rec.features.feature_spec import FeatureSpec
from runtime.compat.mx_rec.state import ConfigInitializer, state_of

_numbers = itertools.count()


def get_asc_insert_func(
    tgt_key_specs: Any = None, args_index_list: Any = None, table_names: Any = None, **kwargs: Any
) -> Callable[..., Any]:
    """Return the function for `dataset.map` that registers the ids of `tgt_key_specs`.

    Args:
        tgt_key_specs: a FeatureSpec, or a flat list or tuple of them.
        args_index_list: instead of FeatureSpecs, the positions of the ids in the batch.
        table_names: the tables for these positions.
        kwargs: `is_training` (default True); `dump_graph` has no effect.

    Raises:
        ValueError: not exactly one of the two forms is given, a list is empty or nested, or a type is wrong.
        RuntimeError: `args_index_list` without `table_names`.
    """
    ConfigInitializer.get_instance()
    is_training = _validation.boolean("is_training", kwargs.get("is_training", True))
    _validation.boolean("dump_graph", kwargs.get("dump_graph", False))
    if (tgt_key_specs is None) == (args_index_list is None):
        raise ValueError("get_asc_insert_func takes either `tgt_key_specs`, or `args_index_list` and `table_names`")
    if tgt_key_specs is None:
        return _by_places(_places(args_index_list, table_names))
    specs = [tgt_key_specs] if isinstance(tgt_key_specs, FeatureSpec) else tgt_key_specs
    _validation.kind("tgt_key_specs", specs, (list, tuple), "a FeatureSpec or a list of them")
    if not specs:
        raise ValueError("`tgt_key_specs` is empty: give at least one FeatureSpec")
    for spec in specs:
        _validation.kind("tgt_key_specs", spec, FeatureSpec, "a FeatureSpec or a flat list of them")
    return _of_specs(list(specs), is_training)


def _places(args_index_list: Any, table_names: Any) -> list[int]:
    if table_names is None:
        raise RuntimeError("`args_index_list` needs `table_names`: give the table of each")
    for name, listed, kind in (("args_index_list", args_index_list, int), ("table_names", table_names, str)):
        _validation.kind(name, listed, list, f"a list of {kind.__name__}")
        if not listed:
            raise ValueError(f"`{name}` is empty: give at least one {kind.__name__}")
        for item in listed:
            _validation.kind(name, item, kind, f"a list of {kind.__name__}")
    if len(args_index_list) != len(table_names):
        raise ValueError("`args_index_list` and `table_names` have different lengths: give a table for each position")
    return list(args_index_list)


def _of_specs(specs: list[FeatureSpec], is_training: bool) -> Callable[..., Any]:
    @_tf_private.as_written
    def insert(*batch: Any) -> Any:
        source = _source(batch)
        held = {spec: ids_of_spec for spec in specs if (ids_of_spec := _ids_of(spec, source)) is not None}
        number = next(_numbers)
        counted = batch_ids.marked(_count(held.values()), number)
        result = _with(batch, counted)
        leaves = tf.nest.flatten(result)
        state = state_of()
        state.places[number] = {
            (spec, is_training): next(i for i, leaf in enumerate(leaves) if leaf is ids) for spec, ids in held.items()
        }
        for spec, ids in held.items():
            _note(spec, ids, is_training)
        return result

    return insert


def _note(spec: FeatureSpec, ids: tf.Tensor, is_training: bool) -> None:
    state = state_of()
    if spec.is_timestamp:
        flag = "use_timestamp_train" if is_training else "use_timestamp_eval"
        known = state.specs.setdefault(("", is_training), [])
        if is_training and known:
            raise OSError("a timestamp for training is registered already: give one FeatureSpec with is_timestamp=True")
        known.append(spec)
        setattr(FeatureSpec, flag, True)
        return
    spec.set_shape(None if ids.shape.rank is None else ids.shape.as_list())
    of_table = state.specs.setdefault((spec.table_name, is_training), [])
    if spec not in of_table:
        of_table.append(spec)
    ConfigInitializer.get_instance().feature_spec_config.insert(spec, is_training)


def _source(batch: tuple[Any, ...]) -> Any:
    """Return what contains the ids: the dict, the list before the labels, or the whole batch."""
    if len(batch) in (1, 2) and isinstance(batch[0], (dict, list, tuple)):
        return batch[0]
    return batch


def _ids_of(spec: FeatureSpec, source: Any) -> tf.Tensor | None:
    key = spec.index_key
    if isinstance(source, dict):
        if key not in source:
            if spec.is_timestamp:
                raise KeyError(f"the batch has no {key!r}, the timestamp of the FeatureSpec `{spec.name}`")
            return None
        part = source[key]
    else:
        if not isinstance(key, int) or key >= len(source):
            raise ValueError(
                f"the FeatureSpec `{spec.name}` has index_key {key!r}, but the batch has {len(source)} parts: give the "
                "position of its ids"
            )
        part = source[key]
    if not isinstance(part, tf.Tensor):
        raise TypeError(f"the batch has a {type(part).__name__} at {key!r} instead of a tensor: make the ids dense")
    if spec.is_timestamp and part.shape.rank not in (0, None):
        raise ValueError(f"the timestamp {key!r} has shape {part.shape}: it must be a scalar")
    return part


def _count(ids: Any) -> tf.Tensor:
    return tf.add_n([tf.zeros([], tf.int64), *(tf.size(one, tf.int64) for one in ids)])


def _with(batch: tuple[Any, ...], added: tf.Tensor) -> Any:
    """Return the batch with the added values, where Rec SDK puts them."""
    if len(batch) == 1 and isinstance(batch[0], dict):
        return {**batch[0], f"{max(batch[0])}_read_emb_key": added}
    if len(batch) == 1:
        return (batch[0], added)
    if len(batch) > 2:
        return (*batch, (added,))
    first, second = batch
    if isinstance(first, (list, tuple)):
        return ((*first, added), second)
    if isinstance(first, tf.Tensor):
        return ((first, added), second)
    raise OSError(
        f"a batch of two parts must begin with a tensor or a tuple of tensors, but begins with {type(first).__name__}: "
        "put the labels into the dict, too"
    )


def _by_places(places: Sequence[int]) -> Callable[..., Any]:
    @_tf_private.as_written
    def insert(*batch: Any) -> Any:
        element: Any = batch[0] if len(batch) == 1 else batch
        leaves = tf.nest.flatten(element)
        if max(places) >= len(leaves):
            raise ValueError(f"the batch has {len(leaves)} parts: `args_index_list` {list(places)} goes beyond")
        added = _count([leaves[place] for place in places])
        if isinstance(element, dict):
            return {**element, f"{max(element)}_read_emb_key": added}
        if isinstance(element, (list, tuple)):
            return (*element, added)
        raise TypeError(f"a batch that is a {type(element).__name__} cannot be extended: make it a dict or a tuple")

    return insert
