"""What the public functions say about None, wrong types, ranks and numbers: one sentence that names the thing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import optimizers
from tests.support.runtime.tables import make_table, session

_PAIR = "tables_and_ids` must be a list of pairs (table, ids)"
_LOOKUPS = "`lookups`: got None, must be a list of"
_NO_TABLE = "got None, must be a table made by create_table"


def _slices(indices: Any, values: Any) -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.constant(values), tf.constant(indices))


def _apply(*pairs: Any) -> Any:
    return optimizers.adagrad.create_hash_optimizer(0.1).apply_gradients(list(pairs))


def _gradient(indices: Any, values: Any) -> Callable[[runtime.Table], Any]:
    return lambda table: _apply((_slices(indices, values), table.variable))


def _pooled(**given: Any) -> Callable[[runtime.Table], Any]:
    return lambda table: runtime.embedding_lookup_sparse(table, tf.sparse.from_dense([[1, 2], [0, 3]]), **given)


def _rate(rate: Any) -> Callable[[runtime.Table], Any]:
    optimizer = optimizers.adagrad.create_hash_optimizer(rate)
    return lambda table: optimizer.apply_gradients([(_slices([1], [[0.0] * 4]), table.variable)])


_CASES: list[tuple[Callable[[runtime.Table], Any], str]] = [
    (lambda table: runtime.sparse_lookup(None, [1]), _NO_TABLE),
    (lambda table: runtime.sparse_lookup(table, None), "`ids`: got None, must be an int32 or int64 tensor"),
    (lambda table: runtime.sparse_lookup(table, [1.5]), "the ids of the table `user` are float32"),
    (lambda table: runtime.sparse_lookup(table, [1], access_and_evict_config=3), "`access_and_evict_config`: got 3"),
    (lambda table: runtime.grouped_lookup(None), "`tables_and_ids`: got None, must be a list of pairs (table, ids)"),
    (lambda table: runtime.grouped_lookup(5), "`tables_and_ids`: got 5"),
    (lambda table: runtime.grouped_lookup([]), "nothing to look up"),
    (lambda table: runtime.grouped_lookup([(table,)]), _PAIR),
    (lambda table: runtime.grouped_lookup([table]), _PAIR),
    (lambda table: runtime.grouped_lookup([(None, [1])]), _NO_TABLE),
    (lambda table: runtime.grouped_lookup([(table, [1])], name=3), "`name` is not str: got 3"),
    (lambda table: runtime.grouped_embedding_lookup_sparse(None), _LOOKUPS),
    (lambda table: runtime.grouped_embedding_lookup_sparse([]), "nothing to look up"),
    (lambda table: runtime.grouped_embedding_lookup_sparse([(table,)]), "takes (table, ids) or (table, ids, weights)"),
    (lambda table: runtime.grouped_safe_embedding_lookup_sparse(None), _LOOKUPS),
    (lambda table: runtime.embedding_lookup_sparse(None, None), _NO_TABLE),
    (lambda table: runtime.embedding_lookup_sparse(table, None), "the ids of the table `user` are NoneType"),
    (lambda table: runtime.safe_embedding_lookup_sparse(table, [1]), "the ids of the table `user` are list"),
    (_pooled(max_norm="a"), "`max_norm` 'a' of the table `user` must be"),
    (_pooled(max_norm=float("nan")), "`max_norm` nan of the table `user`"),
    (_pooled(max_norm=[1.0, 2.0]), "`max_norm` [1.0, 2.0] of the table `user`"),
    (_pooled(max_norm=1j), "`max_norm` 1j of the table `user`"),
    (_pooled(max_norm=object()), "of the table `user` must be None or a real scalar"),
    (_pooled(combiner="max"), "combiner must be one of"),
    (_pooled(name=3), "`name` is not str: got 3"),
    (_pooled(sp_weights=tf.sparse.from_dense([["a", "b"], ["", "c"]])), "the weights for the table `user` are string"),
    (lambda table: runtime.evict_by_age(None), _NO_TABLE),
    (lambda table: runtime.evict_by_age(table, "a"), "must be an integer scalar: got 'a'"),
    (lambda table: runtime.evict_by_step(None, 1), _NO_TABLE),
    (lambda table: runtime.evict_by_step(table, None), "`steps_to_live`: got None"),
    (lambda table: runtime.evict_by_norm(None, 1.0), _NO_TABLE),
    (lambda table: runtime.evict_by_norm(table, float("nan")), "`l2_weight_threshold` is not a number"),
    (lambda table: runtime.set_threshold(None, 1), _NO_TABLE),
    (lambda table: runtime.set_threshold(table, None), "`threshold`: got None"),
    (lambda table: runtime.CountingBloom(None), "`max_element_size`: got None"),  # type: ignore[arg-type]
    (lambda table: runtime.EvictHook(None), "`evict_enable`: got None"),  # type: ignore[arg-type]
    (lambda table: runtime.column_blocks(None), "`blocks`: got None, must be a list of pairs (width, initializer)"),  # type: ignore[arg-type]
    (lambda table: runtime.column_blocks([(2,)]), "`blocks` must be a list of pairs"),  # type: ignore[list-item]
    (lambda table: runtime.tables(3), "`graph`: got 3, must be a tf.Graph or None"),
    (lambda table: runtime.init(max_steps="a"), "`max_steps`: got 'a', must be an int"),
    (lambda table: runtime.create_table(None, 4, "other", None), "`key_dtype` must be tf.int64 or tf.int32"),
    (lambda table: make_table("other", dim=None), "`dim`: got None, must be an int"),  # type: ignore[arg-type]
    (lambda table: make_table("other", initializer=tf.random_normal_initializer(mean="a")), "a Python number: got 'a'"),
    (lambda table: table.import_rows(None, None), "`keys` of rows for the table `user` are None"),
    (lambda table: table.import_rows([1], None), "`values` of rows for the table `user` are None"),
    (lambda table: table.import_rows([1], [["a"] * 4]), "`values` of rows for the table `user` are"),
    (lambda table: table.import_rows([1.5], np.ones((1, 4))), "`keys` of rows for the table `user` are float32"),
    (lambda table: optimizers.adagrad.create_hash_optimizer(None), "`learning_rate` is not float: got None"),
    (_rate(lambda: None), "`learning_rate` must be a real scalar: got None"),
    (lambda table: optimizers.ftrl.create_hash_optimizer(None), "`learning_rate` is not float: got None"),
    (lambda table: optimizers.adagrad_decay.create_hash_optimizer(0.1, None), "`global_step` must be an integer"),
    (lambda table: optimizers.adagrad.create_hash_optimizer(0.1).apply_gradients(None), "`grads_and_vars`: got None"),
    (lambda table: optimizers.adagrad_by_addr.create_hash_optimizer_by_addr(0.1).apply_gradients(None), "got None"),
    (lambda table: _apply(), "Adagrad has nothing to apply"),
    (lambda table: _apply((1, 2, 3)), "`grads_and_vars` must be a list of pairs (gradient, table.variable)"),
    (lambda table: _apply(table.variable), "`grads_and_vars` must be a list of pairs (gradient, table.variable)"),
    (lambda table: _apply((None, None)), "Adagrad updates tables, and `None` is not one"),
    (lambda table: _apply((None, table.variable)), "no gradient for any table of ['user']"),
    (lambda table: _apply((_slices([1], [[0.0] * 4]), table)), "the table `user` itself: give its variable"),
    (lambda table: _apply((tf.ones([1, 4]), table.variable)), "the gradient of the table `user` is no longer"),
    (_gradient([1.0], [[0.0] * 4]), "the indices of the gradient of the table `user` are float32"),
    (_gradient([[1]], [[0.0] * 4]), "the indices of the gradient of the table `user` are int32 of shape (1, 1)"),
    (_gradient([1], [[1j] * 4]), "the values of the gradient of the table `user` are complex128"),
    (_gradient([1], [[0.0] * 3]), "float32 of shape (1, 3): they must be floats of shape [1, 4]"),
    (_gradient([1, 2], [[0.0] * 4]), "they must be floats of shape [2, 4]"),
    (
        lambda table: optimizers.adam.create_hash_optimizer().apply_gradients(
            [(_slices([1], [[0.0] * 4]), table.variable)], global_step=3
        ),
        "`global_step` must be an integer scalar variable or None: got 3",
    ),
    (
        lambda table: optimizers.adam.create_hash_optimizer().minimize(lambda: tf.constant(1.0), var_list=[table]),
        "the table `user` itself: give its variable, table.variable",
    ),
]


@pytest.mark.parametrize("case", range(len(_CASES)))
def test_the_message_names_the_thing(case: int) -> None:
    call, message = _CASES[case]
    with pytest.raises((ValueError, TypeError, RuntimeError), match=re.escape(message)):
        call(make_table())


@pytest.mark.usefixtures("graph")
def test_an_update_that_fits_no_table_when_it_runs_names_the_table() -> None:
    table = make_table()
    values, keys = tf.compat.v1.placeholder(tf.float32), tf.compat.v1.placeholder(tf.int64)
    train = _apply((tf.IndexedSlices(values, keys), table.variable))
    with session() as opened:
        for given, wrong in (([[0.0] * 3], "grads has shape [1, 3]; it must be [1, 4]"), ([[0.0] * 4] * 2, "[2, 4]")):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="the update of table 'user' does not fit"
            ) as raised:
                opened.run(train, {values: given, keys: [1]})
            assert wrong in str(raised.value)
