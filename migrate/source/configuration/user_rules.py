"""The user's own rules, from a Python file that registers them."""

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
from migrate.report.model import Applicability
from migrate.source.rules.base import Example, Rule, asking, collecting
from migrate.source.rules.catalogue import catalogue
from migrate.source.settings.options import RuleFile

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
_LOADED: dict[RuleFile, tuple[Rule, ...]] = {}


def read_rule_file(path: str) -> RuleFile:
    """Read the rules of a file, once for each content.

    Raises MigrateError for a file that cannot be read or run, or whose rules are not complete.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise MigrateError(f"{path}: the rules cannot be read ({error.strerror}); name a Python file") from error
    file = RuleFile(path, hashlib.sha256(data).hexdigest())
    if file not in _LOADED:
        _LOADED[file] = _run(file, data)
    return file


def rules_of(files: Sequence[RuleFile]) -> list[Rule]:
    """Return the rules of these files, in their order; raises MigrateError where two have one id."""
    found: dict[str, Rule] = {}
    for file in files:
        # In another process than the one that named the file, it is read here.
        if file not in _LOADED and read_rule_file(file.path) != file:
            raise MigrateError(f"{file.path}: it was changed while the rules were in use; run the command again")
        for rule in _LOADED[file]:
            if rule.id in found:
                raise MigrateError(f"{file.path}: another file has a rule `{rule.id}` as well; give one another id")
            found[rule.id] = rule
    return list(found.values())


def rule_ids(file: RuleFile) -> list[str]:
    """Return the ids of a file's rules."""
    return [rule.id for rule in rules_of([file])]


@contextmanager
def using(files: Sequence[RuleFile]) -> Iterator[None]:
    """Ask the rules of these files, too, while the block runs."""
    with asking(rules_of(files)):
        yield


def line_of_rules(files: Sequence[RuleFile], error: BaseException) -> str:
    """Return the place in one of these files from which an error came, e.g. `own.py, line 3`, or an empty string."""
    paths = {file.path for file in files}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in paths]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else ""


def _run(file: RuleFile, data: bytes) -> tuple[Rule, ...]:
    catalogue()  # so that an id of this package is not given twice
    module = types.ModuleType(f"migrate_rules_{file.digest[:16]}")
    module.__file__ = file.path
    sys.modules[module.__name__] = module
    try:
        with collecting() as found:
            exec(compile(data, file.path, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        raise MigrateError(f"{file.path}: {_where(file, error)}; correct the rule") from error
    if not found:
        raise MigrateError(f"{file.path}: it registers no rule; put `@register` above a rule class")
    for rule in found.values():
        problem = _problem(rule)
        if problem:
            raise MigrateError(f"{file.path}: rule `{rule.id}`: {problem}")
    return tuple(found.values())


def _where(file: RuleFile, error: BaseException) -> str:
    """Return what went wrong, with the line of the user's file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file.path]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    reason = getattr(error, "msg", None) or str(error).split("\n")[0] or type(error).__name__
    if isinstance(error, AttributeError) and "'id'" in reason:
        reason = "a rule needs an `id`"
    return f"line {line}: {reason}" if line else reason


def _problem(rule: Rule) -> str:
    """Return what a rule lacks, in a sentence, or an empty string."""
    from migrate.source.tensorflow.base.rule_kinds import CreationRule, FileRule, LookupRule, UseRule

    kinds = (CreationRule, LookupRule, UseRule, FileRule)
    if not isinstance(rule.id, str) or not ID.fullmatch(rule.id):
        return "its id must be of two or more small words joined by `-`, such as `acme-lookup`"
    if not isinstance(getattr(rule, "title", None), str):
        return "it has no `title`; give it one sentence"
    if not isinstance(rule, kinds):
        return f"it is of no kind that is asked; derive it from {', '.join(kind.__name__ for kind in kinds)}"
    symbols = getattr(rule, "symbols", ())
    if isinstance(rule, CreationRule | LookupRule) and not (symbols and isinstance(symbols, frozenset | set)):
        return 'it has no `symbols`; name the functions that it reads, such as frozenset({"acme.layers.lookup"})'
    if not isinstance(rule.applicability, Applicability | None):
        return "its `applicability` must be an Applicability or None"
    if not all(isinstance(example, Example) for example in rule.examples):
        return "its `examples` must be Examples"
    return ""
