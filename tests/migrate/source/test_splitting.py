"""Programs of one file, split over several: the verdict is not more hopeful, and what converts trains as before."""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from migrate.source.tensorflow.base.rule_kinds import CreationRule, LookupRule
from migrate.source.tensorflow.base.rule_registry import rules
from tests.support import forking
from tests.support.source import chains, escapes, otherwise_trained, whole_uses
from tests.support.source.converting import converted, reasons
from tests.support.source.keyword_calls import calls, written
from tests.support.source.keyword_programs import PROGRAMS
from tests.support.source.projects import convert, importable, write
from tests.support.source.splitting import ENTRY, LAYOUTS, Files, converts_split, cuts, reasons_split, split
from tests.support.source.ways import ALL, GENERAL, converts

HEAD = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\nids = tf.placeholder(tf.int64, [None])\n"
#: A program with a helper, a configuration, a table and a bias; it prints its losses.
PROGRAM = (
    HEAD
    + """RATE, ROWS = 0.1, 9
def scaled(x, by=2.0):
    return x * by
class Model:
    def __init__(self, rows):
        self.table = tf.get_variable("w", [rows, 4], initializer=tf.ones_initializer())
        self.bias = tf.get_variable("b", [4], initializer=tf.ones_initializer())
    def rows(self, ids):
        return scaled(tf.nn.embedding_lookup(self.table, ids))
model = Model(ROWS)
loss = tf.reduce_sum(tf.square(model.rows(ids) + model.bias))
step = tf.train.AdagradOptimizer(RATE).minimize(loss)
losses = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
        losses.append(float(session.run([loss, step], {ids: [1, 2, 2]})[0]))
print(losses)
"""
)
#: The parts of a program with the same losses as `PROGRAM`'s first, of a table that no gradient reaches.
NOT_TRAINED = {
    "helpers.py": "import tensorflow.compat.v1 as tf\ndef fixed(x):\n    return tf.stop_gradient(x)\n",
    "main.py": HEAD
    + """import helpers
W = tf.get_variable("w", [9, 4], initializer=tf.ones_initializer())
b = tf.get_variable("b", [4], initializer=tf.ones_initializer())
loss = tf.reduce_sum(tf.square(helpers.fixed(tf.nn.embedding_lookup(W, ids)) + b))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
losses = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        losses.append(float(session.run([loss, step], {ids: [1, 2]})[0]))
print(losses)
""",
}


def hostile() -> Iterator[tuple[str, str]]:
    """Yield name and text of programs that must stay; the generators' subjects take turns."""
    yield from ((f"{way}: {sink}", text) for way, sink, text in whole_uses.programs())
    yield from chains.programs(seed=11, count=600)
    head, *lines = (Path(__file__).parent / "escapes.tsv").read_text(encoding="utf-8").splitlines()
    for holder, *verdicts in (line.split("\t") for line in lines):
        for escape, verdict in zip(head.split("\t")[1:], verdicts, strict=True):
            if verdict != "Y":  # under an assumption alone: of what a library does
                yield f"{holder}: {escape}", escapes.program(holder, escape)
    others = [one for one in otherwise_trained.programs() if not otherwise_trained.SUBJECTS[one[0]][one[1]].converts]
    yield from ((f"{subject}: {sink} by {way}", text) for subject, sink, way, text in others[::7])


def more_hopeful(programs: Iterable[tuple[int, tuple[str, str]]]) -> list[str]:
    """Return the programs that are converted once they are split, though not as one file."""
    found = []
    for number, (name, text) in programs:
        parts = split(text, number)
        if parts is not None and converts_split(parts[1]) and not converts(text):
            found.append(f"{name} [{parts[0]}]")
    return found


def run(root: Path, files: Files, layout: str = "") -> list[float]:
    """Return the losses that a program prints."""
    write(root, files)
    done = forking.run(ENTRY.get(layout, "main.py"), cwd=root)
    assert done.returncode == 0, done.stderr
    return [float(one) for one in json.loads(done.stdout.splitlines()[-1])]


def converted_files(root: Path, files: Files) -> Files:
    """Return the files of a program with what it is converted to."""
    results = convert(write(root, files))
    assert any(one.changed for one in results.values())
    return files | {name: one.converted for name, one in results.items()}


class Value:
    """What travels where the layouts are tried."""


def test_a_split_program_computes_the_same(tmp_path: Path) -> None:
    tried = collections.Counter[str]()
    imports = "import functools, collections, dataclasses\nfrom given import the_value\n"
    for number, way in enumerate(GENERAL[::3]):
        one = way.given("the_value")
        check = f"import given\ngiven.found.append({one.read})\n"
        parts = split(imports + one.definitions + one.binding + check, number)
        if parts is None:
            continue
        layout, files = parts
        tried[layout] += 1
        root = write(tmp_path / str(number), {"given.py": "the_value, found = object(), []\n", **files})
        with importable(root):
            names: dict[str, object] = {"__name__": "main"}
            text = files[ENTRY.get(layout, "main.py")]
            exec(compile(text, "main.py", "exec"), names)
            import given  # type: ignore[import-not-found]  # of the program

            assert given.found == [given.the_value], (way.name, layout)
    assert set(tried) == set(LAYOUTS)
    assert functools and dataclasses  # what the ways use


def test_a_sample_of_split_programs_stays() -> None:
    sample = [*enumerate(hostile())][::179]
    assert len(sample) > 25
    assert not more_hopeful(sample)


@pytest.mark.soak
@pytest.mark.each_case
@pytest.mark.parametrize("part", range(6))
def test_all_split_programs_stay(part: int) -> None:
    assert len(ALL) * len(whole_uses.SINKS) > 1000
    programs = [*enumerate(hostile())]
    assert len(programs) > 4000
    assert not more_hopeful(programs[part::6])


def keywords() -> Iterator[tuple[str, str, str]]:
    """Yield calls of symbols of TensorFlow, the parameter that each gives besides, and a program with the call."""
    for symbol, program in PROGRAMS.items():
        for name, _, arguments in calls(symbol, program):
            yield f"{symbol}({arguments})", name, written(symbol, program, arguments)


def swallowed(programs: Iterable[tuple[int, tuple[str, str, str]]]) -> list[str]:
    """Return the calls of which an argument keeps a table or is named in one file, and not so in several."""
    lost = []
    for number, (shown, name, text) in programs:
        parts = split(text, number)
        if parts is None or not converts_split(parts[1], assume=True):
            continue
        one = converted(text, assume=True)
        word = re.compile(rf"\b{name}\b")
        if not one.changed or (word.search(reasons(one)) and not word.search(reasons_split(parts[1]))):
            lost.append(f"{shown} [{parts[0]}]")
    return lost


def test_a_sample_of_keywords_of_split_programs_is_named() -> None:
    sample = [*enumerate(keywords())][::41]
    assert len(sample) > 15
    assert not swallowed(sample)


@pytest.mark.soak
@pytest.mark.each_case
@pytest.mark.parametrize("turn", range(3))
def test_all_keywords_of_split_programs_are_named(turn: int) -> None:
    programs = [*enumerate(keywords())]
    assert len(programs) > 700
    assert not swallowed((number + turn * 5, one) for number, one in programs)


def _rule_examples() -> Iterator[tuple[str, str]]:
    for kind in (CreationRule, LookupRule):
        for rule in rules(kind):
            for one in rule.examples:
                if one.after is not None and not one.assume:
                    yield f"{rule.id}: {one.title}", one.before


def test_a_rule_reads_programs_of_several_files_as_those_of_one() -> None:
    """No list of words has to be extended for a rule that is new: its examples convert in several files, too."""
    lost = []
    for number, (name, text) in enumerate(_rule_examples()):
        found = cuts(text)
        whole = converts(text)
        if not found or not whole:
            continue
        first, rest = found[-1]
        if not converts_split(LAYOUTS["own imports"](first, rest)):
            lost.append(f"{number} {name}")
    assert not lost


def test_what_converts_trains_as_before(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    found = cuts(PROGRAM)
    trains_as_before("package", found[len(found) // 2 :][:1], tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_that_converts_trains_as_before(layout: str, tmp_path: Path) -> None:
    trains_as_before(layout, cuts(PROGRAM), tmp_path)


def trains_as_before(layout: str, chosen: Iterable[tuple[str, str]], tmp_path: Path) -> None:
    """Compare the losses of the program in one file with those of its conversion in several, at each cut."""
    want = run(tmp_path / "one", {"main.py": PROGRAM})
    assert len(set(want)) == len(want)
    for number, (first, rest) in enumerate(chosen):
        files = LAYOUTS[layout](first, rest)
        if converts_split(files):
            after = converted_files(tmp_path / f"{number}", files)
            assert run(tmp_path / f"{number}_converted", after, layout) == pytest.approx(want, rel=1e-6), number


def test_a_table_that_no_gradient_reaches_trains_its_neighbours(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    want = run(tmp_path / "p", NOT_TRAINED)
    assert len(set(want)) == len(want)
    assert run(tmp_path / "converted", converted_files(tmp_path / "q", NOT_TRAINED)) == pytest.approx(want, rel=1e-6)


TABLE = HEAD + (
    "import somewhere\n"
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids))\n"
    "op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
)
HOLDS = TABLE + "class T:\n    k = W\nclass O:\n    def __init__(self, x):\n        self.x = x\n"
#: A helper gets the graph, and may change there how gradients are computed.
OVERRIDDEN = TABLE.replace("import somewhere", "import helpers").replace(
    "loss =", 'with helpers.swap(tf.get_default_graph(), {"GatherV2": "Mine"}):\n    loss ='
)


@pytest.mark.parametrize(
    "files",
    [
        {"first.py": HOLDS, "main.py": "from first import T, somewhere\nclass X(somewhere.B):\n"
         "    def __init__(self):\n        super().__init__(T)\nX()\n"},
        {"first.py": HOLDS, "main.py": "import first\ny = first.tf.nn.l2_loss(getattr(first.T, first.somewhere.n))\n"},
        {"first.py": HOLDS, "main.py": "from first import O, W, somewhere as s\ndef f():\n    s.weigh(O(W))\nf()\n"},
        {"first.py": HOLDS, "state.py": "", "second.py": "import state\na = state.tf.assign(state.T.k, 0.0) * 2.0\n",
         "main.py": "from first import T, tf\nimport state\nstate.T, state.tf = T, tf\nimport second\n"},
        {"first.py": TABLE + "match W:\n    case v:\n        pass\n",
         "main.py": "import first\nfirst.tf.losses.add_loss(first.tf.nn.softmax(first.v))\n"},
        {"parts/first.py": TABLE, "parts/__init__.py": "from .first import *\n",
         "main.py": "from parts import *\nl = [W]\ny = somewhere.weigh(l[-1])\n"},
        {"first.py": HOLDS, "second.py": "def run(s, t):\n    s.weigh(t)\n",
         "main.py": "from first import O, W, somewhere\nfrom second import run\nrun(somewhere, O(W))\n"},
        {"first.py": HOLDS, "state.py": "", "second.py": "import state\nstate.s.weigh(state.t)\n",
         "main.py": "from first import O, W, somewhere\nimport state\nstate.s, state.t = somewhere, O(W)\n"
         "import second\n"},
        {"first.py": HOLDS, "second.py": "def run(s):\n    return s.weigh\n",
         "main.py": "from first import O, W, somewhere\nfrom second import run\nf = run(somewhere)\nf(O(W))\n"},
        {"main.py": OVERRIDDEN, "helpers.py": "def swap(g, names):\n    return g.gradient_override_map(names)\n"},
        {"main.py": OVERRIDDEN, "helpers.py": "def swap(g, names):\n    return g._kernel_label_map(names)\n"},
    ],
    ids=["class to a base", "attribute of a class by its name", "object to a library", "class on a module", "captured",
         "handed on by a package", "library as an argument", "library on a module", "function of a library",
         "graph to a helper", "graph to a helper of private names"],
)  # fmt: skip
def test_a_table_that_another_file_uses_as_a_whole_stays(files: Files) -> None:
    assert not converts_split(files)
