"""Which variable of a converted program is which of the original, where TensorFlow numbered them anew."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.verify.tensorflow.measure import Program
from migrate.verify.tensorflow.renumbered import Kind, by_original, original_names, renamed, without_slots

D, W = Kind((4, 4), "float32", True), Kind((9, 4), "float32", True)  # a dense variable, and one like a table
COUNTER = Kind((), "int32", False)


def found(
    original: dict[str, Kind], kept: dict[str, Kind], order: list[str], places: dict[str, str] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    tables = {name: 4 for name in order if name not in kept}
    names = original_names("c.py", original, kept, tables, order, places or {})
    return {mine: theirs for mine, theirs in names.variables.items() if mine != theirs}, names.tables


def test_order_of_creation_decides_where_names_were_counted_anew() -> None:
    original = {"Variable": D, "Variable_1": W, "Variable_2": D, "Variable_3": COUNTER, "Variable_4": W}
    kept = {"Variable": D, "Variable_1": D, "Variable_2": COUNTER, "Variable_3": W}
    moved = {"Variable_1": "Variable_2", "Variable_2": "Variable_3", "Variable_3": "Variable_4"}
    assert found(original, kept, ["Variable", "T", "Variable_1", "Variable_2", "Variable_3"]) == (
        moved,
        {"T": "Variable_1"},
    )


def test_equal_shapes_are_told_apart_by_order() -> None:
    """By its name the dense variable would be the original's table, and the program would train other values."""
    kept = {"Variable": W}
    assert found({"Variable": W, "Variable_1": W}, kept, ["T", "Variable"]) == (
        {"Variable": "Variable_1"},
        {"T": "Variable"},
    )
    assert found({"Variable": W, "Variable_1": W}, kept, ["Variable", "T"]) == ({}, {"T": "Variable_1"})


def test_in_each_scope_for_itself() -> None:
    original = {"a/Variable": W, "a/Variable_1": D, "b/Variable": D, "b/Variable_1": W, "b/Variable_2": D}
    kept = {"a/Variable": D, "b/Variable": D, "b/Variable_1": D}
    assert found(original, kept, ["T", "a/Variable", "b/Variable", "U", "b/Variable_1"])[0] == {
        "a/Variable": "a/Variable_1",
        "b/Variable_1": "b/Variable_2",
    }


def test_a_program_that_keeps_names_is_matched_by_them() -> None:
    original = {"Variable": W, "Variable_1": W}
    assert found(original, {"Variable_1": W}, ["T", "Variable_1"], {"T": "Variable"}) == ({}, {"T": "Variable"})
    # Even where the converted program makes them in another order.
    assert found(original, {"Variable": W}, ["T", "Variable"], {"T": "Variable_1"}) == ({}, {"T": "Variable_1"})


def test_literal_names_are_taken_in_any_order() -> None:
    original = {"w": W, "w_1": W, "b": D}
    assert found(original, {"w": W, "b": D}, ["w_1", "w", "b"]) == ({}, {})
    assert found({"x": W, "y": W}, {"y": W}, ["y", "T"]) == ({}, {})


def test_two_readings_are_refused() -> None:
    with pytest.raises(MigrateError, match=r"`w` may be the original's `w` by its name, or `w_1` by the order"):
        found({"w": W, "w_1": W}, {"w": W}, ["T", "w"])


def test_optimizers_count_for_themselves() -> None:
    power = Kind((), "float32", False)
    original = {"Variable": W, "Variable_1": D, "beta1_power": power, "beta1_power_1": power}
    kept = {"Variable": D, "beta1_power": power, "Adam_1/beta1_power": power}
    order = ["T", "Variable", "beta1_power", "Adam_1/beta1_power"]
    assert found(original, kept, order) == ({"Variable": "Variable_1"}, {"T": "Variable"})


@pytest.mark.parametrize(
    ("original", "kept", "order"),
    [
        ({"Variable": W, "Variable_1": D}, {"Variable": W}, ["T", "Variable"]),
        ({"Variable": W, "Variable_1": D, "Variable_2": D}, {"Variable": D}, ["T", "Variable"]),
        ({"Variable": Kind((9, 8), "float32", True), "Variable_1": D}, {"Variable": D}, ["T", "Variable"]),
        ({"Variable": Kind((9, 4), "float64", True), "Variable_1": D}, {"Variable": D}, ["T", "Variable"]),
    ],
    ids=["another shape", "one is lost", "another dim", "another type"],
)
def test_nothing_is_guessed(original: dict[str, Kind], kept: dict[str, Kind], order: list[str]) -> None:
    assert found(original, kept, order)[0] == {}


def test_slots_follow_their_variable() -> None:
    assert without_slots(["Variable", "Variable/Adam", "Variable_1", "a/b", "a/b/Adam_1"]) == [
        "Variable",
        "Variable_1",
        "a/b",
    ]
    names = {"Variable": "Variable_2", "Variable_2": "Variable_3", "b": "b"}
    assert by_original({"Variable": 1, "Variable/Adam": 2, "Variable_2": 3, "b/Adam": 4, "x/Variable": 5}, names) == {
        "Variable_2": 1,
        "Variable_2/Adam": 2,
        "Variable_3": 3,
        "b/Adam": 4,
        "x/Variable": 5,
    }
    program = Program({}, {"Variable": (2,)}, [], [], {"Variable #2": "g"}, {"Variable": ()})
    assert renamed(program, names).gradients == {"Variable_2 #2": "g"}
