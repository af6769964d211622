"""Calls of the symbols that the converter reads: each parameter is given, by its name and by its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.source.keyword_programs import V2, Program
from tests.support.source.tensorflow_signatures import SIGNATURES

VALUES = {
    "dtype": "tf.float64", "reuse": "tf.AUTO_REUSE", "combiner": '"sqrtn"', "initializer": "something",
    "embeddings_initializer": "something", "mode": '"fan_out"', "distribution": '"uniform"',
}  # fmt: skip


@dataclass(frozen=True)
class Parameters:
    """Those of one symbol, in order; each default as a text, empty where there is none."""

    placed: dict[str, str]
    named: dict[str, str]


def parameters(symbol: str) -> Parameters:
    """Read a signature."""
    (function,) = ast.parse(f"def f({SIGNATURES[symbol]}): pass").body
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
    call = f"t2.{symbol[3:]}" if symbol.startswith("v2.") else call
    return (V2 if symbol.startswith("v2.") else "") + program.text.replace("{0}", f"{call}({arguments})")
