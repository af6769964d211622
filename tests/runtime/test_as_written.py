"""`tf.function` rewrites none of the runtime's functions, which would take longer than all else of a first step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.keras import Embedding

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
