"""No argument is swallowed: each that a program gives keeps its table, is named by a finding, or is carried on.

Every parameter of every symbol that the converter reads is given, by its name and by its place, a value of its own.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from migrate.report.model import State
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from migrate.source.tensorflow.convert import convert
from tests.support.source.keyword_programs import PROGRAMS, V2, Program
from tests.support.source.keyword_programs_of_sdks import OF_SDKS, SIGNATURES_OF_SDKS
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
VALUES = {
    "dtype": "tf.float64", "reuse": "tf.AUTO_REUSE", "combiner": '"sqrtn"', "initializer": "something",
    "embeddings_initializer": "something", "mode": '"fan_out"', "distribution": '"uniform"',
}  # fmt: skip
OPTIONS = Options(assume=True)
ALL = SIGNATURES | SIGNATURES_OF_SDKS


@dataclass(frozen=True)
class Parameters:
    """Those of one symbol, in order; each default as a text, empty where there is none."""

    placed: dict[str, str]
    named: dict[str, str]


def parameters(symbol: str) -> Parameters:
    """Read a signature."""
    (function,) = ast.parse(f"def f({ALL[symbol]}): pass").body
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    defaults = ["" for _ in given.args[len(given.defaults) :]] + [ast.unparse(one) for one in given.defaults]
    placed = {one.arg: default for one, default in zip(given.args, defaults, strict=True)}
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return Parameters(placed, {one.arg: ast.unparse(value) if value else "" for one, value in pairs})


def value_of(name: str, default: str) -> str:
    """Return another value than the default, which is found again."""
    if name in VALUES:
        return VALUES[name]
    plain = ast.literal_eval(default or "None")
    kinds = {bool: str(not plain), float: "0.0371", int: "37", str: '"something"'}
    return kinds.get(type(plain), "something")


def calls(symbol: str, program: Program) -> Iterator[tuple[str, str, str]]:
    """Yield each parameter that may be given besides, its value, and the arguments of a call that gives it."""
    known = parameters(symbol)
    for name, default in {**known.placed, **known.named}.items():
        if name in program.given:
            continue
        value = value_of(name, default)
        yield name, value, ", ".join([*given_to(program), f"{name}={value}"])
        before = [*known.placed][: [*known.placed].index(name)] if name in known.placed else []
        places = [program.given.get(one, known.placed[one]) for one in before]
        if name in known.placed and all(places):
            rest = [f"{one}={text}" for one, text in program.given.items() if one not in before]
            yield name, value, ", ".join([*places, value, *rest])


def given_to(program: Program) -> list[str]:
    """Return the arguments that the call cannot do without."""
    return [text if program.placed else f"{one}={text}" for one, text in program.given.items()]


def written(symbol: str, program: Program, arguments: str) -> str:
    """Return the program with a call of these arguments."""
    call = "opt." + symbol.rpartition(".")[2] if "Optimizer." in symbol else "tf." + symbol
    call = f"t2.{symbol[3:]}" if symbol.startswith("v2.") else symbol if symbol in OF_SDKS else call
    return (V2 if symbol.startswith("v2.") else "") + program.text.replace("{0}", f"{call}({arguments})")


@pytest.mark.parametrize("symbol", [*PROGRAMS, *OF_SDKS])
def test_no_argument_is_swallowed(symbol: str) -> None:
    program = {**PROGRAMS, **OF_SDKS}[symbol]
    plain = ", ".join(given_to(program))
    assert _moves(_converted(written(symbol, program, plain))) or program.refused, "the program itself must convert"
    lost = []
    for name, value, arguments in calls(symbol, program):
        text = written(symbol, program, arguments)
        if not _is_accounted_for(text, name, value, arguments, program) and (symbol, name) not in EQUIVALENT:
            lost.append(arguments)
    assert lost == []


@pytest.mark.parametrize("symbol", [*PROGRAMS, *OF_SDKS])
def test_no_star_is_swallowed(symbol: str) -> None:
    """What stars bring is not seen: the call stays as it is, or so does the table."""
    program = {**PROGRAMS, **OF_SDKS}[symbol]
    for stars in (", ".join([*given_to(program), "**more"]), "*more"):
        result = _converted(written(symbol, program, stars))
        assert (
            f"({stars})" in result.converted.replace("all_rows(W, 9)", "W")
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
    plain = found.__init__ if inspect.isclass(found) else found  # type: ignore[misc]
    assert callable(plain)
    kept = [one for one in inspect.signature(plain).parameters.values() if one.name != "self"]
    return ", ".join(_parameter(one) for one in kept)


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
    if one.default is one.empty:
        return f"{stars}{one.name}"
    literal = isinstance(one.default, int | float | str)
    return f"{one.name}={one.default!r}" if literal else f"{one.name}=None"
