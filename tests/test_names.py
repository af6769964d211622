"""Names are the field's: words that say nothing of a value become fewer, and retired names do not come back."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT

#: Words that may name what a comprehension goes through, and nothing else.
EMPTY = {"one", "found", "made", "told", "given"}
#: How many times each package binds one of them: `found` of a proof's record and of a tier's status are formats.
BOUND = {"migrate": 0, "rewriter": 1, "runtime": 1}


def _bound(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code binds, but for those of comprehensions."""
    own = {id(name) for node in ast.walk(tree) if isinstance(node, ast.comprehension) for name in ast.walk(node.target)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in own:
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@pytest.mark.parametrize("package", BOUND)
def test_names_say_what_a_value_is(package: str) -> None:
    retired = _retired()
    counts = Counter[str]()
    for path in sorted((ROOT / package).rglob("*.py")):
        counts.update(_bound(ast.parse(path.read_text())))
    back = {name: retired[name] for name in counts.keys() & retired.keys()}
    assert not back, "the glossary in CONTRIBUTING.md has another name for these"
    empty = sum(counts[name] for name in EMPTY)
    assert empty <= BOUND[package], f"{empty} names of {sorted(EMPTY)}: say what the new ones are"


def _retired() -> dict[str, str]:
    """Return retired name -> what says it, from the glossary in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("### Names")[2].partition("\n### ")[0].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    return {name: term.strip() for term, _, once in rows for name in re.findall(r"`(\w+)`", once)}
