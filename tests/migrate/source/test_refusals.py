"""The rows by which rules refuse: each that the code asks for is there, with the words that it needs."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator

import pytest

from migrate.source.rules import Refusal, refusal, refusals_of
from migrate.source.rules.catalogue import catalogue
from migrate.source.tensorflow.facts.calls.sinks import Meaning
from tests.support.paths import ROOT

FRONT_END = ROOT / "migrate/source/tensorflow"
#: What the function `blocker` takes beside the words of the row.
OWN = {"under", "changes", "takes_rows", "otherwise", "state"}
#: Functions that are given a key and words, with the place of the key and the words that they add.
ASKING: dict[str, tuple[int, frozenset[str]]] = {
    "blocker": (2, frozenset()),
    "refuse": (2, frozenset()),
    "block": (2, frozenset()),
    "layer.block": (1, frozenset()),
    "blocker_at": (2, frozenset({"shown"})),
    "_blocker": (2, frozenset({"text"})),
    "refused": (0, frozenset({"what"})),
}
#: Where a blocker is made by its class.
MAKERS = {"base/model.py"}


def test_each_row_that_is_asked_for_is_there_and_gets_its_words() -> None:
    rows = [row for _, row in _rows()]
    for place, keys, words in _asked():
        for key in keys:
            known = [_fields(row) for row in rows if row.key == key]
            assert known, f"{place}: no rule has a refusal `{key}`"
            assert any(fields <= words for fields in known), f"{place}: `{key}` has the words {known}, not {words}"
            assert len(keys) > 1 or words in known, f"{place}: `{key}` has the words {known}, not {words}"


def test_each_row_is_used() -> None:
    used = {text for path in sorted(FRONT_END.rglob("*.py")) for text in _texts(ast.parse(path.read_text("utf-8")))}
    assert {f"{rule}/{row.key}" for rule, row in _rows() if row.key not in used} == set()


def test_blockers_are_made_from_rows_alone() -> None:
    made = set()
    for path in sorted(FRONT_END.rglob("*.py")):
        room = path.relative_to(FRONT_END).as_posix()
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        if any(isinstance(call.func, ast.Name) and call.func.id == "Blocker" for call in calls):
            made.add(room)
    assert made == MAKERS


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


def test_what_a_sink_means_is_a_row_of_the_rule_for_whole_tables() -> None:
    assert {refusal("tf-whole-table", meaning.value).key for meaning in Meaning} == {one.value for one in Meaning}


def _rows() -> Iterator[tuple[str, Refusal]]:
    for rule in catalogue():
        for row in refusals_of(rule):
            yield rule.id, row


def _fields(row: Refusal) -> frozenset[str]:
    texts = (row.message, row.reason, row.action, row.assumption)
    return frozenset(name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name)


def _asked() -> Iterator[tuple[str, list[str], frozenset[str]]]:
    """Yield each call that asks for a row by keys which stand in it, with these and the names of its words."""
    for path in sorted(FRONT_END.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            asking = _asking(call) if isinstance(call, ast.Call) else None
            if not isinstance(call, ast.Call) or asking is None or len(call.args) <= asking[0]:
                continue
            keys = _keys(call.args[asking[0]])
            words = {one.arg for one in call.keywords} - OWN
            if keys and None not in words:
                given = frozenset(word for word in words if word is not None) | asking[1]
                yield f"{path.relative_to(ROOT)}:{call.lineno}", keys, given


def _asking(call: ast.Call) -> tuple[int, frozenset[str]] | None:
    if isinstance(call.func, ast.Attribute):
        of_layer = isinstance(call.func.value, ast.Name) and call.func.value.id == "layer"
        return ASKING.get(f"layer.{call.func.attr}" if of_layer else call.func.attr)
    return ASKING.get(call.func.id) if isinstance(call.func, ast.Name) else None


def _keys(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return _keys(node.body) + _keys(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _texts(module: ast.Module) -> Iterator[str]:
    """Yield the texts of a module, those inside of rows left out."""
    nodes: list[ast.AST] = [module]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        row = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refusal"
        nodes += [] if row else ast.iter_child_nodes(node)
