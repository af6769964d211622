"""SOK 1.x: its layers, optimizers and Saver, in eager mode and in the graphs of its documentation."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import ranks
from runtime.compat import sok as facade

v1: Any = tf.compat.v1
_SLOTS, _NNZ, _DIM, _BATCH = 3, 2, 4, 5
_RANDOM = np.random.default_rng(2)
_DENSE = _RANDOM.integers(0, 16, (_BATCH, _SLOTS, _NNZ))
#: Rows of 0 to 2 ids, sample 0's slots first; the last has none.
_MASK = _RANDOM.random((_BATCH * _SLOTS, _NNZ)) < 0.6
_MASK[-1] = False
_ROWS = _RANDOM.normal(size=(16, _DIM)).astype(np.float32)


@pytest.fixture(scope="module")
def sok() -> Iterator[Any]:
    """The package, installed and begun."""
    facade.install()
    try:
        initialize = importlib.import_module("sparse_operation_kit.core.initialize")
        assert initialize.Init(global_batch_size=8).numpy() == b"OK"
        yield importlib.import_module("sparse_operation_kit")
    finally:
        facade.uninstall()


def _dense(shift: Any = 0) -> tf.Tensor:
    """Ids of half of the keys: with another shift others, so that rows are left out that were trained before."""
    return (_DENSE % 8 + shift) % 16


def _sparse(shift: Any = 0) -> tf.SparseTensor:
    values = tf.boolean_mask(tf.reshape(_dense(shift), [-1, _NNZ]), _MASK)
    return tf.SparseTensor(np.argwhere(_MASK), values, [_BATCH * _SLOTS, _NNZ])


def _oracle(rows: Any, combiner: str, shift: Any) -> tf.Tensor:
    # Rows without ids at the end are missing; the safe lookup has them, but looks id 0 up for every row without ids.
    found = tf.nn.embedding_lookup_sparse(rows, _sparse(shift), None, combiner)
    missing = tf.zeros([_BATCH * _SLOTS - tf.shape(found)[0], _DIM])
    return tf.reshape(tf.concat([found, missing], 0), [_BATCH, _SLOTS, _DIM])


@pytest.mark.parametrize(("hashes", "combiner"), [(True, "Sum"), (False, "MEAN")])
def test_sparse_and_dense_layers_train_as_variables_do(sok: Any, hashes: bool, combiner: str, tmp_path: Path) -> None:
    sizes = {"max_vocabulary_size_per_gpu": 16, "embedding_vec_size": _DIM, "slot_num": _SLOTS}
    sparse = sok.DistributedEmbedding(combiner, max_nnz=_NNZ, use_hashtable=hashes, **sizes)
    dense = sok.All2AllDenseEmbedding(nnz_per_slot=_NNZ, use_hashtable=hashes, key_dtype=tf.int64, **sizes)
    for layer in (sparse, dense):
        sok.Saver().load_embedding_values(layer.embedding_variable, [_ROWS[:5], _ROWS[5:]])
    plain = [tf.Variable(_ROWS), tf.Variable(_ROWS)]
    adams = importlib.import_module("sparse_operation_kit.tf.keras.optimizers")
    ours, stock = adams.Adam(0.1), tf.keras.optimizers.Adam(0.1)

    for shift in (0, 5, 2):
        with tf.GradientTape() as tape:
            one, other = sparse(_sparse(shift)), dense(tf.constant(_dense(shift)), training=True)
            loss = tf.reduce_sum(one**2) + tf.reduce_sum(other**2)
        assert (one.shape, other.shape) == ((_BATCH, _SLOTS, _DIM), (_BATCH, _SLOTS, _NNZ, _DIM))
        shared, rest = sok.split_embedding_variable_from_others(
            [*sparse.trainable_variables, *dense.trainable_variables, plain[0]]
        )
        assert (len(shared), len(rest)) == (2, 1)
        assert isinstance(shared, list)  # programs add other lists to it, and to its gradients
        assert isinstance(rest, list)
        gradients = tape.gradient(loss, shared)
        with sok.OptimizerScope(shared):
            ours.apply_gradients(zip(gradients, shared, strict=True), experimental_aggregate_gradients=False)
        with tf.GradientTape() as tape:
            wanted = [
                _oracle(plain[0], combiner.lower(), shift),
                tf.nn.embedding_lookup(plain[1], tf.constant(_dense(shift))),
            ]
            reference = tf.add_n([tf.reduce_sum(found**2) for found in wanted])
        stock.apply_gradients(
            [
                (tf.convert_to_tensor(one), kept)
                for one, kept in zip(tape.gradient(reference, plain), plain, strict=True)
            ]
        )
        np.testing.assert_allclose(loss, reference, rtol=1e-5)
    rows = {}
    for layer, want in ((sparse, plain[0]), (dense, plain[1])):
        keys, values = (np.asarray(part) for part in sok.export(layer.embedding_variable))
        rows[layer.name] = values[np.argsort(keys)]
        np.testing.assert_allclose(rows[layer.name], want, rtol=1e-4, atol=1e-5)
    saver = sok.Saver()
    assert saver.dump_to_file(sparse.embedding_variable, str(tmp_path / "rows")).numpy() == b"OK"
    saver.load_embedding_values(sparse.embedding_variable, tf.zeros([16, _DIM]))
    saver.restore_from_file(sparse.embedding_variable, str(tmp_path / "rows"))
    keys, values = (np.asarray(part) for part in sok.export(sparse.embedding_variable))
    np.testing.assert_array_equal(values[np.argsort(keys)], rows[sparse.name])


def test_what_else_layers_do(sok: Any) -> None:
    layer = sok.get_embedding(
        "layer of one test", sok.All2AllDenseEmbedding, max_vocabulary_size_per_gpu=8, embedding_vec_size=2, slot_num=1,
        nnz_per_slot=1, dynamic_input=True, embedding_initializer="ones", combiner="Mean",
    )  # fmt: skip
    assert sok.get_embedding("layer of one test") is layer
    assert not getattr(
        layer, "dynamic", False
    )  # Keras 2 runs models of such layers eagerly, and in v1 graphs not at all
    assert sok.Init(global_batch_size=1).numpy() == b"OK"
    unique, places = tf.unique([7, 2**40, 7])
    np.testing.assert_array_equal(tf.gather(layer(unique), places), np.ones([3, 2]))
    assert layer(tf.constant([3], tf.int64), training=False).shape == (1, 2)
    assert sorted(sok.export(layer.embedding_variable)[0].numpy()) == [7, 2**40]
    reference = sok.TFDistributedEmbedding(6, 2, initializer=tf.constant_initializer(3.0))
    np.testing.assert_array_equal(reference(tf.constant([[5, 0]])), np.full([1, 2, 2], 3))
    sparse = sok.DistributedEmbedding("sum", 8, 2, 1, 2)
    for call, error, message in (
        (lambda: sparse(tf.constant([[1, 2]])), TypeError, r"needs a tf\.SparseTensor"),
        (lambda: layer(_sparse()), TypeError, "needs a dense tensor"),
        (lambda: sok.DistributedEmbedding("sqrtn", 8, 2, 1, 2), ValueError, "'mean' and 'sum'"),
        (lambda: sok.DistributedEmbedding("sum", 8, 2, 1, 2, max_feature_num=3), ValueError, "max_feature_num"),
        (lambda: sok.DistributedEmbedding("sum", 8, 2, 1, 0), ValueError, "max_nnz"),
        (lambda: sok.get_embedding("nobody"), ValueError, "no SOK layer 'nobody'"),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("hashes", [True, False])
def test_a_replica_of_a_strategy_is_refused_by_name(sok: Any, hashes: bool) -> None:
    layer = sok.All2AllDenseEmbedding(16, _DIM, _SLOTS, _NNZ, use_hashtable=hashes, name="of_replicas")
    with pytest.raises(
        RuntimeError, match=r"`of_replicas.* is used in a replica of MirroredStrategy.*leave the strategy"
    ):
        tf.distribute.MirroredStrategy(["/cpu:0"]).run(tf.function(lambda: layer(_dense())))


def test_a_saver_of_tensorflows_own_does_not_take_one_ranks_rows_for_all(
    sok: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        variable = sok.Variable(tf.ones([6, 2]), name="shared")
        alone = v1.train.Saver([variable])
        monkeypatch.setattr(ranks, "size", lambda: 2)
        of_two = v1.train.Saver([variable])
        session.run(variable.initializer)
        path = alone.save(session, str(tmp_path / "alone"))
        session.run(variable.assign(tf.zeros([6, 2])))
        alone.restore(session, path)
        np.testing.assert_array_equal(tf.train.load_variable(path, "shared"), np.ones([6, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="are distributed over 2 ranks"):
            of_two.save(session, str(tmp_path / "of_two"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="are distributed over 2 ranks"):
            of_two.restore(session, path)
        np.testing.assert_array_equal(session.run(variable), np.ones([6, 2]))


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.one_case
def test_a_documented_program_of_tensorflow_1(sok: Any, lazy: bool, tmp_path: Path) -> None:
    module = importlib.import_module("sparse_operation_kit.tf.keras.optimizers.lazy_adam" if lazy else
                                     "sparse_operation_kit.tf.keras.optimizers.adam")  # fmt: skip
    with tf.Graph().as_default():
        sok_init = sok.Init(global_batch_size=_BATCH)
        sparse = sok.DistributedEmbedding(
            combiner="Mean", max_vocabulary_size_per_gpu=16, embedding_vec_size=_DIM, slot_num=_SLOTS, max_nnz=_NNZ
        )
        static = sok.All2AllDenseEmbedding(16, _DIM, _SLOTS, _NNZ, use_hashtable=False)
        plain = [v1.get_variable(f"plain{i}", initializer=_ROWS, use_resource=True) for i in range(2)]
        shift = v1.placeholder(tf.int64, [])
        outputs = [sparse(_sparse(shift)), static(_dense(shift))]
        wanted = [_oracle(plain[0], "mean", shift), tf.nn.embedding_lookup(plain[1], _dense(shift))]
        variables, others = sok.split_embedding_variable_from_others(v1.trainable_variables())
        assert (len(variables), list(others)) == (2, plain)
        load = [sok.Saver().load_embedding_values(one, _ROWS) for one in variables]
        stock = facade.LazyAdamOptimizer(0.1) if lazy else v1.train.AdamOptimizer(0.1, epsilon=1e-7)
        ours = module.LazyAdamOptimizer(0.1) if lazy else module.Adam(0.1)
        losses = [tf.add_n([tf.reduce_sum(one**2) for one in group]) for group in (outputs, wanted)]
        train = [ours.minimize(losses[0], var_list=list(variables)), stock.minimize(losses[1], var_list=plain)]
        dumped = sok.Saver().dump_to_file(variables[0], str(tmp_path))
        rows = [sok.export(one) for one in variables]
        with v1.Session() as session:
            assert session.run(sok_init) == b"OK"
            session.run(v1.global_variables_initializer())
            session.run(load)
            for number in (0, 5, 2):
                found, want = session.run([losses, train], {shift: number})[0]
                np.testing.assert_allclose(found, want, rtol=1e-5)
            assert session.run(dumped) == b"OK"
            for (keys, values), want in zip(session.run(rows), session.run(plain), strict=True):
                np.testing.assert_allclose(values[np.argsort(keys)], want, rtol=1e-4, atol=1e-5)
            before = session.run(rows[0])
            session.run(load)
            session.run(sok.Saver().restore_from_file(variables[0], str(tmp_path)))
            after = session.run(rows[0])
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(np.sort(one, axis=0), np.sort(other, axis=0))
