"""Plans: the bytes of the cost model are those that ranks send, and no other placements are better by the model."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import gradient_descent
from runtime.ranks.planning.loads import PADDING, load_of, options
from runtime.ranks.planning.search import Search
from tests.support.ranks import thread_ranks

RANKS, SAMPLES = 3, 400
COSTS = ranks.Costs(exchange=1e-4, byte=1e-9, table=1e-6, id=1e-8, row=1e-7, value=1e-9)
KINDS = ("distributed", "localized", "replicated")


def _ids(rank: int, rows: int, ids: int) -> np.ndarray:
    return np.random.default_rng(rank).integers(0, rows, (SAMPLES, ids))


def _sent(rows: int, dim: int, ids: int, pooled: bool, placement: str) -> float:
    """Bytes that a rank sends in a step if every part is as long as the longest: what ranks really send, counted."""
    longest: list[float] = []

    def exchanged(engine: Any, values: tf.Tensor, route: Any) -> tf.Tensor:
        others = np.delete(np.asarray(route.counts), engine.rank)
        longest.append(float(others.max()) * values.dtype.size * int(np.prod(values.shape[1:])))
        return own(engine, values, route)

    def step() -> list[float]:
        table = runtime.create_table(tf.int64, dim, "t", tf.ones_initializer(), placement=placement)
        with tf.GradientTape() as tape:
            batch = _ids(ranks.rank(), rows, ids)
            if pooled:
                pair = (table, tf.RaggedTensor.from_tensor(batch).to_sparse())
                (found,) = runtime.grouped_embedding_lookup_sparse([pair], ["sum"])
            else:
                (found,) = runtime.grouped_lookup([(table, batch)])
            loss = tf.reduce_sum(found)
        pairs = [(tape.gradient(loss, table.variable), table.variable)]
        gradient_descent.create_hash_optimizer(0.1).apply_gradients(pairs)
        return longest

    own = thread_ranks.Threads._exchanged
    with mock.patch.object(thread_ranks.Threads, "_exchanged", exchanged):
        thread_ranks.run(RANKS, step)
    return (RANKS - 1) * sum(max(longest[i : i + RANKS]) for i in range(0, 3 * RANKS, RANKS))


@pytest.mark.parametrize("placement", ["distributed", "localized:2"])
@pytest.mark.parametrize(
    ("rows", "ids", "pooled"), [(300, 1, False), (50_000, 6, False), (50_000, 12, True), (60, 9, True)]
)
@pytest.mark.each_case
def test_the_bytes_of_the_model_are_those_that_ranks_send(rows: int, ids: int, pooled: bool, placement: str) -> None:
    use = ranks.TableUse.counted([_ids(0, rows, ids)], rows, 16, pooled=pooled)
    load = load_of(use, SAMPLES, RANKS, placement, COSTS)
    assert load.sent() / PADDING == pytest.approx(_sent(rows, 16, ids, pooled, placement), rel=0.12)


def _uses(seed: int) -> dict[str, ranks.TableUse]:
    random = np.random.default_rng(seed)
    return {
        f"t{i}": ranks.TableUse(
            int(10 ** random.integers(2, 7)),
            int(4 ** random.integers(1, 4)),
            float(random.choice([0.5, 1, 20])),
            float(random.uniform(0.1, 1)),
            pooled=bool(random.integers(2)),
        )
        for i in range(4)
    }


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.each_case
def test_no_other_placements_are_much_better_by_the_model(seed: int, limited: bool) -> None:
    uses = _uses(seed)
    total = sum(use.rows * (use.value_bytes + 20) for use in uses.values())
    memory = 0.6 * total if limited else None
    search = Search(uses, 256, 2, memory, COSTS, KINDS)
    every = [options(use, 2, KINDS) for use in uses.values()]
    scores = [search.score(search.total(dict(zip(uses, placed, strict=True)))) for placed in itertools.product(*every)]
    best = min(score.seconds for score in scores if score.over == 0)
    plan = ranks.plan(uses, 256, 2, memory_bytes=memory, costs=COSTS)
    assert best <= plan.seconds * (1 + 1e-9)
    assert plan.seconds <= 1.03 * best
    assert memory is None or plan.load.memory.max() <= memory


def test_a_plan_says_why() -> None:
    slow = dataclasses.replace(COSTS, byte=3e-8)
    uses = {"one": ranks.TableUse(1000, 8), "bag": ranks.TableUse(10**6, 64, 30, pooled=True)}
    plan = ranks.plan(uses, 1024, 4, memory_bytes=300e6, costs=slow, placements=(*KINDS, "columns"))
    assert dict(plan) == {"one": plan["one"], "bag": "columns:4"}
    text = str(plan).splitlines()
    assert text[0] == "2 tables, 4 ranks of 1,024 samples each"
    assert text[1].split() == ["table", "placement", "sends", "kB", "memory", "MB", "instead"]
    (bag,) = [line for line in text if line.startswith("bag")]
    assert "columns:4" in bag
    assert "distributed +" in bag
    assert "localized:0 +" in bag
    assert "232 MB too many" in bag
    assert text[-2].startswith("their part of a step: ")
    (moved,) = [one for one in plan.choices["bag"].others if one[0] == "distributed"]
    other = Search(uses, 1024, 4, None, slow, (*KINDS, "columns"))
    assert moved[1] == pytest.approx(other.total({**plan, "bag": "distributed"}).seconds(slow) - plan.seconds)


def test_what_batches_show_is_counted() -> None:
    batches = [[[1, 1], [2, 3]], [[4, 4], [4, 4]]]
    use = ranks.TableUse.counted(batches, 10, 4, slots=2, value_dtype="bfloat16")
    assert (use.ids, use.distinct, use.value_bytes) == (2.0, 0.5, 40)
    assert ranks.TableUse.counted([[np.array([1]), np.array([2, 3, 2])]], 10, 4).distinct == 0.75


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ranks.TableUse(0, 4), "`rows` of a TableUse is 0: it must be 1 or more"),
        (lambda: ranks.TableUse(1, 4, distinct=2), "must be a share above 0 and at most 1"),
        (lambda: ranks.TableUse(1, 4, value_dtype="int8"), "'int8' must be one of float32, bfloat16, float16"),
        (lambda: ranks.TableUse.counted([[]], 1, 1), "hold no id"),
        (lambda: ranks.Costs(byte=-1), "must be seconds, none below 0"),
        (lambda: ranks.plan({"a": 3}, 1, 1), "a dict from names to ranks.TableUse"),
        (lambda: ranks.plan({}, 0, 1), "`batch` is 0: it must be a whole number of 1 or more"),
        (lambda: ranks.plan({}, 1, 1, placements=["rows"]), "must be kinds of distributed, localized"),
        (
            lambda: ranks.plan({"a": ranks.TableUse(2**30, 16)}, 1, 4, memory_bytes=2**30),
            "the 1 tables do not fit: the fullest of 4 ranks would need 37 GiB, and `memory_bytes` is 1 GiB",
        ),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
