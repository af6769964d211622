"""Converts one file in memory: decodes it, selects the front end, converts, and checks the result."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from migrate.errors import MigrateError
from migrate.report.model import Finding, Location, State, with_ids
from migrate.source.configuration.report_filter import chosen
from migrate.source.configuration.user_rules import line_of_rules, using
from migrate.source.driver.sanity_check import check_unchanged
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.encoding import SourceText, UnreadableSource, decode, parsed
from migrate.source.files.notebook import SUFFIX, convert_notebook, notebook_of
from migrate.source.project.discovery import framework_in
from migrate.source.settings.options import Options
from migrate.source.settings.suppressions import keep_file, read_comments
from migrate.source.syntax.unbound_names import check_names

RULE = "source-file"
#: Python's default limit (1000) fails for expressions of 100 levels; this one is far below a stack of 8 MiB.
RECURSION_LIMIT = 4000
DEEP = 100  #: levels of nesting from which a failure is attributed to the nesting


def convert_bytes(path: str, data: bytes, options: Options, siblings: Mapping[str, str]) -> tuple[SourceResult, bytes]:
    """Return the result of one file, and the bytes to write (equal to `data` when nothing changed).

    A file that cannot be read or converted gives a `failed` finding, not an exception. Only a MigrateError, i.e. an
    error of the user such as a wrong schema, is raised.
    """
    result, converted = _convert_bytes(path, data, options, siblings)
    return replace(result, target=options.target), converted


def _convert_bytes(path: str, data: bytes, options: Options, siblings: Mapping[str, str]) -> tuple[SourceResult, bytes]:
    if path.endswith(SUFFIX):
        return convert_notebook(path, data, lambda name, text: convert_text(name, text, options, siblings), failed)
    try:
        source = decode(data)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return failed(path, "", f"the text cannot be decoded: {error}", "save it as UTF-8"), data
    result = convert_text(path, source.text, options, siblings)
    try:
        return result, _encoded(source, result, data)
    except UnicodeEncodeError as error:
        return failed(path, source.text, f"the result cannot be encoded: {error}", "save it as UTF-8"), data


def _encoded(source: SourceText, result: SourceResult, data: bytes) -> bytes:
    return source.encode(result.converted) if result.changed else data


def convert_text(path: str, text: str, options: Options, siblings: Mapping[str, str]) -> SourceResult:
    """Return the result for a decoded file, after `check` has accepted it."""
    with _deep_recursion():
        module, problem, line = parsed(text)
        if module is None:
            if PurePath(notebook_of(path)).suffix not in {".py", SUFFIX, ""}:
                problem = f"it is not a Python file ({problem}); give .py files, notebooks, or folders of them"
            return failed(path, text, problem, "" if "; " in problem else "correct the file", line)
        try:
            kind = framework_in(module, text)
            kept = keep_file(path, read_comments(text))
            if kept is not None and kind != "other":
                return SourceResult(path, kind, text, text, with_ids([kept]))
            with using(options.rule_files):
                result = _frontend(kind, path, text, options, siblings)
                if result.changed:
                    check(result, module, siblings)
                return result
        except MigrateError:
            raise
        except UnreadableSource as error:
            return failed(path, text, str(error), "save the file with line feeds")
        except Exception as error:
            return _blame(path, text, module, options, error)


def _frontend(kind: str, path: str, text: str, options: Options, siblings: Mapping[str, str]) -> SourceResult:
    if kind == "tensorflow" or (kind == "other" and options.project is not None):
        from migrate.source.tensorflow import convert as one_file

        return one_file.convert(path, text, options, kind)
    if kind == "paddle":
        from migrate.source.paddle import convert

        if not options.selection.wants("paddle-layer-class"):
            return SourceResult(path, kind, text, text)
        result: SourceResult = convert.convert(path, text, options, siblings)
        return replace(result, findings=chosen(path, result.findings, options, read_comments(text)))
    return SourceResult(path, "other", text, text)


def check(result: SourceResult, original: ast.Module, siblings: Mapping[str, str]) -> None:
    """Raise ValueError (or SyntaxError) unless the conversion is sound.

    The result must parse, must bind every name that it reads, and must not change code outside the edited lines. A
    Paddle module is rewritten completely, so its code may change everywhere.
    """
    module = ast.parse(result.converted)
    check_names(result.original, result.converted)
    for name, text in result.outputs.items():
        if name.endswith(".py"):
            check_names(siblings.get(name), text)
    if result.kind == "tensorflow":
        check_unchanged(original, result.original, module, result.converted)


def _blame(path: str, text: str, module: ast.Module, options: Options, error: Exception) -> SourceResult:
    """Return the result for a file on which the converter failed; libcst raises various errors on deep nesting."""
    if _depth(module) > DEEP:
        return failed(path, text, "the code is nested too deeply", "split its longest expression")
    if type(error).__name__ == "ParserSyntaxError":  # of libcst, which is not imported here to start fast
        problem = "libcst cannot parse the file, although Python can (mixed tabs and spaces?)"
        return failed(path, text, problem, "indent the file with spaces only")
    reason = str(error).splitlines()[0] if str(error) else ""
    own = line_of_rules(options.rule_files, error)
    problem = f"{own or 'the converter'} failed ({type(error).__name__}: {reason})"
    return failed(path, text, problem, "correct the rule" if own else "report this file as a bug")


def _depth(module: ast.AST) -> int:
    """Return the depth of a syntax tree, without recursion."""
    depth, level = 0, [module]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


@contextlib.contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def failed(path: str, text: str, message: str, action: str, line: int = 1) -> SourceResult:
    """Return the result of a file that is left unchanged because it cannot be read or converted."""
    finding = Finding(RULE, "file", State.FAILED, Location(path, line, line), message, action=action)
    return SourceResult(path, "other", text, text, with_ids([finding]))
