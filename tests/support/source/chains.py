"""Several ways behind one another, chosen at random: names are bound anew, and what one gives goes into the next."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
import textwrap
from collections.abc import Iterator

from tests.support.source.ways import GENERAL, IDS, IMPORTS, LOOKUP, STEP, SUM, ZEROS, Way
from tests.support.source.whole_uses import SINKS

#: Ways that need the module's own names, start threads or may wait forever, and those that are followed wrongly.
LEFT_OUT = {"exec", "thread", "async", "queue", "locals()", "globals()", "weakref"}
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
    chosen, ways = random.Random(seed), [way for way in GENERAL if way.name not in LEFT_OUT]
    while count:
        parts = chosen.choices(ways, k=chosen.choice((2, 2, 3)))
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
