"""When keys are created, counted, admitted and dropped: the vectors of DeepRec's own tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.compat import deeprec


def _trained(rec: Any, variable: Any, ids: Any, rate: float = 0.1) -> tuple[Any, Any]:
    """Return the rows of ids and the op that trains them by a gradient of 1 for each occurrence, counting steps."""
    rows = rec.nn.embedding_lookup(variable, ids)
    optimizer = rec.train.AdagradOptimizer(rate)
    return rows, optimizer.minimize(rec.reduce_sum(rows), rec.train.get_or_create_global_step())


def _session(rec: Any) -> Any:
    session = rec.Session()
    session.run(rec.global_variables_initializer())
    return session


def _ones(rec: Any, name: str = "user", dim: int = 3, **options: Any) -> Any:
    return rec.get_embedding_variable(
        name, dim, initializer=rec.ones_initializer(rec.float32), ev_option=rec.EmbeddingVariableOption(**options)
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_frequency_and_version_of_a_filtered_variable(rec: Any, monkeypatch: pytest.MonkeyPatch, sparse: bool) -> None:
    monkeypatch.setenv("TF_RECORD_VERSION", "1")
    variable = _ones(rec, filter_option=rec.CounterFilter(3))
    ids = rec.placeholder(rec.int64, [None])
    if sparse:
        indices = rec.stack([rec.range(rec.size(ids, out_type=rec.int64)), rec.zeros_like(ids)], axis=1)
        bags = rec.SparseTensor(indices, ids, [3, 1])
        rows = rec.nn.embedding_lookup_sparse(variable, bags, None, combiner="mean")
    else:
        rows = rec.nn.embedding_lookup(variable, ids)
    train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(rows), rec.train.get_or_create_global_step())
    frequency, version = variable.get_frequency(np.arange(1, 8)), variable.get_version(np.arange(1, 8))
    with _session(rec) as session:
        for batch in ([1, 2, 3], [1, 3, 5], [1, 5, 7]):
            session.run(train, {ids: batch})
        assert session.run(frequency).tolist() == [3, 1, 2, 0, 2, 0, 1]
        assert session.run(version).tolist() == [2, 0, 1, -1, 2, -1, 2]
        assert session.run(variable.get_dynamic_shape()).tolist() == [5, 3]
        keys, values, versions, frequencies = session.run(variable.export())
        assert (keys.tolist(), versions.tolist(), frequencies.tolist()) == ([1], [2], [3])
        np.testing.assert_allclose(values, 1 - 0.1 / np.sqrt(1.1), rtol=1e-6)


@pytest.mark.parametrize("filtered", [False, True])
def test_a_key_starts_with_its_row_of_the_default_matrix(rec: Any, filtered: bool) -> None:
    matrix = np.arange(24, dtype=np.float32).reshape(8, 3)
    init = rec.InitializerOption(initializer=rec.constant_initializer(matrix), default_value_dim=8)
    variable = rec.get_embedding_variable(
        "user",
        3,
        ev_option=rec.EmbeddingVariableOption(filter_option=rec.CounterFilter(3 * filtered), init_option=init),
    )
    ids = np.array([0, 5, 8, 23, -1, -7, -8, 2**62])
    rows, train = _trained(rec, variable, ids, rate=0.0)
    with _session(rec) as session:
        for _ in range(3):
            session.run(train)
        assert session.run(rows).tolist() == matrix[ids % 8].tolist()


def test_keys_of_all_kinds(rec: Any) -> None:
    for number, (dtype, ids) in enumerate(
        [(rec.int64, np.array([[-7, 2**63 - 1], [-(2**63), 0]])), (rec.int32, np.array([3, -1], np.int32))]
    ):
        variable = rec.get_embedding_variable(f"user_{number}", 4, key_dtype=dtype)
        rows, train = _trained(rec, variable, rec.constant(ids))
        with _session(rec) as session:
            session.run(train)
            assert session.run(rows).shape == (*ids.shape, 4)
            assert session.run(variable.total_count()).tolist() == [ids.size, 4]
    words = rec.get_embedding_variable("words", 4, key_dtype=rec.string)
    rows, train = _trained(rec, words, rec.constant(["a", "b", "a"]))
    with _session(rec) as session:
        session.run(train)
        found = session.run(rows)
        assert session.run(words.total_count()).tolist() == [2, 4]
        assert np.array_equal(found[0], found[2]) and not np.array_equal(found[0], found[1])
    with pytest.raises(ValueError, match="float32: they must be int64, int32 or string"):
        rec.nn.embedding_lookup(variable, [1.0])


def test_saving_drops_light_rows(rec: Any, tmp_path: Any) -> None:
    variable = _ones(rec, evict_option=rec.L2WeightEvict(0.5 * 3 * 0.9**2))
    ids = rec.placeholder(rec.int64, [None])
    rows = rec.nn.embedding_lookup(variable, ids)
    train = rec.train.GradientDescentOptimizer(0.15).minimize(rec.reduce_sum(rows))
    saver = rec.train.Saver()
    with _session(rec) as session:
        session.run(train, {ids: [1, 2]})
        session.run(variable.export())
        assert saver.save(session, str(tmp_path / "model"))
        assert session.run(variable.export()[0]).tolist() == []
        session.run(train, {ids: []})
        assert session.run(rows, {ids: [1]}).tolist() == [[1.0] * 3]


def test_the_variable_refuses_to_become_a_tensor(rec: Any) -> None:
    variable = _ones(rec)
    for use in (variable.value, variable.read_value, lambda: rec.convert_to_tensor(variable), lambda: variable + 1.0):
        with pytest.raises(NotImplementedError, match="`user` cannot be read as a tensor"):
            use()
    for use in (variable.assign, variable.assign_add, variable.scatter_add):
        with pytest.raises((NotImplementedError, TypeError)):
            use(1.0)
    for settings in ({"ev_init_value": 1.0}, {"counts": [1]}):
        with pytest.raises(NotImplementedError, match="has no ev_init_value"):
            variable.sparse_read([1], **settings)


def test_what_the_object_says_of_itself(rec: Any) -> None:
    storage = rec.StorageOption(storage_type=1)
    variable = _ones(rec, storage_option=storage, evict_option=rec.GlobalStepEvict(5))
    assert (variable.name, variable.dtype, variable.key_dtype) == ("user:0", rec.float32, rec.int64)
    assert (variable.steps_to_live, variable.storage_type, variable.block_num, variable.invalid_key) == (5, 1, 1, -1)
    assert variable in rec.get_collection(rec.GraphKeys.EMBEDDING_VARIABLES)
    assert variable in rec.trainable_variables() and variable in rec.global_variables()
    assert rec.get_collection(rec.GraphKeys.EV_INIT_VAR_OPS) == [variable.initializer]
    assert variable._initializer_for_restore is variable.initializer
    with rec.variable_scope("deep"):
        still = rec.get_embedding_variable("item", 3, trainable=False, collections=["mine"])
    assert still.name == "deep/item:0"
    assert still not in rec.trainable_variables() and still in rec.get_collection("mine")
    with rec.Session() as session:
        assert not session.run(still._is_initialized_op)
        session.run(still.initializer)
        assert session.run(still._is_initialized_op)
        assert session.run(still.lookup_tier([1])).tolist() == [-1]


def test_parts_share_out_the_keys_by_buckets(rec: Any) -> None:
    variable = rec.get_embedding_variable("user", 3, partitioner=rec.fixed_size_partitioner(4))
    assert isinstance(variable, deeprec.PartitionedEmbeddingVariable)
    assert [part.name for part in variable] == [f"user/part_{i}:0" for i in range(4)]
    assert (len(variable), variable.shape.as_list(), variable.get_shape().as_list()) == (4, [3], [3])
    assert variable.dtype == rec.float32 and "4 parts" in repr(variable)
    ids = np.array([0, 1, 2, 5, 6, 7, 1000, 1001, -1, -1001])
    rows, train = _trained(rec, variable, ids)
    with _session(rec) as session:
        session.run(train)
        keys = [session.run(part.export()[0]) for part in variable]
        for part, own in enumerate(keys):
            assert sorted(own) == sorted(ids[(ids % 1000) % 4 == part])
        assert session.run(rows).shape == (10, 3)
