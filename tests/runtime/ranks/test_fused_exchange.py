"""All tables of a lookup in one exchange, over threads as ranks: what one process of TensorFlow sees and trains."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.compat import deeprec
from runtime.compat.deeprec import grouped
from runtime.optimizers import gradient_descent
from runtime.ranks import fused_exchange, messages
from tests.support.ranks import thread_ranks

RATE = 0.5
KEYS = np.arange(-1010, 1010, 7)
SIZES = [5, 0, 8]
#: The tables whose gradients are divided by the number of ranks.
AVERAGES = dict.fromkeys(("bucket", "copy"), "sum_gradients_and_div_by_ranksize")
#: Name, width and where the rows lie.
TABLES = [("mod", 4, "distributed"), ("bucket", 3, "buckets"), ("one", 2, "localized:1"), ("copy", 2, "replicated")]


def first_rows(dim: int) -> np.ndarray:
    return np.random.default_rng(dim).normal(size=(len(KEYS), dim)).astype(np.float32)


def drawn(rank: int) -> dict[str, Any]:
    """Ids [n, 2], and bags of up to 11 ids, of rank 2 up to 2, with weights; every third id is the first key."""
    random = np.random.default_rng(rank)
    lengths = random.integers(0, [12, 1, 3][rank], SIZES[rank])
    places = [
        random.integers(0, len(KEYS), size) * (random.random(size) > 0.3) for size in ((SIZES[rank], 2), lengths.sum())
    ]
    return {
        "ids": KEYS[places[0]],
        "bags": KEYS[places[1]],
        "lengths": lengths,
        "weights": random.random(lengths.sum()).astype(np.float32) + 0.5,
    }


def sparse(batch: dict[str, Any], name: str) -> tf.SparseTensor:
    return tf.RaggedTensor.from_row_lengths(batch[name], batch["lengths"]).to_sparse()


COMBINERS = ["mean", "sum", "sqrtn", "mean"]
NORMS = [None, 0.7, None, 1.2]
#: The key whose row stands for a bag without keys of 0 and above.
DEFAULT = int(KEYS[200])


def pooled_by_stock(
    variable: tf.Variable, batch: dict[str, Any], weighted: bool, combiner: str, norm: float | None, safe: bool
) -> tf.Tensor:
    ids = sparse(batch, "bags")
    weights = sparse(batch, "weights") if weighted else None
    places = np.searchsorted(KEYS, ids.values)
    if safe:
        places, default = np.where(ids.values < 0, -1, places), int(np.searchsorted(KEYS, DEFAULT))
        ids = tf.SparseTensor(ids.indices, places, ids.dense_shape)
        return tf.nn.safe_embedding_lookup_sparse(variable, ids, weights, combiner, default, max_norm=norm)
    ids = tf.SparseTensor(ids.indices, places, ids.dense_shape)
    return tf.nn.embedding_lookup_sparse(variable, ids, weights, combiner, norm)


def by_stock() -> tuple[list[list[np.ndarray]], list[np.ndarray]]:
    """What each rank is to see, and the rows after a step in which all losses are summed."""
    variables = [tf.Variable(first_rows(dim)) for _, dim, _ in TABLES]
    with tf.GradientTape() as tape:
        seen = []
        for rank in range(len(SIZES)):
            batch = drawn(rank)
            rows = [tf.gather(variable, np.searchsorted(KEYS, batch["ids"])) for variable in variables]
            for safe in (False, True):
                for i, variable in enumerate(variables):
                    rows.append(pooled_by_stock(variable, batch, i % 2 == 1, COMBINERS[i], NORMS[i], safe))
            seen.append(rows)
        loss = tf.add_n([tf.reduce_sum(tf.sin(one)) for rows in seen for one in rows])
    for (name, _, _), variable, gradient in zip(TABLES, variables, tape.gradient(loss, variables), strict=True):
        rate = RATE / len(SIZES) if name in AVERAGES else RATE
        variable.assign_sub(rate * tf.convert_to_tensor(gradient))
    return [[one.numpy() for one in rows] for rows in seen], [variable.numpy() for variable in variables]


#: Whether sums came back for bags that were looked up in one step, and not as many rows as they have keys.
FORMS: set[bool] = set()


class Asked(messages.Asked):
    """Notes the forms in which the answers come."""

    def __init__(self, keys: Any, bags: Any, **settings: Any) -> None:
        super().__init__(keys, bags, **settings)
        if tf.executing_eagerly() and settings["ranks"] > 1:
            for ids, own, counts in zip(keys, bags, self.counts.numpy().T, strict=True):
                if own is not None and ids.shape[0]:
                    FORMS.add(bool(counts.sum() < len(set(ids.numpy()))))


def as_a_rank() -> tuple[list[np.ndarray], list[np.ndarray], list[str]]:
    batch, engine = drawn(ranks.rank()), ranks.current()
    tables = [
        runtime.create_table(
            tf.int64,
            dim,
            name,
            tf.compat.v1.zeros_initializer(),
            all2all_gradients_op=AVERAGES.get(name, "sum_gradients"),
            placement=placement,
        )
        for name, dim, placement in TABLES
    ]
    for table in tables:
        table.import_rows(KEYS, first_rows(table.dim))
    variables = [table.variable for table in tables]
    with tf.GradientTape() as tape:
        rows = runtime.grouped_lookup([(table, batch["ids"]) for table in tables])
        forward = list(engine.messages)
        lookups = [
            (table, sparse(batch, "bags"), sparse(batch, "weights")) if i % 2 else (table, sparse(batch, "bags"))
            for i, table in enumerate(tables)
        ]
        rows += runtime.grouped_embedding_lookup_sparse(lookups, COMBINERS, NORMS, negative_keys=True)
        rows += runtime.grouped_safe_embedding_lookup_sparse(lookups, COMBINERS, DEFAULT, NORMS)
        loss = tf.add_n([tf.reduce_sum(tf.sin(one)) for one in rows])
    gradients = tape.gradient(loss, variables)
    gradient_descent.create_hash_optimizer(RATE).apply_gradients(zip(gradients, variables, strict=True))
    after = runtime.grouped_lookup([(table, KEYS) for table in tables], is_train=False)
    return [one.numpy() for one in rows], [one.numpy() for one in after], forward


def test_ranks_see_and_train_what_one_process_does_with_few_messages() -> None:
    seen, after = by_stock()
    FORMS.clear()
    with mock.patch.object(fused_exchange, "Asked", Asked):
        results, engines = thread_ranks.run(len(SIZES), as_a_rank)
    assert len(FORMS) == 2
    for rank, (rows, updated, forward) in enumerate(results):
        for got, want in zip(rows, seen[rank], strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)
        for got, want in zip(updated, after, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)
        # One message tells lengths, one carries the ids of three tables and one their rows; the copies take a gather.
        assert sorted(forward) == ["all_gather", "all_to_all", "all_to_all", "route"]
    three_lookups = ["all_gather"] * 3 + ["all_to_all"] * 6 + ["route"] * 3
    backward = ["all_gather"] * 3 + ["all_to_all"] * 3
    reading = ["all_gather", "all_to_all", "all_to_all", "route"]
    assert sorted(engines[0].messages) == sorted(three_lookups + backward + reading)


def group_step(variables: list[Any], batches: list[dict[str, Any]]) -> Any:
    """Group lookups of each batch, sparse and dense, and the update by the sum of all losses; fetches for a session."""
    seen = []
    for batch in batches:
        ids = tf.RaggedTensor.from_row_lengths(batch["bags"], batch["lengths"])
        weights = tf.RaggedTensor.from_row_lengths(batch["weights"], batch["lengths"]).to_sparse()
        sparse_ids = [ids, ids.to_sparse(), ids]
        seen.append(grouped.group_embedding_lookup_sparse(variables[:2], sparse_ids[:2], ["mean", "sum"]))
        seen[-1] += grouped.group_embedding_lookup_sparse(variables[2:], [ids], ["sqrtn"], [weights])
        seen[-1] += grouped.group_embedding_lookup(variables, [batch["ids"]] * 3)
    loss = tf.add_n([tf.reduce_sum(tf.sin(one)) for rows in seen for one in rows])
    train = tf.compat.v1.train.AdagradOptimizer(RATE).minimize(loss, var_list=variables)
    return seen, train


def in_session(variables_of: Any, batches: list[dict[str, Any]]) -> tuple[Any, Any]:
    """Two steps of a v1 session with threads of its own; what the second one saw, and the rows of all keys after it."""
    v1 = tf.compat.v1
    config = v1.ConfigProto(use_per_session_threads=True, inter_op_parallelism_threads=8)
    with tf.Graph().as_default():
        variables = variables_of()
        seen, train = group_step(variables, batches)
        rows = grouped.group_embedding_lookup(variables, [tf.constant(KEYS % 97)] * 3)
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            session.run(train)
            return session.run([seen, train])[0], session.run(rows)


def test_group_embedding_over_ranks_is_that_of_one_process() -> None:
    first = [np.random.default_rng(i).normal(size=[97, 2]).astype(np.float32) for i in range(3)]

    def of(rank: int) -> dict[str, Any]:
        batch = drawn(rank)
        return {**batch, "ids": batch["ids"] % 97, "bags": batch["bags"] % 97}

    def stock() -> list[Any]:
        return [tf.compat.v1.get_variable(f"v{i}", initializer=one, use_resource=True) for i, one in enumerate(first)]

    def ours() -> list[Any]:
        # The second notes the step of each of its keys' updates, so its ids are not made distinct.
        evict = [None, deeprec.GlobalStepEvict(1000), None]
        options = [
            deeprec.EmbeddingVariableOption(
                init_option=deeprec.InitializerOption(tf.constant_initializer(one), 97), evict_option=own
            )
            for one, own in zip(first, evict, strict=True)
        ]
        return [deeprec.get_embedding_variable(f"v{i}", 2, ev_option=option) for i, option in enumerate(options)]

    seen, after = in_session(stock, [of(rank) for rank in range(len(SIZES))])
    results, engines = thread_ranks.run(len(SIZES), lambda: in_session(ours, [of(ranks.rank())]))
    for rank, (own, rows) in enumerate(results):
        for got, want in zip([*own[0], *rows], [*seen[rank], *after], strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)
    assert len({tuple(sorted(engine.messages)) for engine in engines}) == 1


def looked_up(groups: list[list[str]], placement: str) -> list[float] | str:
    """Look key 1 up, one exchange for each group of tables, in the reverse order on rank 1; or what went wrong."""
    order = groups if ranks.rank() == 0 else [group[::-1] for group in groups[::-1]]
    made = {
        name: runtime.create_table(tf.int64, 2, name, tf.constant_initializer(len(name)), placement=placement)
        for group in groups
        for name in group
    }
    key = tf.constant([1], tf.int64)
    try:
        rows = [one for group in order for one in runtime.grouped_lookup([(made[name], key) for name in group])]
    except tf.errors.InvalidArgumentError as error:
        return str(error)
    return [float(one[0, 0]) for one in rows]


@pytest.mark.parametrize("placement", ["distributed", "replicated"])
def test_ranks_that_look_other_tables_up_are_all_told_so(placement: str) -> None:
    for groups in ([["a"], ["bb"]], [["a", "bb"]]):
        errors, _ = thread_ranks.run(2, lambda groups=groups: looked_up(groups, placement))
        for rank, (error, first) in enumerate(zip(errors, ("a", "bb"), strict=True)):
            assert f"in the same order: rank {rank} looks up `{first}` ({placement}, 2 wide)" in str(error)
            assert f"[{1 - rank}]" in str(error)
    assert thread_ranks.run(2, lambda: looked_up([["bb"]], placement))[0] == [[2.0], [2.0]]


def seen_at(times: list[int]) -> list[int]:
    """Look keys 1 and 2 up, then 2 alone, at times that differ between ranks; the rows that are here after eviction."""
    table = runtime.create_table(tf.int64, 2, "aging", tf.ones_initializer())
    for keys, time in zip(([1, 2], [2]), times, strict=True):
        rules = {"access_threshold": 0, "eviction_threshold": 10, "timestamp": tf.constant(time)}
        runtime.sparse_lookup(table, keys, access_and_evict_config=rules)
    runtime.evict_by_age(table)
    return table.snapshot()[0].numpy().tolist()


@pytest.mark.parametrize(("last", "left"), [(125, [[2], [1]]), (131, [[2], []])])
def test_the_newest_time_of_all_ranks_counts(last: int, left: list[list[int]]) -> None:
    assert thread_ranks.run(2, lambda: seen_at([[120, 100][ranks.rank()], last]))[0] == left


def read(table: Any, keys: list[int], config: Any) -> list[list[float]]:
    """Rows for evaluation, where an id without one reads its number, times ten on rank 1."""
    default = tf.constant(keys, tf.float32)[:, None] * tf.constant([[1.0, 1.0]]) * (10.0 if ranks.rank() else 1.0)
    settings: dict[str, Any] = {"access_and_evict_config": config, "serving_default_value": default}
    with tf.GradientTape() as tape:
        rows = runtime.sparse_lookup(table, keys, is_train=False, **settings)
        loss = tf.reduce_sum(rows)
    gradient = tape.gradient(loss, table.variable)
    assert gradient.values.shape == (len(gradient.indices), 2)
    return rows.numpy().tolist()


def defaults() -> list[list[list[float]]]:
    found = []
    for placement, config in (("distributed", None), ("replicated", {"access_threshold": 2})):
        table = runtime.create_table(tf.int64, 2, placement, tf.constant_initializer(0.5), placement=placement)
        runtime.sparse_lookup(table, [3], access_and_evict_config=config)  # by two ranks
        found.append(read(table, [[2, 3], [3, 5, 4]][ranks.rank()], config))
    return found


def test_each_rank_has_defaults_of_its_own_for_ids_without_rows() -> None:
    want = [[[2.0] * 2, [0.5] * 2]], [[[0.5] * 2, [50.0] * 2, [40.0] * 2]]
    assert thread_ranks.run(2, defaults)[0] == [one * 2 for one in want]
