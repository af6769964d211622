"""`migrate checkpoint`: training goes on in the converted program as it would have in the original."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.checkpoint import checkpoint
from migrate.errors import MigrateError
from migrate.report.writers import write
from migrate.source.driver.run import convert_paths, make_report
from migrate.source.settings.options import Options
from tests.support.moved_training import MODEL, OPTIMIZERS, prepare, train

tf = pytest.importorskip("tensorflow").compat.v1


def invoke(directory: Path, *more: str, old: str = "old", new: str = "new") -> Any:
    arguments = [str(directory / old), str(directory / new), "--report", str(directory / "report.json"), *more]
    return CliRunner().invoke(checkpoint, arguments)


def problem(result: Any) -> str:
    assert isinstance(result.exception, MigrateError), result.output
    return str(result.exception)


def test_errors_name_the_remedy_and_write_nothing(tmp_path: Path) -> None:
    original, converted = prepare(tmp_path, "AdagradOptimizer(0.1)")
    train(original, 0, None, str(tmp_path / "old"))
    before = sorted(tmp_path.iterdir())
    assert "index does not exist" in problem(invoke(tmp_path, old="none"))
    assert "invalid; write --map TABLE=VARIABLE" in problem(invoke(tmp_path, "--map", "tower_user"))
    assert "no table `item`" in problem(invoke(tmp_path, "--map", "item=tower/user"))
    assert "similar names: " in problem(invoke(tmp_path, "--map", "tower_user=tower/usr"))
    for force in ((), ("--force",)):
        assert "is a file of OLD, which is not changed" in problem(invoke(tmp_path, *force, new="old"))
    train(converted, 0, None, str(tmp_path / "checkpoint_of_tables"))
    assert "or --force to overwrite it" in problem(invoke(tmp_path, new="checkpoint_of_tables"))
    twice = problem(invoke(tmp_path, old="checkpoint_of_tables", new="new_folder/new"))
    assert "has rows of the table `tower_bias` already: restore it in the converted program" in twice
    assert "has no value for it" in problem(
        invoke(tmp_path, "--like", str(tmp_path / "other")) if save_other(tmp_path) else None
    )
    assert [path for path in sorted(tmp_path.iterdir()) if not path.name.startswith(("other", "checkpoint"))] == [
        path for path in before if not path.name.startswith("checkpoint")
    ]


def test_a_table_that_moves_at_run_time_reads_the_old_checkpoint(tmp_path: Path) -> None:
    original, _ = prepare(tmp_path, "AdagradOptimizer(0.1)")
    train(original, 0, None, str(tmp_path / "old"))
    report = json.loads((tmp_path / "report.json").read_text())
    for table in report["tables"]:
        table["applicability"] = "in-graph"
        (tmp_path / "report.json").write_text(json.dumps(report))
        done = invoke(tmp_path)
        if table is report["tables"][0]:
            assert done.exit_code == 0, done.exception
            assert f"note: {table['name']} moves at run time: its variable is copied" in done.output
            old, new = (dict(tf.train.list_variables(str(tmp_path / one))) for one in ("old", "new"))
            variable = table["name"].replace("_", "/")
            assert old[variable] == new[variable] and f"{table['name']}-values" not in new
            for file in tmp_path.glob("new*"):
                file.unlink()
    assert "tables move at run time, by `rewriter.install`, and read a checkpoint of the original as" in problem(done)
    assert not list(tmp_path.glob("new*"))


def save_other(directory: Path) -> bool:
    """Write a checkpoint of another model."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("another", [3])
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(directory / "other"))
    return True


def test_names_that_tell_nothing_are_asked_for(tmp_path: Path) -> None:
    original, converted = prepare(tmp_path, "AdagradOptimizer(0.1)")
    renamed = original.replace('variable_scope("tower")', 'variable_scope("v1/old_tower")').replace(
        '"user", [', '"u", ['
    )
    train(renamed, 0, None, str(tmp_path / "old"))
    asked, remedy = problem(invoke(tmp_path)).split("; give ")
    assert asked.endswith(
        "which variable is the table `tower_user` (perhaps v1/old_tower/u), `tower_bias` (perhaps v1/old_tower/bias)"
    )
    assert remedy == "--map tower_user=v1/old_tower/u --map tower_bias=v1/old_tower/bias"
    mapped = invoke(tmp_path, *remedy.split())
    assert mapped.exit_code == 0, mapped.exception
    want = train(renamed, 4, str(tmp_path / "old"), None)
    np.testing.assert_allclose(train(converted, 4, str(tmp_path / "new"), None), want, rtol=1e-5)


def test_a_report_of_several_programs(tmp_path: Path) -> None:
    """A checkpoint is of one of them; which tables that one has, a checkpoint of the converted one says."""
    original, converted = prepare(tmp_path, "AdagradOptimizer(0.1)")
    train(original, 0, None, str(tmp_path / "old"))
    train(converted, 0, None, str(tmp_path / "fresh"))
    another = original.replace('"tower"', '"tall"').replace("[30, 4]", "[30, 6]").replace("[4, 1]", "[6, 1]")
    (tmp_path / "another.py").write_text(another)
    done = convert_paths([str(tmp_path / "model.py"), str(tmp_path / "another.py")], Options())
    write(make_report("test", done, "", dry=False), str(tmp_path / "report.json"))
    asked = problem(invoke(tmp_path))
    assert "`tall_user` (none has its dim)" in asked
    assert "or --like a checkpoint that the converted program wrote" in asked
    result = invoke(tmp_path, "--like", str(tmp_path / "fresh"))
    assert result.exit_code == 0 and "tall" not in result.output, result.exception
    want = train(original, 4, str(tmp_path / "old"), None)
    np.testing.assert_allclose(train(converted, 4, str(tmp_path / "new"), None), want, rtol=1e-5)


def test_what_a_saver_says_moves_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    original, converted = prepare(tmp_path, "AdagradOptimizer(0.1)")
    (tmp_path / "report.json").rename(tmp_path / "convert.json")
    (tmp_path / "runs").mkdir()
    train(original, 0, None, "runs/model")
    with pytest.raises(tf.errors.NotFoundError, match=r"has the variable `tower/.*before its conversion") as raised:
        train(converted, 4, "runs/model", None)
    (command,) = re.findall("`(migrate checkpoint .*?)`", str(raised.value))
    done = CliRunner().invoke(checkpoint, shlex.split(command)[2:])
    assert done.exit_code == 0, done.exception
    want = train(original, 4, "runs/model", None)
    got = train(converted, 4, str(tf.train.latest_checkpoint("runs_moved")), None)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.one_case
def test_rows_of_partitions_go_to_their_ids(tmp_path: Path, strategy: str) -> None:
    original = MODEL.replace("{optimizer}", "AdagradOptimizer(0.1)").replace(
        'tf.variable_scope("tower")', 'tf.variable_scope("tower", partitioner=tf.fixed_size_partitioner(4))'
    )
    for table in ("table", "bias"):
        original = original.replace(f"tf.gather({table}, user)", f"tf.nn.embedding_lookup({table}, user)")
        original = original.replace(f"lookup({table}, user)", f'lookup({table}, user, partition_strategy="{strategy}")')
    # 28 rows: `mod` needs parts of one size.
    original = original.replace("[30", "[28").replace("randint(30", "randint(28")
    (tmp_path / "model.py").write_text(original)
    done = convert_paths([str(tmp_path / "model.py")], Options())
    write(make_report("test", done, "", dry=False), str(tmp_path / "report.json"))
    train(original, 0, None, str(tmp_path / "old"), rows=28)
    want = train(original, 4, str(tmp_path / "old"), None, rows=28)
    if strategy == "mod":
        assert "--parts tower_user=N" in problem(invoke(tmp_path))
        assert "not a number" in problem(invoke(tmp_path, "--parts", "tower_user=x"))
        assert invoke(tmp_path, "--parts", "tower_user=4", "--parts", "tower_bias=4").exit_code == 0
    else:
        assert invoke(tmp_path).exit_code == 0
    got = train(done[0].result.converted, 4, str(tmp_path / "new"), None, rows=28)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def report_of(directory: Path, text: str) -> None:
    (directory / "model.py").write_text(text)
    done = convert_paths([str(directory / "model.py")], Options())
    assert done[0].result.changed
    write(make_report("test", done, "", dry=False), str(directory / "report.json"))


def test_variables_of_one_name_are_asked_for(tmp_path: Path) -> None:
    original, _ = prepare(tmp_path, "AdagradOptimizer(0.1)")
    train(original, 0, None, str(tmp_path / "old"))
    made = 'tf.Variable(tf.zeros([30, 4]), name="emb")'
    report_of(
        tmp_path,
        f"import tensorflow.compat.v1 as tf\nA = {made}\nB = {made}\ne = tf.nn.embedding_lookup(A, ids)\n"
        "f = tf.nn.embedding_lookup(B, ids)\nop = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n",
    )
    assert "`emb` (perhaps tower/user), `emb_1` (perhaps tower/user); give --map emb=VARIABLE --map emb_1=VARIABLE" in (
        problem(invoke(tmp_path))
    )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_trained_rows_are_what_ids_without_buckets_begin_as(tmp_path: Path, optimizer: str) -> None:
    """Each bucket has one id here, so that training goes on as it would with buckets."""
    original, converted = prepare(tmp_path, optimizer)
    train(original, 0, None, str(tmp_path / "old"))
    want = train(original, 4, str(tmp_path / "old"), None)
    result = invoke(tmp_path, "--unbucket", "tower_user", "--unbucket", "tower_bias")
    assert result.exit_code == 0, result.output
    assert "a new id of tower_user begins with the row of its bucket: create it with base_buckets=30" in result.output
    free = converted.replace("create_table(", "create_table(base_buckets=30, ")
    free = free.replace('name="user_ids")', 'name="user_ids")\n    user += 30 * (1 + user % 3)')
    assert free.count("base_buckets") == 2
    np.testing.assert_allclose(train(free, 4, str(tmp_path / "new"), None), want, rtol=1e-5)
    unknown = invoke(tmp_path, "--unbucket", "item", "--force").exception
    assert str(unknown) == "--unbucket: the report has no table `item`; its tables are tower_user, tower_bias"
    train(free, 4, str(tmp_path / "new"), str(tmp_path / "free"))
    back = invoke(tmp_path, "--to-variables", "--like", str(tmp_path / "old"), old="free", new="back")
    assert "have rows of their own, in place of buckets" in problem(back) and "give --bucket-rows" in problem(back)
    assert not (tmp_path / "back.index").exists()
    back = invoke(tmp_path, "--to-variables", "--bucket-rows", "--like", str(tmp_path / "old"), old="free", new="back")
    assert back.exit_code == 0, back.exception
    assert "single ids are left out" in back.output
    assert len(train(original, 4, str(tmp_path / "back"), None)) == 4
