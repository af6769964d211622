"""Which variable of a converted program is which of the original, where TensorFlow numbered them anew."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.verify.tensorflow.measure import Program
from migrate.verify.tensorflow.renumbered import Kind, by_original, original_names, renamed, without_slots

D, W = Kind((4, 4), "float32", True), Kind((9, 4), "float32", True)  # a dense variable, and one like a table
COUNTER = Kind((), "int32", False)


POWER = Kind((), "float32", False)
#: what a program is: the original's variables, its own, the order of creation, the places that tables tell, and what of
#: it has which name in the original
PROGRAMS: dict[str, tuple[dict[str, Kind], dict[str, Kind], list[str], dict[str, str], dict[str, str]]] = {
    "names were counted anew": (
        {"Variable": D, "Variable_1": W, "Variable_2": D, "Variable_3": COUNTER, "Variable_4": W},
        {"Variable": D, "Variable_1": D, "Variable_2": COUNTER, "Variable_3": W},
        ["Variable", "T", "Variable_1", "Variable_2", "Variable_3"],
        {},
        {"T": "Variable_1", "Variable_1": "Variable_2", "Variable_2": "Variable_3", "Variable_3": "Variable_4"},
    ),
    # By its name the dense variable would be the original's table, and the program would train other values.
    "equal shapes, the table first": (
        *({"Variable": W, "Variable_1": W}, {"Variable": W}, ["T", "Variable"], {}),
        {"T": "Variable", "Variable": "Variable_1"},
    ),
    "equal shapes, the table last": (
        *({"Variable": W, "Variable_1": W}, {"Variable": W}, ["Variable", "T"], {}),
        {"T": "Variable_1"},
    ),
    "each scope for itself": (
        {"a/Variable": W, "a/Variable_1": D, "b/Variable": D, "b/Variable_1": W, "b/Variable_2": D},
        {"a/Variable": D, "b/Variable": D, "b/Variable_1": D},
        ["T", "a/Variable", "b/Variable", "U", "b/Variable_1"],
        {},
        {"T": "a/Variable", "U": "b/Variable_1", "a/Variable": "a/Variable_1", "b/Variable_1": "b/Variable_2"},
    ),
    "names are kept": (
        *({"Variable": W, "Variable_1": W}, {"Variable_1": W}, ["T", "Variable_1"], {"T": "Variable"}),
        {"T": "Variable"},
    ),
    "names are kept in another order": (
        *({"Variable": W, "Variable_1": W}, {"Variable": W}, ["T", "Variable"], {"T": "Variable_1"}),
        {"T": "Variable_1"},
    ),
    "literal names in any order": ({"w": W, "w_1": W, "b": D}, {"w": W, "b": D}, ["w_1", "w", "b"], {}, {}),
    "literal names without numbers": ({"x": W, "y": W}, {"y": W}, ["y", "T"], {}, {}),
    "optimizers count for themselves": (
        {"Variable": W, "Variable_1": D, "beta1_power": POWER, "beta1_power_1": POWER},
        {"Variable": D, "beta1_power": POWER, "Adam_1/beta1_power": POWER},
        ["T", "Variable", "beta1_power", "Adam_1/beta1_power"],
        {},
        {"T": "Variable", "Variable": "Variable_1"},
    ),
    "another shape": ({"Variable": W, "Variable_1": D}, {"Variable": W}, ["T", "Variable"], {}, {}),
    "one is lost": (*({"Variable": W, "Variable_1": D, "Variable_2": D}, {"Variable": D}, ["T", "Variable"], {}, {}),),
    "another dim": (
        *({"Variable": Kind((9, 8), "float32", True), "Variable_1": D}, {"Variable": D}, ["T", "Variable"], {}, {}),
    ),
    "another type": (
        *({"Variable": Kind((9, 4), "float64", True), "Variable_1": D}, {"Variable": D}, ["T", "Variable"], {}, {}),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_of_the_original_are_found_and_nothing_is_guessed(name: str) -> None:
    original, kept, order, places, expected = PROGRAMS[name]
    names = original_names("c.py", original, kept, dict.fromkeys(set(order) - set(kept), 4), order, places)
    assert {mine: theirs for mine, theirs in names.variables.items() if mine != theirs} | names.tables == expected


def test_two_readings_are_refused() -> None:
    with pytest.raises(MigrateError, match=r"`w` may be the original's `w` by its name, or `w_1` by the order"):
        original_names("c.py", {"w": W, "w_1": W}, {"w": W}, {"T": 4}, ["T", "w"], {})


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
