"""Converts one file in memory: decode, find the frontend, convert, check the result. Nothing is written here."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from migrate.errors import MigrateError
from migrate.report.model import Finding, Location, State, with_ids
from migrate.source.chosen import chosen
from migrate.source.comments import keep_file, read_comments
from migrate.source.discover import framework_of
from migrate.source.options import Options
from migrate.source.result import SourceResult
from migrate.source.rules.local import line_of_rules, using
from migrate.source.text import SourceText, UnreadableSource, decode, syntax_problem

RULE = "source-file"


def convert_bytes(path: str, data: bytes, options: Options, siblings: Mapping[str, str]) -> tuple[SourceResult, bytes]:
    """Return the result of one file, and the bytes to write (equal to `data` when nothing changed).

    A file that cannot be read or converted gives a `failed` finding, never an exception; a MigrateError of a frontend
    (a wrong schema, say) is the user's and passes through.
    """
    try:
        source = decode(data)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return failed(path, "", f"its text cannot be decoded: {error}", "save it as UTF-8"), data
    result = convert_text(path, source.text, options, siblings)
    return result, _encoded(source, result, data)


def _encoded(source: SourceText, result: SourceResult, data: bytes) -> bytes:
    return source.encode(result.converted) if result.changed else data


def convert_text(path: str, text: str, options: Options, siblings: Mapping[str, str]) -> SourceResult:
    """Return the result for a decoded file; the conversion is checked before it is handed out."""
    problem = syntax_problem(text)
    if problem:
        return failed(path, text, problem, "repair it; it is left as it is")
    try:
        comments = read_comments(text)
        kept = keep_file(path, comments)
        kind = framework_of(text)
        if kept is not None and kind != "other":
            return SourceResult(path, kind, text, text, with_ids([kept]))
        with using(options.rule_files):
            result = _frontend(kind, path, text, options, siblings)
            if result.changed:
                check(result, options, siblings)
            return result
    except MigrateError:
        raise
    except UnreadableSource as error:
        return failed(path, text, str(error), "save it with line feeds")
    except (Exception, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else ""
        own = line_of_rules(options.rule_files, error)
        problem = f"{own or 'the converter'} failed ({type(error).__name__}: {reason})"
        return failed(path, text, problem, "correct the rule" if own else "report this file")


def _frontend(kind: str, path: str, text: str, options: Options, siblings: Mapping[str, str]) -> SourceResult:
    if kind == "tensorflow":
        from migrate.source.frontends import tensorflow

        return tensorflow.convert(path, text, options)
    if kind == "paddle":
        from migrate.source.frontends import paddle

        if not options.selection.wants("paddle-layer-class"):
            return SourceResult(path, kind, text, text)
        result: SourceResult = paddle.convert(path, text, options, siblings)
        return replace(result, findings=chosen(path, result.findings, options, read_comments(text)))
    return SourceResult(path, "other", text, text)


def check(result: SourceResult, options: Options, siblings: Mapping[str, str]) -> None:
    """Raise ValueError (or SyntaxError) unless the result parses and a second conversion would leave it alone."""
    ast.parse(result.converted)
    kind = framework_of(result.converted)
    again = _frontend(kind, result.path, result.converted, options, siblings)
    if again.changed:
        raise ValueError("a second conversion would change the result again")


def failed(path: str, text: str, message: str, action: str) -> SourceResult:
    """Return the result of a file that is left as it is because it cannot be read or converted."""
    finding = Finding(RULE, "file", State.FAILED, Location(path, 1, 1), message, action=action)
    return SourceResult(path, "other", text, text, with_ids([finding]))
