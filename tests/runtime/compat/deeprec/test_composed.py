"""Variables in blocks and multi-hash variables: what is composed of them is what the parts give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf


def _trained(rec: Any, emb: Any, steps: int = 3) -> tuple[Any, Any]:
    """Return the rows before and after some Adagrad steps."""
    train = rec.train.AdagradOptimizer(0.1).minimize(rec.reduce_sum(rec.square(emb) + emb))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        before = session.run(emb)
        for _ in range(steps):
            session.run(train)
        return before, session.run(emb)


def test_blocks_that_an_id_has_not_are_zeros_and_are_not_trained(rec: Any) -> None:
    blocks = rec.get_dynamic_dimension_embedding_variable("user", 2, 3, initializer=rec.ones_initializer())
    emb = rec.nn.embedding_lookup(blocks, [[4, 5], [6, 7]], blocknums=[[3, 2], [1, 0]])
    assert emb.shape == [2, 2, 6]
    counts = [block.total_count() for block in blocks.blocks]
    train = rec.train.GradientDescentOptimizer(0.5).minimize(rec.reduce_sum(emb))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        assert session.run(emb).sum(-1).tolist() == [[6, 4], [2, 0]]
        session.run(train)
        assert session.run(emb).sum(-1).tolist() == [[3, 2], [1, 0]]
        assert [count[0] for count in session.run(counts)] == [3, 2, 1]
    assert blocks.mainev().table.table_name == "user/block0"


def test_a_lookup_of_blocks_needs_their_number(rec: Any) -> None:
    blocks = rec.get_dynamic_dimension_embedding_variable("user", 2, 3)
    with pytest.raises(ValueError, match="needs `blocknums`"):
        rec.nn.embedding_lookup(blocks, [1])
    with pytest.raises(ValueError, match="no sparse lookup"):
        rec.nn.embedding_lookup_sparse(blocks, rec.SparseTensor([[0, 0]], [1], [1, 1]), None)


@pytest.mark.parametrize(
    ("operation", "split"), [("concat", True), ("concat", False), ("add", False), ("mul", False), ("mult", False)]
)
def test_a_multihash_variable_is_quotient_and_remainder(rec: Any, operation: str, split: bool) -> None:
    # Where a variable is split its parts draw other numbers than the whole.
    make = {"initializer": rec.ones_initializer() if split else rec.glorot_uniform_initializer(seed=4)}

    def composed() -> Any:
        ids = rec.constant([[0, 1, 2], [3, 4, 14]])
        parts = {"partitioner": rec.fixed_size_partitioner(2)} if split else {}
        variable = rec.get_multihash_variable("user", [[5, 6], [3, 6]], operation=operation, **make, **parts)
        return rec.nn.embedding_lookup(variable, ids)

    def by_hand() -> Any:
        ids = rec.constant([[0, 1, 2], [3, 4, 14]])
        quotients = rec.nn.embedding_lookup(rec.get_variable("Q", [5, 6], **make), ids // 5)
        remainders = rec.nn.embedding_lookup(rec.get_variable("R", [3, 6], **make), ids % 3)
        if operation == "concat":
            return rec.concat([quotients, remainders], -1)
        return quotients + remainders if operation == "add" else quotients * remainders

    results = []
    for build in (composed, by_hand):
        with tf.Graph().as_default():
            rec.set_random_seed(1)
            results.append(_trained(rec, build()))
    assert results[0][1].shape == (2, 3, 12 if operation == "concat" else 6)
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dims": [[2, 2], [2, 2]], "complementary_strategy": "other"}, 'only "Q-R" with 2 parts'),
        ({"dims": [[2, 2], [2, 2]], "operation": "max"}, "must be one of"),
        ({"dims": [[2, 2]]}, "two shapes"),
        ({"dims": [[2, 2], [2, 3]]}, "one dim to add"),
    ],
)
def test_arguments_of_a_multihash_variable(rec: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rec.get_multihash_variable("user", **arguments)
