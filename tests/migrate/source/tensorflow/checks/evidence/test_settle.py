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
#: A doubt -> what the finding says of the run.
DECIDED = {
    "evaluated": (program("n = eval(sys.argv[1])"), "only where the source shows it"),
    "process": (program('c = os.environ.get("TF_CONFIG")'), "`TF_CONFIG` was not set"),
    "library": (program("import other\nother.watch(e)"), "only where the source shows it"),
    "initializer": (program(initializer="values"), "`RandomUniform`"),
}


@pytest.mark.parametrize(("files", "says"), DECIDED.values(), ids=DECIDED)
def test_a_run_decides(files: dict[str, str], says: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", files)
    assert verdict(convert_with(root))[0] is State.SUGGESTED
    results = convert_with(root, record(files))
    assert verdict(results) == OBSERVED, reasons(results)
    (found,) = [f for one in results.values() for f in one.findings if f.subject == "table"]
    assert says in found.evidence[0]
    assert "run0.json" in found.evidence[0]
    assert not found.assumptions
    assert "create_table" in results["main.py"].converted


def test_nothing_is_decided_where_nothing_is_doubted(tmp_path: Path) -> None:
    files = program()
    assert verdict(convert_with(write(tmp_path / "p", files), record(files))) == (State.APPLIED, Applicability.EXACT)


def test_code_that_did_not_run_stays_a_doubt(tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    results = convert_with(write(tmp_path / "p", files), record(files, idle=["eval("]))
    assert verdict(results)[0] is State.SUGGESTED
    assert "no recorded run decides this" in reasons(results)


def test_runs_are_joined(tmp_path: Path) -> None:
    files = program('n = eval(sys.argv[1])\nc = os.environ.get("TF_CONFIG")')
    root = write(tmp_path / "p", files)
    without, other = record(files, idle=["eval("]), record(files)
    assert verdict(convert_with(root, without, other)) == OBSERVED
    several = record(files, environment={"TF_CONFIG": "{}"})
    assert verdict(convert_with(root, other, several))[0] is State.SUGGESTED


def test_another_initializer_is_not_decided(tmp_path: Path) -> None:
    files = program(initializer="values")
    results = convert_with(write(tmp_path / "p", files), record(files, initial="Qr"))
    assert verdict(results)[0] is State.SUGGESTED


@pytest.mark.parametrize("kind", ["builtins.function", "__main__.Mine", "builtins.NoneType", ""])
def test_an_initializer_of_the_program_is_not_decided(kind: str, tmp_path: Path) -> None:
    """Its values may be random numbers, which a table takes from initializers of frameworks alone."""
    files = program(initializer="values")
    results = convert_with(write(tmp_path / "p", files), record(files, initializer=kind))
    assert verdict(results)[0] is State.SUGGESTED


SCOPED = {
    "main.py": HEAD + 'with tf.variable_scope("s", **options):\n'
    '    W = tf.get_variable("item", [100, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\nstep = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
}


def test_options_of_a_scope(tmp_path: Path) -> None:
    root = write(tmp_path / "p", SCOPED)
    assert verdict(convert_with(root))[0] is State.SUGGESTED
    results = convert_with(root, record(SCOPED))
    assert verdict(results) == OBSERVED, reasons(results)
    for others in (record(SCOPED, options=("regularizer",)), record(SCOPED, initializer="builtins.function")):
        results = convert_with(root, others)
        assert verdict(results)[0] is State.SUGGESTED, reasons(results)


@pytest.mark.parametrize("assume", [False, True])
def test_an_assumption_beside_what_a_run_decides(assume: bool, tmp_path: Path) -> None:
    files = program('n = eval(sys.argv[1])\nc = os.environ.get("TF_CONFIG")')
    several = record(files, environment={"TF_CONFIG": "{}"})
    results = convert_with(write(tmp_path / "p", files), several, assume=assume)
    expected = (State.APPLIED, Applicability.ASSUMPTION) if assume else (State.SUGGESTED, None)
    assert verdict(results) == expected, reasons(results)


#: A use that the source does not show -> what is said of it.
OTHERWISE: dict[str, tuple[Told, str]] = {
    "whole": (("whole", "Sum", "Sum", "eval("), "reads `W` at main.py:8"),
    "looked up": (("lookup", "ResourceGather", "e", "eval("), "reads `W` at main.py:8"),
    "trained": (("update", "ResourceApplyGradientDescent", "GradientDescent/update_item/x", "eval("), "trains `W`"),
    "set": (("assign", "AssignVariableOp", "Assign", "eval("), "sets `W`"),
    "whole at a lookup": (("whole", "MatMul", "MatMul", "embedding_lookup("), "reads `W` at main.py:7"),
    "whole at the step": (("whole", "L2Loss", "L2Loss", "minimize("), "reads `W` at main.py:9"),
    "in the step's loss": (("whole", "L2Loss", "gradients/L2Loss", "minimize(", "<string>"), "main.py:9, by <string>"),
    "among the ids": (("lookup", "ResourceGather", "Gather", "eval( < embedding_lookup("), "reads `W` at main.py:8"),
    "a library in the ids": (("lookup", "ResourceGather", "G", "embedding_lookup(", "lib.py"), "main.py:7, by lib.py"),
    "trained in the step": (("update", "Apply", "SGD/update_item/x", "minimize(", "lib.py"), "trains `W`"),
    "set where it is made": (("assign", "AssignVariableOp", "Assign", "get_variable("), "sets `W` at main.py:6"),
    "set below a name of savers": (("assign", "AssignVariableOp", "save/Assign", "eval("), "sets `W`"),
    "fed": (("assign", "feed", "item/Read/ReadVariableOp", "get_variable("), "sets `W`"),
    "its shape in Python": (("touch", "shape", "", "eval(", "<string>"), "uses `W` at main.py:8, by <string>"),
}


@pytest.mark.parametrize(("use", "says"), OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("doubt", ["n = eval(sys.argv[1])", "n = 'eval('"], ids=["doubt", "none"])
def test_a_run_contradicts(use: Told, says: str, doubt: str, tmp_path: Path) -> None:
    """Even a table that the source alone would convert stays, whatever is assumed."""
    files = program(doubt)
    results = convert_with(write(tmp_path / "p", files), record(files, [LOOKUP, UPDATE, INITIAL, use]), assume=True)
    assert verdict(results)[0] is State.UNSUPPORTED
    assert says in reasons(results)


@pytest.mark.parametrize(("column", "expected"), [(34, OBSERVED), (43, (State.UNSUPPORTED, None))])
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


@pytest.mark.parametrize(("kind", "expected"), [("AdagradOptimizer", State.APPLIED), ("Mine", State.UNSUPPORTED)])
def test_the_class_of_the_optimizer(kind: str, expected: State, tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    one = record(files)
    (graph,) = one.graphs
    (variable,) = graph.variables
    uses = tuple(replace(use, optimizer=f"m.{kind}" if use.kind == "update" else "") for use in variable.uses)
    told = replace(one, graphs=(replace(graph, variables=(replace(variable, uses=uses),)),))
    assert verdict(convert_with(write(tmp_path / "p", files), told))[0] is expected


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


def test_a_run_does_not_tell_what_is_read_from_a_file(tmp_path: Path) -> None:
    files = program("r = tf.train.load_variable(path, sys.argv[1])")
    assert verdict(convert_with(write(tmp_path / "p", files), record(files)))[0] is State.SUGGESTED


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


@pytest.mark.parametrize("scope", ["", "x/update_y/"])
def test_an_optimizer_that_is_made_again(scope: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", MADE_AGAIN)
    twice = [(*UPDATE[:2], f"{scope}{name}/update_item/Apply", "minimize(") for name in ("Adagrad", "Adagrad_1")]
    results = convert_with(root, record(MADE_AGAIN, [LOOKUP, INITIAL, *twice]))
    assert verdict(results)[0] is State.UNSUPPORTED, reasons(results)


def test_whether_it_is_trainable(tmp_path: Path) -> None:
    text = program()["main.py"].replace("(-1, 1)", "(-1, 1), trainable=flag")
    files = {"main.py": text.replace("minimize(loss)", "minimize(loss, var_list=[W])")}
    root = write(tmp_path / "p", files)
    assert verdict(convert_with(root))[0] is State.UNSUPPORTED
    assert verdict(convert_with(root, record(files))) == OBSERVED
    assert verdict(convert_with(root, record(files, trainable=False)))[0] is State.UNSUPPORTED


def test_a_table_that_no_run_made(tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    files["main.py"] = files["main.py"].replace("\nW = ", "\nV = tf.zeros([2])\nW = ")
    results = convert_with(write(tmp_path / "p", files), record(files, made="zeros("))
    assert verdict(results)[0] is State.SUGGESTED
    assert "no recorded run made this table" in reasons(results)


@pytest.mark.parametrize("ended", ["by TypeError", "killed"])
def test_a_run_that_failed_may_not_have_built_all(ended: str, tmp_path: Path) -> None:
    doubted = program("n = eval(sys.argv[1])")
    for files, alone, beside in (
        (doubted, State.SUGGESTED, State.APPLIED),
        (MADE_AGAIN, State.UNSUPPORTED, State.UNSUPPORTED),
    ):
        root = write(tmp_path / alone.value, files)
        failed = replace(record(files), ended=ended)
        assert verdict(convert_with(root, failed))[0] is alone
        assert verdict(convert_with(root, failed, record(files)))[0] is beside
    known = program(initializer="values")
    failed = replace(record(known), ended=ended)
    assert verdict(convert_with(write(tmp_path / "known", known), failed)) == OBSERVED


def test_a_table_that_no_optimizer_trains(tmp_path: Path) -> None:
    body = f'W = tf.get_variable("item", [100, 4], initializer={UNIFORM})\n    return tf.nn.embedding_lookup(W, ids)\n'
    files = {"main.py": f"{HEAD}\ndef rows(ids):\n    {body}"}
    root = write(tmp_path / "p", files)
    assert verdict(convert_with(root))[0] is State.SUGGESTED
    assert verdict(convert_with(root, record(files, [LOOKUP, INITIAL]))) == OBSERVED
    update = (*UPDATE[:3], "embedding_lookup(")
    assert verdict(convert_with(root, record(files, [LOOKUP, INITIAL, update])))[0] is State.UNSUPPORTED
    failed = replace(record(files, [LOOKUP, INITIAL]), ended="by ValueError")
    assert verdict(convert_with(root, failed))[0] is State.SUGGESTED


def test_code_that_is_not_followed_is_a_note_once_it_ran(tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    root = write(tmp_path / "p", files)
    ran, idle = convert_with(root, record(files)), convert_with(root, record(files, idle=["eval("]))
    states = [{f.state for f in one["main.py"].findings if f.rule == "tf-opaque"} for one in (ran, idle)]
    assert states[0] == {State.NOTED}
    assert {State.OPAQUE, State.SUGGESTED} < states[1]


def test_a_doubt_about_a_whole_file_is_told_once_for_each_reason(tmp_path: Path) -> None:
    other = (
        'V = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\nf = tf.nn.embedding_lookup(V, ids)'
    )
    files = program(f"n = eval(sys.argv[1])\n{other}")
    made = 'get_variable("item"'
    uses = [(*LOOKUP[:3], "embedding_lookup(W"), UPDATE, (*INITIAL[:3], made)]
    results = convert_with(write(tmp_path / "p", files), record(files, uses, idle=["eval("], made=made))
    assert len([f for f in results["main.py"].findings if "evaluates a string" in f.message]) == 2  # once for each why
    failed = replace(record(files, uses, idle=["eval("], made=made), ended="by KeyError")
    assert "ended by KeyError" in reasons(convert_with(tmp_path / "p", failed))
