"""The ways in which a Python value travels from where it is made to where it is used, and programs with each.

`python -m tests.support.source.ways > tests/migrate/source/ways.tsv` writes what the converter follows.

The ways are data, in text files beside this one: the first 42 are those that a program is likely to have, then all
others, then those that only a variable of TensorFlow can go. Each is `== NAME`, definitions and a line `--` where it
has any, statements, and `-> EXPRESSION` that reads the value. `VALUE` is the value where it is made.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.paths import ROOT
from tests.support.source.converting import HEAD

HERE = Path(__file__).parent
VALUE = re.compile(r"\bVALUE\b")
IMPORTS = HEAD + "import functools, collections, dataclasses\n"
IDS = "ids = tf.placeholder(tf.int64, [None])\n"
ZEROS = 'tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())'
TABLE = f"W = {ZEROS}\n"
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
SUM = "loss = tf.reduce_sum(e)\n"
DEEP = LOOKUP + 'dn = tf.get_variable("dn", [4, 1])\nloss = tf.reduce_sum(tf.matmul(e, dn))\n'
ADAGRAD = "tf.train.AdagradOptimizer(0.1)"
STEP = f"op = {ADAGRAD}.minimize(loss)\n"


@dataclass(frozen=True)
class Way:
    """One way: what must be defined, what takes the value, and the expression that is the value again."""

    name: str
    definitions: str
    binding: str
    read: str

    def given(self, value: str) -> Way:
        """Return the way of this value: source text of an expression."""
        parts = (VALUE.sub(lambda _: value, part) for part in (self.definitions, self.binding, self.read))
        return Way(self.name, *parts)

    @property
    def makes(self) -> bool:
        """True when a definition makes the value: it must stand behind what the value is made of."""
        return VALUE.search(self.definitions) is not None


@dataclass(frozen=True)
class Kind:
    """A kind of value: the expression that makes one, and the program around its way."""

    made: str
    before: str  #: what stands before the statements of the way, behind its definitions
    after: str  #: what stands behind them; `READ` is the value
    first: str = ""  #: what stands before the definitions

    def program(self, way: Way) -> str:
        """Return the program in which such a value goes that way."""
        one = way.given(self.made)
        head, before = (self.first + self.before, "") if way.makes else (self.first, self.before)
        return IMPORTS + head + one.definitions + before + one.binding + self.after.replace("READ", one.read)


KINDS: Mapping[str, Kind] = {
    "table": Kind(ZEROS, IDS, "e = tf.nn.embedding_lookup(READ, ids)\n" + SUM + STEP),
    "optimizer": Kind(ADAGRAD, IDS + TABLE + DEEP, "op = READ.minimize(loss)\n"),
    "var_list": Kind("tf.trainable_variables()", IDS + TABLE + DEEP, f"op = {ADAGRAD}.minimize(loss, var_list=READ)\n"),
    "gradients": Kind(
        "opt.compute_gradients(loss)", IDS + TABLE + DEEP, "op = opt.apply_gradients(READ)\n", f"opt = {ADAGRAD}\n"
    ),
    "initializer": Kind(
        "tf.random_normal_initializer(stddev=0.1)",
        IDS,
        'W = tf.get_variable("w", [9, 4], initializer=READ)\n' + LOOKUP + SUM + STEP,
    ),
    "shape": Kind(
        "9",
        IDS,
        'W = tf.get_variable("w", [READ, 4], initializer=tf.zeros_initializer())\n' + LOOKUP + SUM + STEP,
    ),
}


def blocks(name: str) -> dict[str, str]:
    """Return the texts of a file beside this one, by what stands behind the `==` over each."""
    texts = re.split(r"^== ", (HERE / name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(text.split("\n", 1) for text in texts)


def _read(name: str) -> tuple[Way, ...]:
    """Return the ways of a file."""
    return tuple(_way(*one) for one in blocks(name).items())


def _way(name: str, text: str) -> Way:
    body, _, read = text.rpartition("-> ")
    definitions, line, binding = body.rpartition("--\n")
    return Way(name, definitions, binding if line else body, read.strip())


FIRST = _read("ways_first.txt")
MORE = _read("ways_more.txt")
OF_TABLES = _read("ways_of_tables.txt")  #: what is read may be a tensor of the table's values, and no Python object
GENERAL = FIRST + MORE
RECORDED = ROOT / "tests" / "migrate" / "source" / "ways.tsv"
ALL = GENERAL + OF_TABLES


def converts(text: str, *, assume: bool = False) -> bool:
    """Return True when a table of the program becomes dynamic; a failure of the converter raises ValueError."""
    result = convert_text("model.py", text, Options(assume=assume), {})
    broken = [finding.message for finding in result.findings if finding.state is State.FAILED]
    if broken:
        raise ValueError(f"{broken[0]}:\n{text}")
    return result.changed


def verdicts(way: Way) -> list[str]:
    """Return `Y` for each kind of value that is followed on that way, `-` for the others."""
    return ["Y" if converts(kind.program(way)) else "-" for kind in KINDS.values()]


def recorded() -> dict[str, list[str]]:
    """Return the lines of ways.tsv by way, its head under `way`."""
    rows = (line.split("\t") for line in RECORDED.read_text(encoding="utf-8").splitlines())
    return {row[0]: row[1:] for row in rows}


def followed(kind: str) -> list[Way]:
    """Return the ways on which a kind of value is followed, as it is recorded."""
    rows, place = recorded(), [*KINDS].index(kind)
    return [way for way in GENERAL if rows[way.name][place] == "Y"]


def lines() -> Iterator[str]:
    """Yield ways.tsv: a head, then a line for each way."""
    yield "\t".join(["way", *KINDS]) + "\n"
    for way in GENERAL:
        yield "\t".join([way.name, *verdicts(way)]) + "\n"


if __name__ == "__main__":
    sys.stdout.writelines(lines())
