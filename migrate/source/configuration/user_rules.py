"""Loads custom rules from Python files that register them."""

from __future__ import annotations

import hashlib
import re
import sys
import traceback
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular
from migrate.report.model import Applicability
from migrate.source.rules.base import Example, Rule, asking, collecting
from migrate.source.rules.catalogue import catalogue
from migrate.source.settings.options import RuleFile

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
_LOADED: dict[RuleFile, tuple[Rule, ...]] = {}


def read_rule_file(path: str) -> RuleFile:
    """Load the rules of a file, once per content.

    Raises MigrateError for a file that cannot be read or executed, or whose rules are incomplete.
    """
    try:
        data = read_regular(Path(path))
    except OSError as error:
        raise MigrateError(f"{path}: cannot be read as rules ({error.strerror}); give a Python file") from error
    file = RuleFile(path, hashlib.sha256(data).hexdigest())
    if file not in _LOADED:
        _LOADED[file] = _run(file, data)
    return file


def rules_of(files: Sequence[RuleFile]) -> list[Rule]:
    """Return the rules of these files, in order; raises MigrateError if two have the same id."""
    by_id: dict[str, Rule] = {}
    for file in files:
        # Worker processes have not loaded the file yet.
        if file not in _LOADED and read_rule_file(file.path) != file:
            raise MigrateError(f"{file.path}: was changed while this command ran; run it again")
        for rule in _LOADED[file]:
            if rule.id in by_id:
                raise MigrateError(f"{file.path}: another file also has a rule `{rule.id}`; change one of the two ids")
            by_id[rule.id] = rule
    return list(by_id.values())


def loaded() -> list[Rule]:
    """Return the rules of all files that were read, one of each id."""
    return list({rule.id: rule for rules in _LOADED.values() for rule in rules}.values())


def rule_ids(file: RuleFile) -> list[str]:
    """Return the ids of a file's rules."""
    return [rule.id for rule in rules_of([file])]


@contextmanager
def using(files: Sequence[RuleFile]) -> Iterator[None]:
    """Also apply the rules of these files while the block runs."""
    with asking(rules_of(files)):
        yield


def line_of_rules(files: Sequence[RuleFile], error: BaseException) -> str:
    """Return the line of these files that raised an error, e.g. `own.py, line 3`, or an empty string."""
    paths = {file.path for file in files}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in paths]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else ""


def _run(file: RuleFile, data: bytes) -> tuple[Rule, ...]:
    catalogue()  # so that registering an id of a built-in rule fails
    module = types.ModuleType(f"migrate_rules_{file.digest[:16]}")
    module.__file__ = file.path
    sys.modules[module.__name__] = module
    try:
        with collecting() as collected:
            exec(compile(data, file.path, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        raise MigrateError(f"{file.path}: {_where(file, error)}; correct the rule") from error
    if not collected:
        raise MigrateError(f"{file.path}: registers no rule; put `@register` above a rule class")
    for rule in collected.values():
        problem = _problem(rule)
        if problem:
            raise MigrateError(f"{file.path}: rule `{rule.id}`: {problem}")
    return tuple(collected.values())


def _where(file: RuleFile, error: BaseException) -> str:
    """Return the error message, with the line of the user's file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file.path]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    said = getattr(error, "msg", None) or str(error).split("\n")[0]
    reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if isinstance(error, AttributeError) and "'id'" in reason:
        reason = "a rule needs an `id`"
    return f"line {line}: {reason}" if line else reason


def _problem(rule: Rule) -> str:
    """Return a sentence on what is wrong with a rule, or an empty string."""
    from migrate.source.tensorflow.base.rule_kinds import CreationRule, FileRule, LookupRule, UseRule

    kinds = (CreationRule, LookupRule, UseRule, FileRule)
    if not isinstance(rule.id, str) or not ID.fullmatch(rule.id):
        return "its id must consist of at least two lower-case words joined by `-`, such as `acme-lookup`"
    if not isinstance(getattr(rule, "title", None), str):
        return "it has no `title`; add a one-line title"
    if not isinstance(rule, kinds):
        return f"it has no known kind; derive it from one of {', '.join(kind.__name__ for kind in kinds)}"
    symbols = getattr(rule, "symbols", ())
    if isinstance(rule, (CreationRule, LookupRule)) and not (symbols and isinstance(symbols, (frozenset, set))):
        return 'it has no `symbols`; list the functions that it matches, such as frozenset({"acme.layers.lookup"})'
    if not isinstance(rule.applicability, (Applicability, type(None))):
        return "its `applicability` must be an `Applicability` or None"
    if not all(isinstance(example, Example) for example in rule.examples):
        return "its `examples` must be instances of `Example`"
    return ""
