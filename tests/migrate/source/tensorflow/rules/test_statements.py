"""Every kind of statement, wherever a lookup stands in it, and names that brackets spread over several lines."""

from __future__ import annotations

import ast

import pytest

from migrate.source.driver.sanity_check import check_unchanged
from migrate.source.project.module_resolution import bindings
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, moves, reasons

ROWS = "tf.nn.embedding_lookup(W, ids)"
#: Name -> code around a lookup.
STATEMENTS = {
    "match": f"match mode:\n    case 'a':\n        {LOOKUP}",
    "a guard": f"match mode:\n    case 'a' if {ROWS} is not None:\n        pass\n",
    "what is matched": f"match {ROWS}:\n    case e:\n        pass\n",
    "except": f"try:\n    pass\nexcept OSError:\n    {LOOKUP}",
    "what is caught": f"try:\n    pass\nexcept known({ROWS}):\n    pass\n",
    "finally": f"try:\n    pass\nfinally:\n    {LOOKUP}",
    "else of a loop": f"for a in b:\n    pass\nelse:\n    {LOOKUP}while a:\n    pass\nelse:\n    {LOOKUP}",
    "async": f"async def f():\n    async for x in y:\n        {LOOKUP}    async with z:\n        {LOOKUP}",
    "a decorator": f"@shown({ROWS})\ndef f():\n    pass\n",
    "a base": f"class F(made({ROWS})):\n    x: int = 3\n",
}


@pytest.mark.parametrize("code", STATEMENTS.values(), ids=STATEMENTS)
def test_a_lookup_converts_in_every_statement(code: str) -> None:
    new = moves(HEAD + MADE + code + STEP)
    assert "embedding_lookup" not in new


def test_what_a_case_or_a_handler_says_is_checked() -> None:
    for before in ("match a:\n    case 1:\n        pass\n", "try:\n    pass\nexcept A:\n    pass\n"):
        changed = ast.parse(before.replace("1", "2").replace("A", "B"))  # the text says that nothing was edited
        with pytest.raises(ValueError, match=r"line [23] changed although it was not edited"):
            check_unchanged(ast.parse(before), before, changed, before)


def test_names_that_a_case_binds_are_bound() -> None:
    text = (
        "match a:\n    case {'x': tf, **rest}:\n        import numpy as other\n    case [first, *last]:\n        pass\n"
    )
    found = bindings(text)
    assert found["tf"] == found["rest"] == found["first"] == found["last"] == [None]
    assert found["other"] != [None]


def test_a_table_of_a_case_may_not_be_there() -> None:
    """Neither half of the step is left out blindly: the case may not be run."""
    made = f"match mode:\n    case 'a':\n        {MADE}        {LOOKUP}"
    assert "if sparse" in converted(HEAD + "b = tf.get_variable('b', [3])\n" + made + STEP).converted


BRACKETS = ("(  # why\n    tf.compat.v1\n)", "(tf.compat  # why\n    .v1)", "(tf.compat.v1  # why\n)")


@pytest.mark.parametrize("brackets", BRACKETS)
@pytest.mark.parametrize("alias", [False, True], ids=["its own name", "an alias"])
def test_a_module_in_brackets_over_several_lines_converts(brackets: str, alias: bool) -> None:
    head = "import tensorflow as tf\n"
    code = 'def f():\n    W = tf.get_variable("w", [9, 4])\n    e = tf.nn.embedding_lookup(W, ids)\n    ' + STEP
    if alias:
        head, brackets = head + "v1 = tf.compat.v1\n", "(v1  # why\n)"
    result = converted(head + code.replace("tf.", f"{brackets}."))
    assert [table.verdict.value for table in result.tables] == ["applied"], reasons(result)
    assert result.converted.count("# why") == result.original.count("# why")


def test_comments_inside_of_what_is_written_anew_stay() -> None:
    code = (
        "W = (tf  # one\n     .get_variable('w', [9, 4]))\n"
        "if deep:\n    e = (tf  # two\n         .nn  # three\n         .embedding_lookup(W, ids))\n"
        "op = (tf.train  # four\n      .AdagradOptimizer(0.1)  # five\n      .minimize(e))\n"
    )
    found = converted(HEAD + code).converted
    assert "tf.group(" in found
    assert [found.count(f"# {word}\n") for word in ("one", "two", "three", "four", "five")] == [1] * 5, found
