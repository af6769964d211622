"""No argument is swallowed: each that a program gives keeps its table, is named by a finding, or is carried on.

Every parameter of every symbol that the converter reads is given, by its name and by its place, a value of its own.
"""

from __future__ import annotations

import ast
import inspect
import re

import pytest

from migrate.report.model import State
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from migrate.source.tensorflow.convert import convert
from tests.support.source.keyword_calls import calls, given_to, written
from tests.support.source.keyword_programs import PROGRAMS, Program
from tests.support.source.tensorflow_signatures import SIGNATURES

pytestmark = pytest.mark.each_case

#: What means the same without a word: (symbol, parameter) -> why.
EQUIVALENT = {
    ("variable_scope", "default_name"): "TensorFlow reads it where no name is given",
    ("variable_scope", "values"): "they must be of one graph, and are nothing else",
    ("variable_scope", "reuse"): "one table is made for each name, as one variable was",
    ("variable_scope", "use_resource"): "it decides how variables are kept, and the scope stays for others",
    ("variable_scope", "auxiliary_name_scope"): "it names operations",
}
OPTIONS = Options(assume=True)
#: Each third; `make soak` takes all.
SYMBOLS = [pytest.param(symbol, marks=[pytest.mark.soak] if place % 3 else []) for place, symbol in enumerate(PROGRAMS)]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_no_argument_is_swallowed(symbol: str) -> None:
    program = PROGRAMS[symbol]
    plain = ", ".join(given_to(program))
    assert _moves(_converted(written(symbol, program, plain))) or program.refused, "the program itself must convert"
    lost = []
    for name, value, arguments in calls(symbol, program):
        text = written(symbol, program, arguments)
        if not _is_accounted_for(text, name, value, arguments, program) and (symbol, name) not in EQUIVALENT:
            lost.append(arguments)
    assert lost == []


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_no_star_is_swallowed(symbol: str) -> None:
    """What stars bring is not seen: the call stays as it is, or so does the table."""
    program = PROGRAMS[symbol]
    for stars in (", ".join([*given_to(program), "**more"]), "*more"):
        result = _converted(written(symbol, program, stars))
        assert (
            f"({stars})" in result.converted.replace("all_rows(W)", "W")
            or not _moves(result)
            or "more" in _said(result)
        ), stars


def _converted(text: str) -> SourceResult:
    result = convert("model.py", text, OPTIONS)
    assert not [f for f in result.findings if f.state is State.FAILED], result.findings
    ast.parse(result.converted)
    return result


def _moves(result: SourceResult) -> bool:
    return any(table.verdict is State.APPLIED for table in result.tables)


def _said(result: SourceResult) -> str:
    """Return the words of all findings without the code that they quote."""
    words = [word for f in result.findings for word in (f.message, f.reason, f.action, *f.assumptions)]
    return "\n".join(re.sub(r"`[^`]*\([^`]*`", "", word) for word in words)


def _is_accounted_for(text: str, name: str, value: str, arguments: str, program: Program) -> bool:
    result = _converted(text)
    if not _moves(result):
        return bool(result.findings) if result.tables else not result.changed
    if re.search(rf"\b{name}\b", _said(result)):
        return True
    before = text.splitlines()
    added = "\n".join(line for line in result.converted.splitlines() if line not in before)
    if arguments in added or (value in added if value not in {"True", "False"} else f"={value}" in added):
        return True
    (line,) = [line for line in before if arguments in line]
    return program.stays and line in result.converted.splitlines()


def test_the_signatures_are_those_of_tensorflow() -> None:
    tf = pytest.importorskip("tensorflow")
    if not tf.__version__.startswith("2.15"):
        pytest.skip("the table is that of TensorFlow 2.15")
    assert {symbol: signature_of(tf, symbol) for symbol in SIGNATURES} == SIGNATURES


def signature_of(tf: object, symbol: str) -> str:
    """Return the parameters of a symbol as the table has them."""
    found: object = tf
    for part in symbol.removeprefix("v2.").split(".") if symbol[:3] == "v2." else ["compat", "v1", *symbol.split(".")]:
        found = getattr(found, part)
    plain = found.__init__ if inspect.isclass(found) else found
    assert callable(plain)
    kept = [one for one in inspect.signature(plain).parameters.values() if one.name != "self"]
    return ", ".join(_parameter(one) for one in kept)


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
    if one.default is one.empty:
        return f"{stars}{one.name}"
    literal = isinstance(one.default, int | float | str)
    return f"{one.name}={one.default!r}" if literal else f"{one.name}=None"
