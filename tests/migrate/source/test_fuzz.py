"""Mutated sources: never a crash, never a byte lost outside the edits, and a second run finds nothing to do.

`MIGRATE_FUZZ=10000` says how many files are tried; without it a few seconds' worth.
"""

from __future__ import annotations

import ast
import difflib
import os
from pathlib import Path

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_bytes
from migrate.source.driver.sanity_check import check_unchanged
from migrate.source.rules import Rule, rules
from migrate.source.settings.options import Options
from migrate.source.tensorflow.base import rule_registry  # noqa: F401 - loads the rules

COUNT = int(os.environ.get("MIGRATE_FUZZ", "40"))
CASES = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "cases").glob("*.txt"))]
SOURCES = [case.partition("# output\n")[0] for case in CASES]
SOURCES += [example.before for rule in rules(Rule) for example in rule.examples]
ONE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'
LINES = sorted({line + "\n" for source in SOURCES for line in source.splitlines()})
TOKENS = [
    "(",
    ")",
    "[",
    "]",
    "'''",
    '"',
    "#",
    "\\\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "    ",
    ";",
    ":",
    ",",
    "=",
    "\x0c",
    "é",
    "\0",
]
TOKENS += [
    " if a else b",
    "lambda: ",
    "*",
    "**k, ",
    "%",
    "W",
    "tf",
    "tf.nn.",
    "del W\n",
    "async ",
    "yield ",
    "\ufeff",
    "𝔸",
]

places = st.integers(0, 10_000)
mutations = st.one_of(
    st.tuples(st.just("drop line"), places, places),
    st.tuples(st.just("repeat line"), places, places),
    st.tuples(st.just("add line"), places, st.sampled_from(LINES)),
    st.tuples(st.just("indent"), places, st.sampled_from([" ", "    ", "\t"])),
    st.tuples(st.just("insert"), places, st.sampled_from(TOKENS)),
    st.tuples(st.just("delete"), places, st.integers(1, 12)),
    st.tuples(st.just("ends"), st.just(0), st.sampled_from(["\r\n", "\r"])),
    st.tuples(st.just("cut"), places, st.just(0)),
)


def mutated(text: str, kind: str, at: int, what: int | str) -> str:
    """Return the text with one thing changed; `at` counts lines or characters, wrapped around."""
    if kind == "ends":
        return text.replace("\n", str(what))
    if kind in {"insert", "delete", "cut"}:
        at %= len(text) + 1
        rest = {
            "insert": str(what) + text[at:],
            "cut": "",
            "delete": text[at + int(what) :] if kind == "delete" else "",
        }
        return text[:at] + rest[kind]
    lines = text.splitlines(keepends=True) or [""]
    at %= len(lines)
    lines[at] = {
        "drop line": "",
        "repeat line": lines[at] + lines[int(what) % len(lines)] if kind == "repeat line" else "",
        "add line": str(what) + lines[at],
        "indent": str(what) + lines[at],
    }[kind]
    return "".join(lines)


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(SOURCES),
    st.lists(mutations, max_size=4),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1"]),
    st.booleans(),
)
@example(ONE, [("insert", ONE.index("\n"), "\\\n")], "utf-8", False)  # the line of the last import goes on
def test_a_mutated_source_is_converted_soundly_or_left(
    source: str, changes: list[tuple[str, int, int | str]], encoding: str, assumed: bool
) -> None:
    for kind, at, what in changes:
        source = mutated(source, kind, at, what)
    head = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else ""
    data = (head + source).encode(encoding, "replace")
    result, written = convert_bytes("m.py", data, Options(assume=assumed), {})
    assert not [f for f in result.findings if f.state is State.FAILED and "the converter failed" in f.message]
    if not result.changed:
        assert written == data
        return
    _check_bytes(data, written)
    before, after = result.original, result.converted
    check_unchanged(ast.parse(before), before, ast.parse(after), after)
    again, twice = convert_bytes("m.py", written, Options(assume=assumed), {})
    assert twice == written
    assert not again.changed


def _check_bytes(data: bytes, written: bytes) -> None:
    """Every line that is not edited is there with its own line end; what is edited is a small part."""
    before, after = data.split(b"\n"), written.split(b"\n")
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    kept = [line for a, _, size in matcher.get_matching_blocks() for line in before[a : a + size]]
    edited = [line for kind, a, b, _, _ in matcher.get_opcodes() if kind != "equal" for line in before[a:b]]
    assert len(kept) + len(edited) == len(before)
    assert data.startswith(b"\xef\xbb\xbf") == written.startswith(b"\xef\xbb\xbf")
    assert data.endswith(b"\n") == written.endswith(b"\n")
    assume(edited or len(after) > len(before))
