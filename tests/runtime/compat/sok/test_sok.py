"""SparseOperationKit's API against the numbers of its documentation and against stock TensorFlow."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.checkpoint.ranks.saver import Saver
from runtime.compat import sok as facade
from runtime.compat.sok.dumping import name_in_files
from runtime.compat.sok.files import FilesError
from tests.support.compat.sok_cases import (
    AFTER,
    EMBEDDINGS,
    IDS,
    LOSS,
    TOUCHED,
    V1,
    V2,
    WEIGHTED,
    WEIGHTS,
    half_squares,
    ragged,
)

v1: Any = tf.compat.v1
_LEGACY = getattr(tf.keras.optimizers, "legacy", None) if not hasattr(tf.keras, "Variable") else None


@pytest.fixture(scope="module")
def sok() -> Iterator[Any]:
    """The package, installed and begun, as both generations; afterwards nothing of it is left."""
    keras = tf.keras.optimizers
    facade.install()
    try:
        importlib.import_module("horovod.tensorflow").init()
        importlib.import_module("sparse_operation_kit.tf.keras.optimizers.adam")
        package = importlib.import_module("sparse_operation_kit")
        with pytest.raises(RuntimeError, match=r"needs sok\.init\(\)"):
            package.Variable(V1)
        package.init(use_legacy_optimizer=False)
        package.Init(global_batch_size=8)
        yield package
    finally:
        facade.uninstall()
    assert tf.keras.optimizers is keras
    left = [module for name, module in sys.modules.items() if name.startswith(("sparse_operation_kit", "horovod"))]
    assert not [one for one in left if "runtime.compat.sok" in str(one.__doc__)]  # Horovod itself may stay


def _tables(sok: Any, kind: str) -> list[Any]:
    if kind == "static":
        return [sok.Variable(V1), sok.Variable(V2, mode="localized:0")]
    second = "hybrid" if kind == "noted" else "hbm"  # of which lookups note the time
    tables = [
        sok.DynamicVariable(3, var_type="hbm"),
        sok.DynamicVariable(5, "0", var_type=second, mode="localized:0"),
    ]
    for table, rows in zip(tables, (V1, V2), strict=True):
        sok.assign(table, np.arange(len(rows)), rows)
    return tables


def _rows(sok: Any, variable: Any) -> np.ndarray:
    keys, values = (np.asarray(part) for part in sok.export(variable))
    return values[np.argsort(keys)]


@pytest.mark.parametrize(
    ("kind", "combiner"), [("static", "sum"), ("noted", "sum"), ("dynamic", "mean"), ("static", "mean")]
)
def test_documented_numbers(sok: Any, kind: str, combiner: str) -> None:
    tables = _tables(sok, kind)
    ids, weights = [ragged(one) for one in IDS], [ragged(one, tf.float32) for one in WEIGHTS]
    optimizer = sok.OptimizerWrapper(tf.keras.optimizers.SGD(0.01))
    weighted = sok.lookup_sparse(tables, ids, weights, combiners=[combiner, combiner])[0]
    np.testing.assert_allclose(weighted, WEIGHTED[combiner], rtol=1e-6)
    with tf.GradientTape() as tape:
        found = sok.lookup_sparse(tables, ids, combiners=[combiner, combiner])
        loss = half_squares(found)
    for one, want in zip(found, EMBEDDINGS[combiner], strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-6)
    np.testing.assert_allclose(loss, LOSS[combiner])
    gradients = tape.gradient(loss, tables)
    if kind == "static":
        assert [one.values.shape for one in gradients] == [(4, 3), (3, 5)]
        assert gradients[0].indices.numpy().tolist() == TOUCHED[0]
    optimizer.apply_gradients(zip(gradients, tables, strict=True))
    for variable, before, touched, want in zip(tables, (V1, V2), TOUCHED, AFTER[combiner], strict=True):
        expected = before.copy()
        expected[touched] = want
        np.testing.assert_allclose(_rows(sok, variable), expected, rtol=1e-6)


def test_ids_of_any_layout(sok: Any) -> None:
    table = _tables(sok, "dynamic")[0]
    # The ids of row 2 begin in the last column, rows 1 and 3 have none.
    sparse = tf.SparseTensor([[0, 0], [0, 2], [2, 3]], tf.constant([4, 4, 6]), [4, 4])
    want = tf.nn.embedding_lookup_sparse(V1, sparse, None, combiner="mean")
    for combiners in ({"combiners": "Mean"}, {}):
        found = sok.lookup_sparse(table, sparse, **combiners)
        np.testing.assert_allclose(found, np.vstack([want, np.zeros([1, 3])]))
    # Combiners were the third argument once.
    np.testing.assert_allclose(sok.lookup_sparse([table], [ragged([[2, 2]])], ["sum"])[0], V1[2:3] * 2)
    empty = sok.lookup_sparse(table, ragged([]))
    assert empty.shape == (0, 3)
    np.testing.assert_allclose(sok.all2all_dense_embedding(table, tf.constant([[5], [2]])), V1[[[5], [2]]])
    np.testing.assert_allclose(tf.nn.embedding_lookup(table, [5, 2]), V1[[5, 2]])


_OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SGD": (tf.keras.optimizers, {"momentum": 0.9, "nesterov": True}),
    "Adagrad": (tf.keras.optimizers, {}),
    "Adam": (tf.keras.optimizers, {"epsilon": 1e-3}),
    "Adamax": (tf.keras.optimizers, {}),
    "Adadelta": (tf.keras.optimizers, {"epsilon": 0.01}),
    "Ftrl": (tf.keras.optimizers, {"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.1, "beta": 0.1}),
    "AdagradOptimizer": (v1.train, {}),
    "AdamOptimizer": (v1.train, {}),
}


def _made(module: Any, name: str, settings: dict[str, Any]) -> Any:
    rate = tf.keras.optimizers.schedules.ExponentialDecay(0.2, 2, 0.5)
    constant = module is v1.train or "momentum" in settings
    return getattr(module, name)(0.2 if constant else rate, **settings)


@pytest.mark.parametrize("legacy", [False, *([True] if _LEGACY else [])])
@pytest.mark.parametrize("name", _OPTIMIZERS)
def test_rows_of_a_dynamic_variable_move_as_those_of_a_variable(sok: Any, name: str, legacy: bool) -> None:
    module, settings = _OPTIMIZERS[name]
    module = _LEGACY if legacy and module is not v1.train else module
    table, plain = sok.DynamicVariable(3), tf.Variable(V1[:4] / 20 + 0.1)
    sok.assign(table, range(4), plain)
    wrapped, stock = sok.OptimizerWrapper(_made(module, name, settings)), _made(module, name, settings)
    keys = tf.constant([3, 0, 1, 2, 1], tf.int64)
    for step in range(3):
        for look, optimizer, variable in (
            (sok.all2all_dense_embedding, wrapped, table),
            (tf.nn.embedding_lookup, stock, plain),
        ):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(look(variable, keys) ** 2 * (1.0 + step))
            gradient = tape.gradient(loss, variable)
            if variable is plain:  # Keras 3 squares gradients of equal ids one by one
                gradient = tf.convert_to_tensor(gradient)
            optimizer.apply_gradients([(gradient, variable)])
    np.testing.assert_allclose(_rows(sok, table), plain, rtol=2e-5, atol=1e-6)
    assert not np.allclose(plain, V1[:4] / 20 + 0.1, atol=1e-3)


def test_variables_by_hand(sok: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, matrix = tf.Variable([[0, 1]]), sok.Variable([[3, 4, 5]], mode="localized:0")
    table = sok.DynamicVariable(3, "13", var_type="hybrid", init_capacity=16, max_capacity=1 << 20)
    assert sok.filter_variables([plain, matrix, table]) == ([matrix, table], [plain])
    assert isinstance(table, sok.DynamicVariable)
    assert (matrix.global_shape, matrix.target_gpu, table.target_gpu, table.num_gpus) == ((1, 3), 0, -1, 1)
    sok.assign(matrix, [0], [[7, 8, 9]])
    np.testing.assert_array_equal(matrix, [[7, 8, 9]])
    np.testing.assert_array_equal(table.sparse_read([2**40, 1]), np.full([2, 3], 13))
    table.scatter_sub(tf.IndexedSlices(tf.ones([2, 3]), tf.constant([1, 1])))
    np.testing.assert_array_equal(sok.sparse_read_and_evict(table, [1])[0], np.full([1, 3], 11))
    assert sorted(sok.export(table)[0].numpy().tolist()) == [1, 2**40]
    seen = sok.lookup_sparse(table, ragged([[2**40], [5]]), combiners="sum", use_low_frequency_filter=True)
    np.testing.assert_array_equal(seen, [[13] * 3, [0] * 3])
    again = sok.lookup_sparse(table, ragged([[5]]), use_low_frequency_filter=True)
    np.testing.assert_array_equal(again, [[13] * 3])
    now = datetime.now(timezone.utc)
    (keys,), (rows,) = sok.incremental_model_dump(table, now - timedelta(hours=1))
    assert sorted(keys) == [1, 5, 2**40]
    assert rows.shape == (3, 3)
    assert len(sok.incremental_model_dump([table], [now + timedelta(hours=1)])[0][0]) == 0
    # With a seed each rank has its part of what one process has.
    distribution = tf.random_normal_initializer(seed=5)
    whole = sok.Variable(shape=[5, 2], initializer=distribution)
    for rank in range(2):
        with monkeypatch.context() as patch:
            patch.setattr("runtime.ranks.rank", lambda rank=rank: rank)
            patch.setattr("runtime.ranks.size", lambda: 2)
            part = sok.Variable(shape=[5, 2], initializer=tf.random_normal_initializer(seed=5))
            np.testing.assert_array_equal(part, np.asarray(whole)[rank::2])
            assert sok.export(part)[0].numpy().tolist() == list(range(rank, 5, 2))
            with pytest.raises(RuntimeError, match="checkpoint would only have those of one"):
                tf.train.Checkpoint(part=part).write("/nowhere")
            patch.setattr("runtime.checkpoint.ranks.saver.current", lambda: SimpleNamespace(size=2))
            with pytest.raises(RuntimeError, match=r"save it with sok\.Saver"):
                Saver([part])


@pytest.mark.parametrize(
    "optimizer", [v1.train.AdagradOptimizer, tf.keras.optimizers.Ftrl, _LEGACY and _LEGACY.Adagrad]
)
def test_a_dump_has_the_slots_of_the_optimizer(sok: Any, optimizer: Any, tmp_path: Path) -> None:
    if optimizer is None:
        optimizer = tf.keras.optimizers.Adagrad

    def made() -> tuple[Any, list[Any]]:
        tables = [
            sok.Variable(V1, name="one"),
            sok.DynamicVariable(3, "1.5", name="two"),
            sok.DynamicVariable(3, name="new"),
        ]
        wrapped = sok.OptimizerWrapper(optimizer(0.1))
        if hasattr(wrapped, "build"):
            wrapped.build(tables[:1])
        return wrapped, tables

    def step(wrapped: Any, tables: list[Any]) -> None:
        with tf.GradientTape() as tape:
            found = sok.lookup_sparse(tables, [ragged([[1, 2], [5]])] * len(tables))
            loss = half_squares(found)
        wrapped.apply_gradients(zip(tape.gradient(loss, tables), tables, strict=True))

    first, tables = made()
    sok.assign(tables[2], range(17), V1)
    step(first, tables[:2])
    sok.dump(str(tmp_path), tables, first)
    second, others = made()
    sok.load(str(tmp_path), others, [second])
    for wrapped, some in ((first, tables), (second, others)):
        step(wrapped, some)
    for one, other, before in zip(tables, others, (V1, None, V1), strict=True):
        rows = _rows(sok, one)
        np.testing.assert_array_equal(_rows(sok, other), rows)
        assert before is None or not np.array_equal(rows, before)


def test_a_dump_is_of_one_time_and_loads_whole_or_not_at_all(sok: Any, tmp_path: Path) -> None:
    first, second = sok.DynamicVariable(3, name="first"), sok.Variable(V1, name="second")
    sok.assign(first, range(17), V1)
    optimizer = sok.OptimizerWrapper(v1.train.AdagradOptimizer(0.1))
    sok.dump(str(tmp_path), [first, second], optimizer)
    sok.assign(first, range(17), V1 + 1)
    sok.assign(second, range(17), V1 + 1)
    with pytest.raises(FilesError, match=r"cannot write .*File name too long"):
        sok.dump(str(tmp_path), [first, second, sok.DynamicVariable(3, name="n" * 253)], optimizer)
    assert not list(tmp_path.glob("*.new"))
    weights = tmp_path / f"{name_in_files(second)}-weight"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:295] + b"\0" + whole[296:])
    with pytest.raises(FilesError, match="are int32, but the variable has float32"):
        sok.load(str(tmp_path), [first, second])
    np.testing.assert_array_equal(_rows(sok, first), V1 + 1)
    weights.write_bytes(whole)
    sok.load(str(tmp_path), [first, second], optimizer)
    for one in (first, second):
        np.testing.assert_array_equal(_rows(sok, one), V1)
    (first_keys, first_weights) = (tmp_path / f"{name_in_files(first)}-{part}" for part in ("key", "weight"))
    for file, row in ((first_keys, 8), (first_weights, 12)):
        file.write_bytes(file.read_bytes()[:-row])
    with pytest.raises(FilesError, match="have 16 rows of 3 float32, but meta_info says 17 of 3 float32"):
        sok.load(str(tmp_path), first)
    (tmp_path / "meta_info").write_bytes((tmp_path / "meta_info").read_bytes()[:-1])
    with pytest.raises(FilesError, match=r"meta_info is truncated"):
        sok.load(str(tmp_path), second)
    sok.dump(str(tmp_path), [first, second])
    with pytest.raises(FilesError, match=r"cannot read .*first_0-Adagrad-accumulator"):
        sok.load(str(tmp_path), [first, second], optimizer)
    with pytest.raises(FilesError, match="cannot write"):
        sok.dump(str(weights), [first])


def test_errors(sok: Any) -> None:
    table, static = sok.DynamicVariable(2), sok.Variable(V1)
    two, weights, in_graph = ragged([[1, 2], [1]]), tf.ragged.constant, tf.function(sok.lookup_sparse)
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: sok.Variable(V1, mode="localized:1"), RuntimeError, "names rank 1"),
        (lambda: sok.Variable(V1, mode="spread"), RuntimeError, "'spread' is unknown"),
        (lambda: sok.DynamicVariable(2, "odd"), ValueError, "'odd' of a DynamicVariable"),
        (lambda: sok.DynamicVariable(2, key_type=tf.int32), NotImplementedError, "needs int64 keys"),
        (lambda: sok.DynamicVariable(2, capacity=1), TypeError, "has no argument 'capacity'"),
        (lambda: table.to_static([1]), NotImplementedError, "no static form"),
        (lambda: sok.lookup_sparse([table], [ragged([[1]])] * 2), RuntimeError, "2 entries for 1"),
        (lambda: sok.lookup_sparse(table, tf.constant([[1]])), TypeError, "SparseTensor or a RaggedTensor"),
        (lambda: sok.lookup_sparse(table, ragged([[1]]), combiners="sqrtn"), ValueError, "'mean' and 'sum'"),
        (lambda: sok.lookup_sparse(V1, ragged([[1]])), TypeError, r"give a sok\.Variable"),
        (lambda: sok.lookup_sparse(table, tf.ragged.constant([[1.5]])), TypeError, "`sp_ids` are float32"),
        (lambda: sok.lookup_sparse(static, ragged([[1, 2]]), weights([[1.0]])), ValueError, "one weight for each id"),
        (lambda: sok.lookup_sparse(static, two, weights([[1.0], [1.0, 2.0]])), ValueError, "one weight for each id"),
        (
            lambda: in_graph(static, two, weights([[1.0], [1.0, 2.0]])),
            tf.errors.InvalidArgumentError,
            "one weight for each",
        ),
        (lambda: sok.init("mpi"), RuntimeError, "cannot change to 'mpi'"),
        (lambda: sok.Init(), KeyError, "global_batch_size"),
        (lambda: sok.split_embedding_variable_from_others("x"), ValueError, "list or tuple"),
        (lambda: sok.load("/nowhere", table), FilesError, "cannot read"),
        (lambda: sok.dump("/nowhere", [tf.Variable(1.0)]), TypeError, "variables of SOK"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()
    gradient = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1], tf.int64))
    for optimizer, message in (
        (tf.keras.optimizers.RMSprop(0.1), "cannot train a DynamicVariable by RMSprop"),
        (tf.keras.optimizers.Adam(0.1, amsgrad=True), "leave amsgrad out"),
        (tf.keras.optimizers.SGD(0.1, clipnorm=1.0), "clip the gradients yourself"),
    ):
        with pytest.raises(TypeError, match=message):
            sok.OptimizerWrapper(optimizer).apply_gradients([(gradient, table)])
    first, second = (sok.OptimizerWrapper(tf.keras.optimizers.Adam(0.1)) for _ in range(2))
    for one in (first, second, second):
        one.apply_gradients([(gradient, table)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="has slots for one optimizer, and another one has"):
        first.apply_gradients([(gradient, table)])
