"""What a machine can check of the texts in code that users read: errors, and what rules say of their findings.

The façades keep the words of the SDKs whose names they offer, so errors of `runtime/compat` are not checked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from migrate.source.rules.base import refusals_of
from migrate.source.rules.catalogue import catalogue
from tests.support.paths import ROOT

#: Verbs with which an action begins; a further one is added here once it has been looked at.
VERBS = re.compile(
    r"(access|add|apply|assign|bind|build|call|cast|check|choose|clip|compute|convert|disable|dump|export|give|import"
    r"|keep|leave|let|list|log|look|make|name|normalize|open|pass|read|regularize|remove|rename|replace|reshape|return"
    r"|run|save|separate|set|store|take|train|update|use|wrap|write)\b"
)
#: What else one may begin with: an option that is the remedy, a condition, or a restriction.
OTHER_BEGINNINGS = ("`--", "{", "if ", "only ")
DOUBLED = re.compile(r"\b(\w+(?: \w+){1,4}),? \1\b")
#: Words of a dialect, or of letters, where technical English has a usual one.
UNUSUAL = re.compile(
    r"\b(anew|thereof|hereby|whilst|amongst|don't|can't|won't|isn't|doesn't|wanna)\b"
    r"|\b(initial|normal|regular|recogn|serial|optim|summar|general|special|real)is(e[ds]?|ing|ation)\b"
)
#: The end of an error that tells the remedy, or leaves it to what it was told.
REMEDY = re.compile(r"[;:] |\{…\}\)?$")


def texts(node: ast.AST) -> str | None:
    """Return the text of a string or an f-string, with `{…}` for what is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
    return None


def errors(*packages: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, class and text of each error whose text is written where it is raised."""
    for path in (path for package in packages for path in sorted((ROOT / package).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            for text in map(texts, node.args) if name.endswith("Error") or name == "Refuse" else ():
                if text and " " in text:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", name, text


def is_facade(place: str) -> bool:
    return Path(place).parts[:2] == ("runtime", "compat")


FOUND = list(errors("migrate", "rewriter", "runtime"))


def test_errors_are_found() -> None:
    assert len(FOUND) > 1000


@pytest.mark.parametrize("form", [DOUBLED, UNUSUAL, re.compile(r"  |\s$|[^.]\.$")], ids=["doubled", "unusual", "ends"])
def test_errors_are_plain_sentences(form: re.Pattern[str]) -> None:
    wrong = [(place, text) for place, _, text in FOUND if not is_facade(place) and form.search(text)]
    assert not wrong


def test_an_error_of_a_command_tells_the_remedy() -> None:
    wrong = [(place, text) for place, name, text in FOUND if name == "MigrateError" and not REMEDY.search(text)]
    assert not wrong, "an error is one sentence: the thing, what is wrong, the remedy (docs/style.md)"


def test_what_rules_say_is_plain() -> None:
    rows = [(rule.id, row) for rule in catalogue() for row in refusals_of(rule)]
    said = [
        (rule, text) for rule, row in rows for text in (row.message, row.reason, row.action, row.assumption) if text
    ]
    assert len(rows) > 300
    assert not [one for one in said if DOUBLED.search(one[1]) or UNUSUAL.search(one[1]) or "  " in one[1]]
    plain = [(rule, text) for rule, text in said if not text.startswith(("`", "{"))]
    names = ("DeepRec", "Horovod", "SOK", "TensorFlow", "Keras", "XLA")
    assert not [one for one in plain if one[1][0].isupper() and not one[1].startswith(names)]


def test_an_action_begins_with_a_verb() -> None:
    actions = {row.action for rule in catalogue() for row in refusals_of(rule) if row.action}
    assert not [one for one in actions if not VERBS.match(one) and not one.startswith(OTHER_BEGINNINGS)]
