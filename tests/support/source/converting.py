"""Helpers for the tests of the TensorFlow frontend."""

from __future__ import annotations

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
STEP = "op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"


def converted(text: str, *, assume: bool = False, target: str = "runtime") -> SourceResult:
    """Convert `text` with all the production checks; a failed conversion fails the test."""
    result = convert_text("model.py", text, Options(assume=assume, target=target), {})
    assert not [f for f in result.findings if f.state is State.FAILED], result.findings
    return result


def reasons(result: SourceResult) -> str:
    """All words of the findings, for searching."""
    return "\n".join(f"{f.state.value}: {f.message}: {f.reason}; {f.action}; {f.assumptions}" for f in result.findings)


def stays(text: str, *says: str, assume: bool = False, target: str = "runtime") -> SourceResult:
    """Convert `text`, of which not a byte may change; findings or tables give reasons that have these words."""
    result = converted(text, assume=assume, target=target)
    assert result.converted == text
    why = reasons(result) + "".join(reason for table in result.tables for reason in table.reasons)
    for words in says:
        assert words in why, why
    return result


def moves(text: str, tables: int = 1, *, assume: bool = False) -> str:
    """Convert `text`, of which all tables become dynamic ones, in one pass; return what it becomes."""
    result = converted(text, assume=assume)
    assert [table.verdict for table in result.tables] == [State.APPLIED] * tables, reasons(result)
    assert not converted(result.converted, assume=assume).changed
    return result.converted
