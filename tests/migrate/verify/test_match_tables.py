"""Which table took the place of which variable."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.verify.tensorflow.table_matching import match_tables


def test_names_decide_first() -> None:
    trained = {"b": (5, 4), "a": (5, 4), "deep/user": (9, 4), "deep/item": (9, 4), "w": (4, 1)}
    tables = {"a": 4, "b": 4, "deep_user": 4, "item": 4}
    assert match_tables("c.py", tables, trained, {"w"}) == {
        "a": "a",
        "b": "b",
        "deep_user": "deep/user",
        "item": "deep/item",
    }


def test_then_width_and_order() -> None:
    trained = {"Variable": (5, 4), "Variable_1": (6, 8), "Variable_2": (7, 8), "bias": (5,)}
    assert match_tables("c.py", {"u": 4, "v": 8, "w": 8, "x": 1}, trained, set()) == {
        "u": "Variable",
        "v": "Variable_1",
        "w": "Variable_2",
        "x": "bias",
    }


@pytest.mark.parametrize(
    ("tables", "trained", "kept", "words"),
    [
        ({"x": 4}, {"u": (5, 4), "v": (5, 4)}, set(), "1 table of dim 4 .* 2 variables .* give each table the name of"),
        ({"u": 4, "x": 4}, {"u": (5, 4)}, set(), "give each table the name of its variable"),
        ({"u": 4}, {"u": (5, 4), "v": (5, 3)}, set(), "neither a variable nor a table for the original's `v`"),
        ({"u": 4}, {"u": (5, 4)}, {"z"}, "trains `z`"),
    ],
    ids=["two variables", "two tables", "lost", "extra"],
)
def test_anything_else_is_an_error(
    tables: dict[str, int], trained: dict[str, tuple[int, ...]], kept: set[str], words: str
) -> None:
    with pytest.raises(MigrateError, match=words):
        match_tables("c.py", tables, trained, kept)
