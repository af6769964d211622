"""The rows by which rules refuse: each that the code asks for is there, with the words that it needs."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator

import pytest

from migrate.source.rules import Refusal, refusal, refusals_of
from migrate.source.rules.catalogue import catalogue
from tests.support.paths import ROOT

FRONT_END = ROOT / "migrate/source/tensorflow"
#: What the function `blocker` takes beside the words of the row.
OWN = {"under", "changes", "takes_rows", "otherwise", "state"}


def test_each_row_that_is_asked_for_is_there_and_gets_its_words() -> None:
    rows = [row for _, row in _rows()]
    for place, key, words in _asked():
        known = [_fields(row) for row in rows if row.key == key]
        assert known, f"{place}: no rule has a refusal `{key}`"
        assert words is None or words in known, f"{place}: `{key}` has the words {known}, not {words}"


def test_each_row_is_used() -> None:
    asked = {key for _, key, _ in _asked()}
    assert {f"{rule}/{row.key}" for rule, row in _rows() if row.key not in asked} == set()


def test_a_row_that_is_not_there_is_named() -> None:
    with pytest.raises(LookupError, match="`tf-zero-padding` has no refusal `gone`"):
        refusal("tf-zero-padding", "gone")


def test_each_row_says_what_and_why_and_what_to_do() -> None:
    bare = [f"{rule}/{row.key}" for rule, row in _rows() if not (row.message and (row.reason or row.action))]
    assert bare == []


def test_a_key_is_that_of_one_row_of_a_rule() -> None:
    for rule in catalogue():
        keys = [row.key for row in refusals_of(rule)]
        assert len(keys) == len(set(keys)), rule.id


def _rows() -> Iterator[tuple[str, Refusal]]:
    for rule in catalogue():
        for row in refusals_of(rule):
            yield rule.id, row


def _fields(row: Refusal) -> frozenset[str]:
    texts = (row.message, row.reason, row.action, row.assumption)
    return frozenset(name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name)


def _asked() -> Iterator[tuple[str, str, frozenset[str] | None]]:
    """Yield each call of `blocker`, with its key and the names of its words; None where they come by `**`."""
    for path in sorted(FRONT_END.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "blocker":
                continue
            place = f"{path.relative_to(ROOT)}:{call.lineno}"
            keys = [node for node in ast.walk(call.args[2]) if isinstance(node, ast.Constant)]
            words = {one.arg for one in call.keywords} - OWN
            for key in keys:
                whole = None if None in words else frozenset(word for word in words if word is not None)
                yield place, str(key.value), whole
