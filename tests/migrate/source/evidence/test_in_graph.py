"""What becomes of variables that graphs of a run move, beside what the source says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from migrate.report.model import Applicability, State
from migrate.source.driver.run import convert_paths, make_report
from migrate.source.driver.summary import summary_lines
from migrate.source.files.conversion_result import SourceResult
from migrate.trace.record import Record, Variable
from tests.support.source.projects import reasons, write
from tests.support.source.runs import convert_with, line, record, with_record

HEAD = "import os\nimport sys\nimport tensorflow.compat.v1 as tf\n\ntf.disable_eager_execution()\n"
UNSEEN = {
    "main.py": HEAD + 'W = tf.get_variable("item", [100, 4])\ne = look["up"](W, ids)\n'
    "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
}
COLUMN = {
    "main.py": HEAD + 'id = tf.feature_column.categorical_column_with_identity("item", 100)\n'
    "column = tf.feature_column.embedding_column(id, 4, initializer=mine)\n"
    "rows = tf.feature_column.input_layer(features, [column])\n"
    "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
}
SEVERAL = {
    "main.py": HEAD + 'W = {k: tf.get_variable(k, [100, 4], initializer=values) for k in ["item", "user"]}\n'
    'e = tf.nn.embedding_lookup(W["item"], ids)\nstep = tf.train.AdagradOptimizer(0.1).minimize(loss)\n'
}


def _with(one: Record, variables: Sequence[Variable]) -> Record:
    return replace(one, graphs=(replace(one.graphs[0], variables=tuple(variables)),))


def _table(results: dict[str, SourceResult]) -> tuple[str, State, Applicability | None]:
    (table,) = results["main.py"].tables
    return table.name, table.verdict, table.applicability


def test_a_variable_of_which_the_source_shows_no_lookup(tmp_path: Path) -> None:
    results = convert_with(write(tmp_path / "p", UNSEEN), record(UNSEEN))
    assert _table(results) == ("item", State.APPLIED, Applicability.IN_GRAPH)
    (table,) = results["main.py"].tables
    assert (table.location.line, table.rows, table.dim) == (6, "100", "4")
    assert 'rewriter.install(tables=["item"])' in results["main.py"].converted
    assert convert_with(tmp_path / "p", record(UNSEEN, table="", stays="it is read"))["main.py"].tables == ()


def test_what_bounds_tables_is_said_once(tmp_path: Path) -> None:
    """Only graphs show it, of a table that the source moves, too."""
    files = {"main.py": UNSEEN["main.py"] + 'V = tf.Variable(tf.zeros([9, 4]), name="user")\nf = tf.gather(V, ids)\n'}
    one = record(files)
    (item,) = one.graphs[0].variables
    item = replace(item, bound="ids are hashed; do this")
    user = replace(item, name="user", table="user", created=(line(files, "V = "),))
    (found,) = (
        note
        for note in convert_with(write(tmp_path / "p", files), _with(one, [item, user]))["main.py"].findings
        if note.message.endswith("cannot grow")
    )
    assert (found.state, found.message) == (State.NOTED, "`item`, `user` cannot grow")
    assert (found.reason, found.action, found.location.line) == ("ids are hashed", "do this", 6)


def test_what_keeps_another_table_is_work_still(tmp_path: Path) -> None:
    """What kept the table that moves is a note; a table that no graph moves stays for its own reason."""
    other = 'V = tf.Variable(tf.zeros([100, 4]), name="user")\nf = tf.matmul(tf.gather(V, ids), V, transpose_b=True)\n'
    root = write(tmp_path / "p", files := {"main.py": UNSEEN["main.py"] + other})
    one = record(files)
    (made,) = one.graphs[0].variables
    for run, verdict, state in (
        (one, State.SUGGESTED, State.SUGGESTED),
        (
            _with(one, [made, replace(made, name="user", table="user", created=(line(files, "V = "),))]),
            State.APPLIED,
            State.NOTED,
        ),
    ):
        result = convert_with(root, run)["main.py"]
        assert {table.name: table.verdict for table in result.tables} == {"item": State.APPLIED, "user": verdict}
        assert {found.state for found in result.findings if found.subject == "use"} == {state}


def test_what_a_record_overrules_is_no_work_that_is_asked_for(tmp_path: Path) -> None:
    """The source's reasons say that they are overruled, and no remedy; the summary has the verdict alone."""
    files = program("n = eval(sys.argv[1])", "values")
    root = write(tmp_path / "p", files)
    report = make_report("migrate check", convert_paths([str(root)], with_record(root, record(files))), "", dry=True)
    notes = [one for one in report.findings if one.state is State.NOTED]
    assert {one.subject for one in notes} == {"lookup", "use"}
    for one in notes:
        assert (one.action, "left unchanged" in one.message) == ("", False)
        assert one.subject == "lookup" or one.message.startswith("overruled by a recorded run: ")
    said = "\n".join(summary_lines(report))
    assert "moves at run time" in said and "note" not in said.replace("noted", ""), said
    assert "overruled" in "\n".join(summary_lines(report, everything=True))


def test_many_variables_of_one_place_are_counted(tmp_path: Path) -> None:
    files = {"main.py": UNSEEN["main.py"]}
    one = record(files)
    (made,) = one.graphs[0].variables
    run = _with(one, [replace(made, name=f"item{n}", table=f"item{n}") for n in range(7)])
    (said,) = (f for f in convert_with(write(tmp_path / "p", files), run)["main.py"].findings if f.subject == "table")
    shown = ", ".join(f"`item{n}`" for n in range(5))
    assert said.message == f"{shown} and 2 more become tables when the program runs"


def test_a_column_is_known_by_the_name_of_its_variable(tmp_path: Path) -> None:
    one = record(COLUMN, made="embedding_column(")
    (variable,) = one.graphs[0].variables
    name = "input_layer/item_embedding/embedding_weights"
    run = _with(one, [replace(variable, name=name, table=name, created=(("main.py", 8),))])
    results = convert_with(write(tmp_path / "p", COLUMN), run)
    assert _table(results)[1:] == (State.APPLIED, Applicability.IN_GRAPH)
    assert f'rewriter.install(tables=["{name}"])' in results["main.py"].converted


def test_a_name_that_several_tables_have_means_none(tmp_path: Path) -> None:
    """The first of them may be another model's; what is known is the line that reads the column."""
    text = COLUMN["main.py"]
    column = next(one for one in text.splitlines() if one.startswith("column = "))
    files = {"main.py": text.replace(column, f"{column}\nother_{column}")}
    one = record(files, made="input_layer(")
    (variable,) = one.graphs[0].variables
    name = "input_layer/item_embedding/embedding_weights"
    results = convert_with(write(tmp_path / "p", files), _with(one, [replace(variable, name=name, table=name)]))
    made = [(table.name, table.applicability is Applicability.IN_GRAPH) for table in results["main.py"].tables]
    assert made == [("item_embedding", False), ("item_embedding", False), (name, True)]


def test_a_table_of_a_program_that_did_not_run_is_not_meant(tmp_path: Path) -> None:
    """Its name may be a scope of the one that ran, such as `linear`."""
    other = HEAD + (
        'W = tf.get_variable("linear", [100, 4], initializer=values)\n'
        "e = tf.nn.embedding_lookup(W, ids)\nstep = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    )
    run = record(UNSEEN)
    (variable,) = run.graphs[0].variables
    run = _with(run, [replace(variable, name="linear/weights", table="linear/weights")])
    results = convert_with(write(tmp_path / "p", {**UNSEEN, "other.py": other}), run)
    assert _table(results) == ("linear/weights", State.APPLIED, Applicability.IN_GRAPH)
    (table,) = results["other.py"].tables
    assert table.applicability is not Applicability.IN_GRAPH


@pytest.mark.parametrize(("stays", "moves"), [("", True), ("it is scattered", False)])
def test_all_variables_of_a_place_move_or_none(stays: str, moves: bool, tmp_path: Path) -> None:
    one = record(SEVERAL)
    (variable,) = one.graphs[0].variables
    other = replace(variable, name="user", table="" if stays else "user", stays=stays)
    results = convert_with(write(tmp_path / "p", SEVERAL), _with(one, [variable, other]))
    assert (_table(results)[2] is Applicability.IN_GRAPH) is moves
    assert ('tables=["item", "user"]' in results["main.py"].converted) is moves


def test_where_no_line_is_written(tmp_path: Path) -> None:
    root = write(tmp_path / "p", UNSEEN)
    one = record(UNSEEN)
    for results in (
        convert_with(root, one, ignore=("in-graph",)),
        convert_with(root, one, target="rec_sdk"),
        convert_with(root, replace(one, ended="by ValueError")),
        convert_with(root, replace(one, entry="other.py")),
    ):
        assert results["main.py"].tables == () and not results["main.py"].changed
    written = {"main.py": UNSEEN["main.py"] + "import rewriter\nrewriter.install(every=2)\n"}
    results = convert_with(write(tmp_path / "q", written), record(written))
    assert not results["main.py"].changed


IN_GRAPH = State.APPLIED, Applicability.IN_GRAPH
BODY = (
    'W = tf.get_variable("item", [100, 4], initializer={initializer})\ne = tf.nn.embedding_lookup(W, ids)\n{doubt}\n'
    "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
)


def program(doubt: str = "", initializer: str = "tf.random_uniform_initializer(-1, 1)") -> dict[str, str]:
    return {"main.py": HEAD + BODY.format(doubt=doubt, initializer=initializer)}


SCOPED = program(initializer="tf.zeros_initializer()")["main.py"].replace(
    "W = ", 'with tf.variable_scope("s", **options):\n    W = '
)
AGAIN = program("\ndef train(loss):\n    return tf.train.AdamOptimizer(0.1).minimize(loss)\n\nfor name in names:")
#: Tables that the source keeps, by a doubt or since it cannot spell them.
OPEN = {
    "evaluated": program("n = eval(sys.argv[1])"),
    "process": program("import hybridbackend"),
    "library": program("import other\nother.watch(e)"),
    "initializer": program(initializer="values"),
    "scope": {"main.py": SCOPED},
    "read from a file": program("r = tf.train.load_variable(path, sys.argv[1])"),
    "made again": {"main.py": AGAIN["main.py"].replace("step = ", "    step = train(e)  # ")},
}


def verdict(results: dict[str, SourceResult]) -> tuple[State, Applicability | None]:
    return _table(results)[1:]


@pytest.mark.parametrize("files", OPEN.values(), ids=OPEN)
def test_what_the_source_keeps_moves_in_the_graph(files: dict[str, str], tmp_path: Path) -> None:
    root = write(tmp_path / "p", files)
    assert verdict(convert_with(root))[0] in (State.SUGGESTED, State.UNSUPPORTED)
    results = convert_with(root, record(files))
    assert verdict(results) == IN_GRAPH, reasons(results)
    assert results["main.py"].converted.count("\n") == files["main.py"].count("\n") + 2
    assert 'as tf\nimport rewriter\nrewriter.install(tables=["item"])\n' in results["main.py"].converted
    assert not results["main.py"].remains


def test_what_the_source_moves_is_converted_there(tmp_path: Path) -> None:
    files = program()
    assert verdict(convert_with(write(tmp_path / "p", files), record(files))) == (State.APPLIED, Applicability.EXACT)


@pytest.mark.parametrize("assume", [False, True])
def test_an_assumption_beside_the_graph(assume: bool, tmp_path: Path) -> None:
    files = program("n = eval(sys.argv[1])")
    results = convert_with(write(tmp_path / "p", files), record(files), assume=assume)
    assert verdict(results) == ((State.APPLIED, Applicability.ASSUMPTION) if assume else IN_GRAPH)


@pytest.mark.parametrize("fault", ["embedding_lookup", ""])
@pytest.mark.parametrize("files", [program(), *OPEN.values()])
def test_what_the_graph_keeps_stays(files: dict[str, str], fault: str, tmp_path: Path) -> None:
    """An op that no table can have keeps the source, whatever it says; what else keeps a graph concerns it alone."""
    one = record(files, table="", stays="it is scattered", fault=fault)
    root = write(tmp_path / "p", files)
    for assume in (False, True) if fault else (False,):
        results = convert_with(root, one, assume=assume)
        if files == program() and not fault:
            assert verdict(results) == (State.APPLIED, Applicability.EXACT)
            continue
        assert verdict(results)[0] in (State.SUGGESTED, State.UNSUPPORTED)
        (table,) = results["main.py"].tables
        assert (
            len([one for one in table.reasons if "`item` stays a variable in a recorded run: it is scattered" in one])
            == 1
        )
        assert not results["main.py"].changed
    failed = replace(one, ended="by ValueError")
    assert results["main.py"].changed or verdict(convert_with(root, failed)) == verdict(convert_with(root))


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


def test_what_the_user_keeps_stays(tmp_path: Path) -> None:
    for comment in ("  # migrate: ignore it is small", "\n# migrate: ignore-file"):
        files = program("n = eval(sys.argv[1])", "values")
        files["main.py"] = files["main.py"].replace("values)", f"values){comment}")
        results = convert_with(write(tmp_path / comment.strip()[:24], files), record(files))
        assert not results["main.py"].changed
        assert {table.verdict for table in results["main.py"].tables} <= {State.NOTED}


_STEP = "step = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(e))\n"
_BY_NAME = 'with tf.variable_scope("s", reuse=tf.AUTO_REUSE):\n'
_ZEROS = "initializer=tf.zeros_initializer()"
UNFIXED = {
    "unfixed-name-reused": (
        f'{_BY_NAME}    item = tf.get_variable("t_" + name, [100, 4], {_ZEROS})  # made\n'
        f'    other = tf.get_variable("t_a", [100, 4], {_ZEROS})\ne = tf.nn.embedding_lookup(item, ids)\n'
    ),
    "unfixed-name-unread": (
        f"with tf.variable_scope(scope):\n    item = tf.get_variable(name.lower(), rows, {_ZEROS})  # made\n"
        "e = tf.nn.embedding_lookup(item, ids)\n"
    ),
    "fixed-twin": (
        f'with tf.variable_scope(name):\n    item = tf.get_variable("t", [100, 4], {_ZEROS})  # made\n'
        f'with tf.variable_scope("s"):\n    other = tf.get_variable("t", [100, 4], {_ZEROS})\n'
        "e = tf.nn.embedding_lookup(item, ids) + tf.nn.embedding_lookup(other, ids)\n"
    ),
}


@pytest.mark.parametrize("key", UNFIXED)
def test_a_recorded_run_decides_where_a_name_is_not_fixed(key: str, tmp_path: Path) -> None:
    """This is the remedy that they name."""
    files = {"main.py": f'{HEAD}name = sys.argv[-1] if len(sys.argv) > 1 else "a"\n{UNFIXED[key]}{_STEP}'}
    root = write(tmp_path / "p", files)
    (alone,) = (file.result for file in convert_paths([str(root)], with_record(root)))
    said = [one.action for one in alone.findings if one.message == "the full name of this variable is not fixed"]
    assert said and "record a run with `migrate trace`" in said[0], alone.findings
    moved = convert_with(root, record(files, made="# made"))["main.py"]
    table = next(one for one in moved.tables if one.location.line == line(files, "# made")[1])
    assert (table.verdict, table.applicability) == (State.APPLIED, Applicability.IN_GRAPH)
