"""What Rec SDK's modifier refuses or mishandles (rows 1 to 15 of the list): moved here, or left with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tests.support.rewriter.pipelines import ROWS, SIZE, element_of, examples, loss_of, same, steps

v1 = tf.compat.v1


def _two_iterators() -> Any:
    return element_of(examples().batch(SIZE))["ids"] + element_of(examples(5).batch(SIZE))["ids"]


def _parts_of_two_iterators() -> Any:
    return element_of(examples().batch(SIZE))["ids"] * 3 + element_of(examples(5).batch(SIZE))["ids"] % 7


def _variable_upstream() -> Any:
    numbers = v1.get_variable("numbers", [ROWS], tf.int64, v1.zeros_initializer(tf.int64), use_resource=True)
    return tf.gather(numbers, element_of(examples().batch(SIZE))["ids"])


@pytest.mark.parametrize(
    ("ids", "fault"),
    [
        (_parts_of_two_iterators, ""),
        (_two_iterators, "each is computed from several elements, of `IteratorGetNext`"),
        (_variable_upstream, "ResourceGather `Gather` is stateful"),
    ],
    ids=["row 8 ids computed from two iterators", "row 8 ids added from two iterators", "row 10 stateful ops upstream"],
)
def test_3_6_ids_of_more_than_an_element(ids: Callable[[], Any], fault: str) -> None:
    """3.6 rows 8 and 10: cloned into the map function, not detected. Here: move, or say why not."""

    def case() -> Callable[[], list[Any]]:
        given = ids()
        return steps(loss_of(given % ROWS), given, 4)

    plan = same(case)
    assert len(plan.moved) == (not fault) and all(fault in one.reason for one in plan.staying), plan.summary()


def _controlled(ids: Any) -> Any:
    with tf.control_dependencies([v1.assert_non_negative(ids), tf.identity(ids)]):
        return tf.identity(ids)


def _deep(ids: Any) -> Any:
    for _ in range(900):
        ids = ids + 1
    return ids


def _diamond(ids: Any) -> Any:
    for _ in range(60):
        ids = ids + ids % 5
    return ids


#: By row of 3.6: the dataset, and how ids are computed of its element.
MISHANDLED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "4 a bare tensor": (lambda one: one["ids"], lambda one: one),
    "5 a SparseTensor": (lambda one: {"a": tf.sparse.from_dense(one["ids"])}, lambda one: tf.sparse.to_dense(one["a"])),
    "5 a RaggedTensor": (lambda one: {"a": tf.RaggedTensor.from_tensor(one["ids"])}, lambda one: one["a"].to_tensor()),
    "7 x * x": (lambda one: one, lambda one: one["ids"] * one["ids"]),
    "11 900 deep": (lambda one: one, lambda one: _deep(one["ids"])),
    "11 a diamond": (lambda one: one, lambda one: _diamond(one["ids"])),
    "12 control dependencies": (lambda one: one, lambda one: _controlled(one["ids"])),
    "13 nested": (lambda one: ({"a": ({"b": one["ids"]},)}, one["ids"][:, 0]), lambda one: one[0]["a"][0]["b"]),
}


@pytest.mark.parametrize("row", MISHANDLED)
def test_3_6_what_the_vendor_mishandles_moves(row: str) -> None:
    """3.6 rows 4, 5, 7, 11, 12 and 13: errors, or only a part is rewired."""
    mapped, ids = MISHANDLED[row]

    def case() -> Callable[[], list[Any]]:
        found = ids(element_of(examples().batch(SIZE).map(mapped)))
        return steps(loss_of(found % ROWS), found)

    assert len(same(case).moved) == 1
