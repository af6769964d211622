"""Arguments of the public functions are read, kept as written under `tf.function`, or refused by one sentence."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
import runtime.optimizers
from runtime import optimizers, ranks
from runtime.keras import Embedding
from runtime.table import arguments
from tests.support.runtime.tables import make_table, session
from tests.support.runtime.unread import unread

_MODULES = (
    "runtime",
    "runtime.checkpoint",
    "runtime.feature_column",
    "runtime.keras",
    "runtime.optimizers",
    "runtime.ranks",
    "runtime.ranks.checkpoint",
    *(
        f"runtime.optimizers.{one.name}"
        for one in pkgutil.iter_modules(runtime.optimizers.__path__)
        if one.name[0] != "_"
    ),
)
#: What TensorFlow and Keras give to all hooks, callbacks and layers.
_GIVEN = {"coord", "run_context", "logs", "epoch", "input_shape", "mask", "training"}
#: Abstract methods, and the engine of one rank alone, which sends nothing.
_OF_OTHERS = ("Engine.",)
#: Their documentation says that they are accepted: what they choose between is one here.
_ACCEPTED = {
    "runtime.optimizers.adam.create_hash_optimizer": {"use_locking"},
}
#: Another of its kind reads it.
_OF_THE_KIND = {"runtime.optimizers.deeprec.AdagradDecayOptimizer.table_form": {"variable"}}


def _public(module: ModuleType) -> Iterator[str]:
    yield from getattr(module, "__all__", ())
    for name, one in vars(module).items() if not hasattr(module, "__all__") else ():
        if not name.startswith("_") and getattr(one, "__module__", "") == module.__name__:
            yield name


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in map(importlib.import_module, _MODULES):
        for name in _public(module):
            one = getattr(module, name)
            if inspect.isfunction(one):
                yield f"{module.__name__}.{name}", one
            for method, function in vars(one).items() if inspect.isclass(one) else ():
                if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                    yield f"{module.__name__}.{name}.{method}", function


def test_no_argument_is_dropped_without_a_word() -> None:
    written = [
        (name, function)
        for name, function in _functions()
        if function.__annotations__.get("return") != "NoReturn"  # it refuses the call, whatever it is given
    ]
    assert len(written) > 140
    assert {name for name, _ in written if name.endswith(".create_hash_optimizer")} >= _ACCEPTED.keys() - {
        "runtime.embedding_lookup_sparse",
        "runtime.safe_embedding_lookup_sparse",
    }
    dropped = {
        name: ignored
        for name, function in written
        if function.__module__.startswith("runtime") and not any(f".{one}" in name for one in _OF_OTHERS)
        if (ignored := unread(function) - _GIVEN)
    }
    assert dropped == _ACCEPTED | _OF_THE_KIND
    for name, function in written:
        for argument in _ACCEPTED.get(name, ()):
            assert argument in str(function.__doc__), (name, argument)


#: Another value than the default, and what it needs besides.
_GIVEN_TO_A_TABLE: dict[str, dict[str, Any]] = {
    "key_dtype": {"key_dtype": tf.int32},
    "dim": {"dim": 3},
    "name": {"name": "other"},
    "emb_initializer": {"emb_initializer": "other"},
    "device_vocabulary_size": {"device_vocabulary_size": 7},
    "is_save": {"is_save": False},
    "init_param": {"init_param": 0.5},
    "all2all_gradients_op": {"all2all_gradients_op": "sum_gradients_and_div_by_ranksize"},
    "padding_keys": {"padding_keys": 1},
    "value_dtype": {"value_dtype": tf.float64},
    "max_bytes": {"max_bytes": 1 << 20},
    "when_full": {"when_full": "evict", "max_bytes": 1 << 20},
    "storage": {"storage": runtime.Storage("dram")},
    "placement": {"placement": "replicated"},
    "trainable": {"trainable": False},
    "device": {"device": "/cpu:0"},
    "in_place_of": {"in_place_of": "Variable"},
    "base_buckets": {"base_buckets": 5},
}


@pytest.mark.each_case
@pytest.mark.parametrize("argument", _GIVEN_TO_A_TABLE)
def test_an_argument_of_a_table_is_kept_or_refused(argument: str) -> None:
    parameters = inspect.signature(runtime.create_table).parameters.values()
    assert {one.name for one in parameters} == {*_GIVEN_TO_A_TABLE}
    plain = {one.name: one.default for one in parameters} | {
        "key_dtype": tf.int64, "dim": 2, "name": "user", "emb_initializer": "some"
    }  # fmt: skip
    given = plain | _GIVEN_TO_A_TABLE[argument]
    try:
        made = arguments.checked(given)
    except (ValueError, NotImplementedError) as error:
        assert argument in str(error)
        return
    assert made != arguments.checked({**given, argument: plain[argument]})


_PAIR = "tables_and_ids` must be a list of pairs (table, ids)"
_LOOKUPS = "`lookups`: got None, must be a list of"
_NO_TABLE = "got None, must be a table created by create_table"


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
    (lambda table: runtime.table_of_rows([["a"]], "other"), "`rows` of the table `other` are string"),
    (lambda table: runtime.get_dense_and_sparse_variable(["w"]), "`var_list` holds 'w': give variables, and tables"),
    (lambda table: runtime.sparse_lookup(np.zeros([99, 9]), [1]), "0., …, must be a table created by create_table"),  # type: ignore[arg-type]
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
    (lambda table: _apply((None, table.variable)), "No gradients provided for any variable: ['user']"),
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


_BAGS = tf.sparse.from_dense([[1, 2], [3, 0]])


def _lookups(first: Any, second: Any) -> dict[str, Callable[[Any], Any]]:
    both = [(first, _BAGS), (second, _BAGS)]
    return {
        "sparse_lookup": lambda ids: runtime.sparse_lookup(first, ids),
        "grouped_lookup": lambda ids: runtime.grouped_lookup([(first, ids), (second, ids)]),
        "partitioned_lookup": lambda ids: runtime.partitioned_lookup([first, second], ids),
        "pooled": lambda ids: runtime.embedding_lookup_sparse(first, _BAGS, None),
        "safe pooled": lambda ids: runtime.safe_embedding_lookup_sparse(first, _BAGS),
        "grouped pooled": lambda ids: runtime.grouped_embedding_lookup_sparse(both, "sum"),
        "grouped safe pooled": lambda ids: runtime.grouped_safe_embedding_lookup_sparse(both),
        "prefetch": lambda ids: runtime.prefetch(first, ids),
        "all_reduce": lambda ids: ranks.current().all_reduce(tf.cast(ids, tf.float32)) / ranks.size(),
    }


def _rewritten(call: Callable[[Any], Any]) -> list[str]:
    """Return the names of what AutoGraph wrote anew, but for the test's own, while a function was traced."""
    before = set(sys.modules)
    tf.function(lambda ids: call(ids)).get_concrete_function(tf.TensorSpec([None], tf.int64))
    made = [sys.modules[name] for name in set(sys.modules) - before if name.startswith("__autograph_generated")]
    return sorted({name for module in made for name in _written(str(module.__file__))} - {"tf__lam", "tf__step"})


def _written(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return [line.split("def ")[1].split("(")[0] for line in file if line.lstrip().startswith("def tf__")]


@pytest.fixture(scope="module")
def tables() -> list[Any]:
    return [runtime.create_table(tf.int64, 2, name, tf.zeros_initializer()) for name in ("one", "two")]


@pytest.mark.each_case
@pytest.mark.parametrize("name", _lookups(None, None))
def test_what_a_step_calls_is_not_rewritten(tables: list[Any], name: str) -> None:
    assert _rewritten(_lookups(*tables)[name]) == []


def test_of_the_keras_layer_only_the_call_is_rewritten() -> None:
    layer = Embedding(9, 2)
    layer.build(None)
    assert set(_rewritten(layer)) <= {"tf__call"}
