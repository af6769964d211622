"""Several ways in one program, chosen at random: behind one another, each binding its names anew, or side by side."""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import random
import symtable
import textwrap
import tokenize
from collections.abc import Iterator

from tests.support.source.ways import GENERAL, IDS, IMPORTS, LOOKUP, STEP, SUM, ZEROS, Way
from tests.support.source.whole_uses import SINKS

#: Ways that need the module's own names, start threads or may wait forever, and those that are followed wrongly.
LEFT_OUT = {"exec", "thread", "async", "queue", "locals()", "globals()", "weakref"}
WAYS = [way for way in GENERAL if way.name not in LEFT_OUT]
TRAINED = f"W = {ZEROS}\n" + LOOKUP + SUM + STEP


class Value:
    """What travels where a chain is tried."""


def chain(ways: list[Way], value: str) -> tuple[str, str]:
    """Return the statements of the ways one after another, and the expression at their end."""
    text = ""
    for way in ways:
        one = way.given(value)
        text, value = text + one.definitions + one.binding, one.read
    return text, value


def leads(text: str, read: str) -> bool:
    """Return True when the value `W` arrives; names that two ways bind may be in each other's way."""
    value = Value()
    modules = {"functools": functools, "collections": collections, "dataclasses": dataclasses}
    names: dict[str, object] = {"__name__": "__main__", "W": value, **modules}
    try:
        exec(f"{text}got = {read}\n", names)
    except Exception:
        return False
    return names["got"] is value


def programs(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield names and program of chains at whose end the whole table is used, in a module or in functions."""
    chosen = random.Random(seed)
    while count:
        parts = chosen.choices(WAYS, k=chosen.choice((2, 2, 3)))
        sink, form = chosen.choice(list(SINKS)), chosen.randrange(3)
        text, read = chain(parts, "W")
        if not leads(text, read) or (form and "global" in text):
            continue
        count -= 1
        yield (
            f"{' + '.join(one.name for one in parts)}: {sink}",
            _program(text + SINKS[sink].replace("READ", read), form),
        )


def _program(text: str, form: int) -> str:
    if form == 0:
        return IMPORTS + IDS + TRAINED + text
    if form == 1:
        return IMPORTS + IDS + TRAINED + "def use(W):\n" + textwrap.indent(text, "    ") + "use(W)\n"
    body = textwrap.indent(TRAINED + text, "    ")
    return IMPORTS + "def build(ids):\n" + body + "build(tf.placeholder(tf.int64, [None]))\n"


def random_program(chance: random.Random, length: int) -> str:
    """Return a program in which several values travel by ways that are drawn, some of them by way of each other."""
    text, reads = "", [f'make("v{number}")' for number in range(3)]
    for step in range(length):
        one = _own_names(chance.choice(WAYS), step).given(chance.choice(reads))
        text += one.definitions + one.binding + _placed(chance, step, f"see({step}, {one.read})") + "\n"
        reads.append(one.read)
        if chance.random() < 0.3:
            text += f"see({1000 + step}, {chance.choice(reads)})\n"
    return text


def _own_names(way: Way, number: int) -> Way:
    """Return a way whose names of the module no other one has; one that finds its own by a text does not run."""
    own = symtable.symtable(way.definitions + way.binding, way.name, "exec").get_symbols()
    bound = {one.get_name() for one in own if (one.is_assigned() or one.is_namespace()) and not one.is_imported()}

    def numbered(text: str) -> str:
        lines, depth, edits = text.splitlines(keepends=True), 0, []
        tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
        for at, one in enumerate(tokens):
            depth += (one.string in {"(", "["}) - (one.string in {")", "]"})
            keyword = depth and tokens[at + 1].string == "="
            if one.string in bound and one.type == tokenize.NAME and tokens[at - 1].string != "." and not keyword:
                edits.append(one.end)
        for row, column in reversed(edits):
            lines[row - 1] = f"{lines[row - 1][:column]}_{number}{lines[row - 1][column:]}"
        return "".join(lines)

    return Way(way.name, numbered(way.definitions), numbered(way.binding), numbered(way.read))


def _placed(chance: random.Random, step: int, line: str) -> str:
    """Return a line as it is, or in a function, a loop or a method that runs at once."""
    if chance.random() < 0.5:
        return line
    around = (
        f"def late{step}():\n    {line}\nlate{step}()",
        f"for _i in range(2):\n    {line}",
        f"class K{step}:\n    def m(self):\n        {line}\nfor _k in [K{step}(), K{step}()]:\n    _k.m()",
        f"try:\n    {line}\n    raise KeyError\nexcept KeyError:\n    {line}",
    )
    return chance.choice(around)
