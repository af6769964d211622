"""What a finding says and what the JSON record holds, from the data classes and their comments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from migrate.report import model, words
from tests.support.paths import ROOT

_MODEL = ROOT / "migrate" / "report" / "model.py"
_MARK = "#:"


def findings() -> str:
    """Return the page on what a finding says."""
    enums = {name: list(fields) for name, _, fields in _classes(_MODEL) if name in {"State", "Applicability"}}
    comments = {name: text for name, _, text in enums["State"]}
    parts = [_FINDINGS]
    for state in model.State:
        parts.append(f"{words.STATES[state]} (`{state.value}`)\n:   {_sentence(comments[state.name])}\n\n")
    parts.append("## Whether values stay the same\n\n")
    for one in model.Applicability:
        parts.append(f"{words.APPLICABILITIES[one]} (`{one.value}`)\n:   {_SAME[one]}\n\n")
    parts.append("## What a finding holds\n\n" + _fields("Finding"))
    return "".join(parts)


def record() -> str:
    """Return the page on the JSON record."""
    name, major, minor = model.SCHEMA
    parts = [_RECORD.format(schema=f'`{{"name": "{name}", "major": {major}, "minor": {minor}}}`')]
    for name, text, _ in _classes(_MODEL):
        if name[0] != "_" and name not in {"State", "Applicability", "Report"}:
            parts.append(f"## {name}\n\n{text}\n\n{_fields(name)}")
    return "".join(parts)


_FINDINGS = """# Findings

A *finding* is one thing that was found in your source, at a line, and what became of it.
The words in the terminal, in reports and in this documentation are the same; the word in brackets stands in JSON.
[How findings are worded](../style.md) is fixed, too.

## Verdicts

"""
_SAME = {
    model.Applicability.EXACT: "The converted code computes the same values, by construction.",
    model.Applicability.ASSUMPTION: "It does so if what the finding states holds. You ask for it with `--assume`.",
    model.Applicability.OBSERVED: "It does so for what recorded runs did; in reports of version 0.1 alone.",
    model.Applicability.IN_GRAPH: (
        "The source stays as it was: the program rewrites its graphs when it runs, to the same values (`--evidence`)."
    ),
    model.Applicability.CHANGES_VALUES: "It computes other values, and the finding says which.",
}
_RECORD = """# The JSON record

`--report FILE.json` writes a record, and `migrate report` reads it.
Equal conversions give equal bytes: it holds no clock and no name of a machine but under `environment`.
`migrate report schema` prints its [JSON Schema](../report.schema.json).

`schema`
:   {schema}. A new minor version only adds keys. A new major version may change them.

`tool`
:   Name and version of the program.

`command`
:   The command line that makes the record again.

`summary`
:   The verdict as a word and a sentence, counts, and the remaining work in order.

`inputs`, `stages`, `findings`, `rules`, `tables`, `verification`
:   Lists of the objects below: `InputFile`, `Stage`, `Finding`, `RuleRecord`, `TableRecord`, `Verification`.

`rules`
:   What the rules of the findings say of themselves, as `RuleRecord`. Records before 1.5 have none.

`environment`
:   Versions and platform.

"""


def _fields(name: str) -> str:
    """Return the fields of a class; raises LookupError for one without a comment."""
    fields = next(fields for found, _, fields in _classes(_MODEL) if found == name)
    if bare := [field for field, _, text in fields if not text]:
        raise LookupError(f"`{name}` has fields without a comment: {bare}; say behind each what it is")
    return "".join(f"`{field}`: {kind}\n:   {_sentence(text)}\n\n" for field, kind, text in fields)


def _sentence(text: str) -> str:
    return f"{text[0].upper() if text[0].isalpha() else text[0]}{text[1:].rstrip('.')}."


def _classes(path: Path) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """Yield each class of a module: its name, its docstring, and name, type and comment of each field.

    A comment stands behind its field, or above it after `#:`.
    """
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            fields = [(name, kind, _comment(lines, line)) for name, kind, line in _assigned(node)]
            yield node.name, ast.get_docstring(node) or "", fields


def _assigned(node: ast.ClassDef) -> Iterator[tuple[str, str, int]]:
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            yield one.target.id, _kind(ast.unparse(one.annotation)), one.lineno
        elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            yield one.targets[0].id, "", one.lineno


def _kind(annotation: str) -> str:
    """Return a type as it stands in JSON."""
    if annotation.startswith("tuple[tuple["):
        return "object"
    listed = annotation.startswith("tuple[")
    name = annotation.removeprefix("tuple[").removesuffix(", ...]")
    optional = " or null" if name.endswith(" | None") else ""
    name = name.removesuffix(" | None")
    plain = {"str": "string", "int": "integer", "float": "number", "bool": "true or false", "State": "verdict"}
    return f"list of {plain.get(name, name)}" if listed else plain.get(name, name) + optional


def _comment(lines: list[str], line: int) -> str:
    _, _, behind = lines[line - 1].partition("  #")
    if behind:
        return behind.lstrip(": ")
    above = lines[line - 2].strip()
    return above.removeprefix(_MARK).strip() if above.startswith(_MARK) else ""
