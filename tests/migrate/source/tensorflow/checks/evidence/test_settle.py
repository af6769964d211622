"""Doubts that a recorded run decides, those that it does not, and tables that it contradicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migrate.report.model import Applicability, State
from migrate.source.files.conversion_result import SourceResult
from tests.support.source.projects import reasons, write
from tests.support.source.runs import INITIAL, LOOKUP, UPDATE, Told, convert_with, record

HEAD = "import os\nimport sys\nimport tensorflow.compat.v1 as tf\n\ntf.disable_eager_execution()\n"
BODY = (
    'W = tf.get_variable("item", [100, 4], initializer={initializer})\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
    "{doubt}\n"
    "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
)
UNIFORM = "tf.random_uniform_initializer(-1, 1)"


def program(doubt: str = "", initializer: str = UNIFORM) -> dict[str, str]:
    return {"main.py": HEAD + BODY.format(doubt=doubt, initializer=initializer)}


def verdict(results: dict[str, SourceResult]) -> tuple[State, Applicability | None]:
    (table,) = [table for one in results.values() for table in one.tables]
    return table.verdict, table.applicability


OBSERVED = State.APPLIED, Applicability.OBSERVED
IN_GRAPH = State.APPLIED, Applicability.IN_GRAPH
#: Doubts about what a program does.
DECIDED = {
    "evaluated": program("n = eval(sys.argv[1])"),
    "process": program('c = os.environ.get("TF_CONFIG")'),
    "library": program("import other\nother.watch(e)"),
}


@pytest.mark.parametrize("files", DECIDED.values(), ids=DECIDED)
def test_a_run_decides(files: dict[str, str], tmp_path: Path) -> None:
    root = write(tmp_path / "p", files)
    assert verdict(convert_with(root))[0] is State.SUGGESTED
    results = convert_with(root, record(files))
    assert verdict(results) == OBSERVED, reasons(results)
    (found,) = [f for one in results.values() for f in one.findings if f.subject == "table"]
    assert "run0.json: it ran, and the graph moves the table" in found.evidence[0]
    assert not found.assumptions
    assert "create_table" in results["main.py"].converted


def test_nothing_is_decided_where_nothing_is_doubted(tmp_path: Path) -> None:
    files = program()
    assert verdict(convert_with(write(tmp_path / "p", files), record(files))) == (State.APPLIED, Applicability.EXACT)


SCOPED = {
    "main.py": HEAD + 'with tf.variable_scope("s", **options):\n'
    '    W = tf.get_variable("item", [100, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\nstep = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
}
FLAG = program(initializer=f"{UNIFORM}, trainable=flag")["main.py"].replace("(loss)", "(loss, var_list=[W])")
#: Tables that the source cannot spell, whatever it does with them.
UNSPELLED = {
    "initializer": program(initializer="values"),
    "scope": SCOPED,
    "trainable": {"main.py": FLAG},
    "read from a file": program("r = tf.train.load_variable(path, sys.argv[1])"),
}


@pytest.mark.parametrize("files", UNSPELLED.values(), ids=UNSPELLED)
def test_what_cannot_be_spelled_moves_in_the_graph(files: dict[str, str], tmp_path: Path) -> None:
    results = convert_with(write(tmp_path / "p", files), record(files))
    assert verdict(results) == IN_GRAPH, reasons(results)
    assert results["main.py"].converted.count("\n") == files["main.py"].count("\n") + 2
    assert 'as tf\nimport rewriter\nrewriter.install(tables=["item"])\n' in results["main.py"].converted
    assert not results["main.py"].remains or "eval" in files["main.py"]


def test_the_line_stands_in_the_file_that_starts_the_program(tmp_path: Path) -> None:
    """It may know nothing of TensorFlow; where it is not among the given files, nothing can be written."""
    files = {"run.py": "import sys\nimport main\n", **program(initializer="values")}
    root = write(tmp_path / "p", files)
    results = convert_with(root, record(files))
    assert verdict(results) == IN_GRAPH
    assert not results["main.py"].changed
    assert results["run.py"].converted == (
        'import sys\nimport rewriter\nrewriter.install(tables=["item"])\nimport main\n'
    )
    assert verdict(convert_with(root / "main.py", record(files)))[0] is State.SUGGESTED


@pytest.mark.parametrize("stays", ["it is scattered", ""])
@pytest.mark.parametrize("files", [*DECIDED.values(), *UNSPELLED.values()])
def test_a_graph_in_which_it_stays(files: dict[str, str], stays: str, tmp_path: Path) -> None:
    results = convert_with(write(tmp_path / "p", files), record(files, table="", stays=stays))
    assert verdict(results)[0] in (State.SUGGESTED, State.UNSUPPORTED)
    (table,) = results["main.py"].tables
    assert any(f"in the graph `item` stays: {stays}" in one for one in table.reasons) is bool(stays)
    assert not results["main.py"].changed


def test_code_that_did_not_run_stays_a_doubt(tmp_path: Path) -> None:
    """The source is not converted, and `install` judges the graphs of other runs."""
    files = program("n = eval(sys.argv[1])")
    results = convert_with(write(tmp_path / "p", files), record(files, idle=["eval("]))
    assert verdict(results) == IN_GRAPH
    assert "no recorded run decides this" in reasons(results)


def test_runs_are_joined(tmp_path: Path) -> None:
    files = program('n = eval(sys.argv[1])\nc = os.environ.get("TF_CONFIG")')
    root = write(tmp_path / "p", files)
    without, other = record(files, idle=["eval("]), record(files)
    assert verdict(convert_with(root, without, other)) == OBSERVED
    assert verdict(convert_with(root, other, record(files, table="", stays="several")))[0] is State.SUGGESTED


@pytest.mark.parametrize("assume", [False, True])
def test_an_assumption_beside_what_a_run_decides(assume: bool, tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])\nr = tf.train.load_variable(path, sys.argv[1])")
    results = convert_with(write(tmp_path / "p", files), record(files), assume=assume)
    expected = (State.APPLIED, Applicability.ASSUMPTION) if assume else IN_GRAPH
    assert verdict(results) == expected, reasons(results)


def test_what_the_user_keeps_stays(tmp_path: Path) -> None:
    for comment in ("  # migrate: ignore it is small", "\n# migrate: ignore-file"):
        files = program("n = eval(sys.argv[1])", "values")
        files["main.py"] = files["main.py"].replace("values)", f"values){comment}")
        results = convert_with(write(tmp_path / comment.strip()[:24], files), record(files))
        assert not results["main.py"].changed
        assert {table.verdict for table in results["main.py"].tables} <= {State.NOTED}


#: A use that the source does not show -> what is said of it.
OTHERWISE: dict[str, tuple[Told, str]] = {
    "whole": (("whole", "Sum", "Sum", "eval("), "uses `W` at main.py:8"),
    "looked up": (("lookup", "ResourceGather", "e", "eval("), "uses `W` at main.py:8"),
    "trained": (("update", "ResourceApplyGradientDescent", "GradientDescent/update_item/x", "eval("), "uses `W` at"),
    "set": (("assign", "AssignVariableOp", "Assign", "eval("), "uses `W` at"),
    "whole at a lookup": (("whole", "MatMul", "MatMul", "embedding_lookup("), "uses `W` at main.py:7"),
    "whole at the step": (("whole", "L2Loss", "L2Loss", "minimize("), "uses `W` at main.py:9"),
    "in the step's loss": (("whole", "L2Loss", "gradients/L2Loss", "minimize(", "<string>"), "main.py:9, by <string>"),
    "among the ids": (("lookup", "ResourceGather", "Gather", "eval( < embedding_lookup("), "uses `W` at main.py:8"),
    "a library in the ids": (("lookup", "ResourceGather", "G", "embedding_lookup(", "lib.py"), "main.py:7, by lib.py"),
    "trained in the step": (("update", "Apply", "SGD/update_item/x", "minimize(", "lib.py"), "uses `W` at"),
    "set where it is made": (("assign", "AssignVariableOp", "Assign", "get_variable("), "uses `W` at main.py:6"),
    "set below a name of savers": (("assign", "AssignVariableOp", "save/Assign", "eval("), "uses `W` at"),
    "fed": (("assign", "feed", "item/Read/ReadVariableOp", "get_variable("), "uses `W` at"),
    "its shape in Python": (("touch", "shape", "", "eval(", "<string>"), "uses `W` at main.py:8, by <string>"),
}


@pytest.mark.parametrize(("use", "says"), OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("doubt", ["n = eval(sys.argv[1])", "n = 'eval('"], ids=["doubt", "none"])
def test_a_run_contradicts(use: Told, says: str, doubt: str, tmp_path: Path) -> None:
    """Even a table that the source alone would convert is not converted there, whatever is assumed."""
    files, uses = program(doubt), [LOOKUP, UPDATE, INITIAL, use]
    root = write(tmp_path / "p", files)
    results = convert_with(root, record(files, uses, table="", stays="it is read"), assume=True)
    assert verdict(results)[0] is State.UNSUPPORTED
    assert says in reasons(results)
    assert verdict(convert_with(root, record(files, uses), assume=True)) == IN_GRAPH


@pytest.mark.parametrize(("column", "expected"), [(34, OBSERVED), (43, IN_GRAPH)])
@pytest.mark.parametrize("begin", ["", "é = 1; "])
def test_which_call_on_a_line_looks_up(begin: str, column: int, expected: object, tmp_path: Path) -> None:
    """`e = tf.nn.embedding_lookup(W, ids) + tf.gather(V, ids)`: columns count bytes."""
    files = program("n = eval(sys.argv[1])")
    files["main.py"] = files["main.py"].replace("e = tf", f"{begin}e = tf").replace("ids)", "ids) + f(V)")
    one = record(files)
    (graph,) = one.graphs
    (variable,) = graph.variables
    looked, *others = variable.uses
    looked = replace(looked, end=(looked.at[0][1], column + len(begin.encode())))
    told = replace(one, graphs=(replace(graph, variables=(replace(variable, uses=(looked, *others)),)),))
    assert verdict(convert_with(write(tmp_path / "p", files), told)) == expected


@pytest.mark.parametrize(("kind", "expected"), [("AdagradOptimizer", OBSERVED), ("Mine", IN_GRAPH)])
def test_the_class_of_the_optimizer(kind: str, expected: object, tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    one = record(files)
    (graph,) = one.graphs
    (variable,) = graph.variables
    uses = tuple(replace(use, optimizer=f"m.{kind}" if use.kind == "update" else "") for use in variable.uses)
    told = replace(one, graphs=(replace(graph, variables=(replace(variable, uses=uses),)),))
    assert verdict(convert_with(write(tmp_path / "p", files), told)) == expected


#: Uses that each variable has, and a table as well.
HARMLESS: dict[str, Told] = {
    "saved": ("save", "SaveV2", "save/SaveV2", "eval("),
    "restored": ("save", "AssignVariableOp", "save_1/AssignVariableOp", "eval("),
    "its shape": ("shape", "VariableShape", "Shape", "eval("),
    "its name, by code that was read": ("touch", "name", "", "eval("),
    "gradient": ("shape", "VariableShape", "gradients/embedding_lookup_grad/Shape", "minimize("),
    "slots by assignment": ("assign", "AssignSubVariableOp", "Adam/update_item/AssignSub", "minimize("),
}


@pytest.mark.parametrize("use", HARMLESS.values(), ids=HARMLESS)
def test_uses_that_a_table_has_too(use: Told, tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    uses = [LOOKUP, UPDATE, INITIAL, use]
    assert verdict(convert_with(write(tmp_path / "p", files), record(files, uses))) == OBSERVED


MADE_AGAIN = {
    "main.py": HEAD + 'W = tf.get_variable("item", [100, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n\n"
    "def train(loss):\n    return tf.train.AdagradOptimizer(0.1).minimize(loss)\n\n"
    "for name in names:\n    step = train(e)\n"
}


def test_an_optimizer_that_may_be_made_again(tmp_path: Path) -> None:
    root = write(tmp_path / "p", MADE_AGAIN)
    assert verdict(convert_with(root))[0] is State.UNSUPPORTED
    results = convert_with(root, record(MADE_AGAIN))
    assert verdict(results) == OBSERVED, reasons(results)


def test_an_optimizer_that_is_made_again(tmp_path: Path) -> None:
    root = write(tmp_path / "p", MADE_AGAIN)
    results = convert_with(root, record(MADE_AGAIN, optimizers=2))
    assert verdict(results) == IN_GRAPH, reasons(results)


def test_a_table_that_no_run_made(tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    files["main.py"] = files["main.py"].replace("\nW = ", "\nV = tf.zeros([2])\nW = ")
    results = convert_with(write(tmp_path / "p", files), record(files, made="zeros(", table=""))
    assert verdict(results)[0] is State.SUGGESTED
    assert "no recorded run made this table" in reasons(results)


@pytest.mark.parametrize("ended", ["by TypeError", "killed"])
def test_a_run_that_failed_may_not_have_built_all(ended: str, tmp_path: Path) -> None:
    doubted = program("n = eval(sys.argv[1])")
    for files, alone in ((doubted, State.SUGGESTED), (MADE_AGAIN, State.UNSUPPORTED)):
        root = write(tmp_path / alone.value, files)
        failed = replace(record(files), ended=ended)
        assert verdict(convert_with(root, failed))[0] is alone
        assert verdict(convert_with(root, failed, record(files))) == OBSERVED


def test_a_table_that_no_optimizer_trains(tmp_path: Path) -> None:
    body = f'W = tf.get_variable("item", [100, 4], initializer={UNIFORM})\n    return tf.nn.embedding_lookup(W, ids)\n'
    files = {"main.py": f"{HEAD}\ndef rows(ids):\n    {body}"}
    root = write(tmp_path / "p", files)
    assert verdict(convert_with(root))[0] is State.SUGGESTED
    assert verdict(convert_with(root, record(files, [LOOKUP, INITIAL]))) == OBSERVED
    update = (*UPDATE[:3], "embedding_lookup(")
    assert verdict(convert_with(root, record(files, [LOOKUP, INITIAL, update]))) == IN_GRAPH
    failed = replace(record(files, [LOOKUP, INITIAL]), ended="by ValueError")
    assert verdict(convert_with(root, failed))[0] is State.SUGGESTED


def test_code_that_is_not_followed_is_a_note_once_it_ran(tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    root = write(tmp_path / "p", files)
    ran, idle = convert_with(root, record(files)), convert_with(root, record(files, idle=["eval("]))
    states = [{f.state for f in one["main.py"].findings if f.rule == "tf-opaque"} for one in (ran, idle)]
    assert states[0] == {State.NOTED}
    assert states[1] == {State.NOTED, State.OPAQUE}


def test_a_doubt_about_a_whole_file_is_told_once_for_each_reason(tmp_path: Path) -> None:
    other = (
        'V = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\nf = tf.nn.embedding_lookup(V, ids)'
    )
    files = program(f"n = eval(sys.argv[1])\n{other}")
    made = 'get_variable("item"'
    uses = [(*LOOKUP[:3], "embedding_lookup(W"), UPDATE, (*INITIAL[:3], made)]
    told = record(files, uses, idle=["eval("], made=made, table="")
    results = convert_with(write(tmp_path / "p", files), told)
    assert len([f for f in results["main.py"].findings if "evaluates a string" in f.message]) == 2  # once for each why
