"""`migrate checkpoint --to-variables`: the original trains on as if it had never been moved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.checkpoint import checkpoint
from migrate.errors import MigrateError
from tests.support.moved_training import OPTIMIZERS, prepare, train

tf = pytest.importorskip("tensorflow").compat.v1


def invoke(directory: Path, old: str, new: str, *more: str, report: bool = True) -> Any:
    told = ["--report", str(directory / "report.json")] if report else []
    return CliRunner().invoke(checkpoint, [str(directory / old), str(directory / new), *told, *more])


def back(directory: Path, *more: str, old: str = "trained", report: bool = True) -> Any:
    return invoke(directory, old, "back", "--to-variables", "--like", str(directory / "like"), *more, report=report)


def values(path: Path) -> dict[str, Any]:
    return {name: tf.train.load_variable(str(path), name) for name, _ in tf.train.list_variables(str(path))}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.one_case
def test_a_round_trip_changes_no_number(tmp_path: Path, optimizer: str) -> None:
    """The original, steps 0 to 3; the converted program, 4 to 7; back in the original, 8 to 11."""
    original, converted = prepare(tmp_path, optimizer)
    train(original, 0, None, str(tmp_path / "like"))
    assert invoke(tmp_path, "like", "moved").exit_code == 0
    train(converted, 4, str(tmp_path / "moved"), str(tmp_path / "trained"))
    result = back(tmp_path)
    assert result.exit_code == 0, result.exception
    assert "table tower_user -> tower/user [30, 4]" in result.output

    train(original, 4, str(tmp_path / "like"), str(tmp_path / "stayed"))
    wanted, found = values(tmp_path / "stayed"), values(tmp_path / "back")
    assert wanted.keys() == found.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=1e-7, err_msg=name)
    want = train(original, 8, str(tmp_path / "stayed"), None)
    np.testing.assert_allclose(train(original, 8, str(tmp_path / "back"), None), want, rtol=2e-5)


@pytest.mark.parametrize("optimizer", ["AdagradOptimizer(0.1)", "AdamOptimizer(0.05)"])
@pytest.mark.one_case
def test_rows_that_a_table_never_saw_are_what_it_would_give(tmp_path: Path, optimizer: str) -> None:
    original, converted = prepare(tmp_path, optimizer)
    train(original, 0, None, str(tmp_path / "like"))
    train(converted, 0, None, str(tmp_path / "trained"), rows=40)
    result = back(tmp_path)
    assert result.exit_code == 0, result.exception
    assert "rows that the table does not have get initial values" in result.output
    rows, found = values(tmp_path / "trained"), values(tmp_path / "back")
    keys = rows["tower_user-keys"]
    outside = keys[keys >= 30]
    assert f"{len(outside)} ids of tower_user are beyond the rows of tower/user and are left out: " in result.output
    inside = keys < 30
    np.testing.assert_array_equal(found["tower/user"][keys[inside]], rows["tower_user-values"][inside])
    unseen = np.setdiff1d(np.arange(30), keys)
    np.testing.assert_array_equal(found["tower/user"][unseen], first_rows(tmp_path / "trained", "tower_user", unseen))
    if "Adagrad" in optimizer:
        assert (found["tower/user/Adagrad"][unseen] == np.float32(0.1)).all()
    assert len(train(original, 4, str(tmp_path / "back"), None)) == 4


def first_rows(path: Path, table: str, ids: Any) -> Any:
    """Return what the table gives to ids that it does not have, in the converted program itself."""
    import runtime

    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(f"{path}.meta").restore(session, str(path))
        (lookup,) = (op for op in graph.get_operations() if op.type.startswith("RecLookup") and table in op.name)
        read = runtime.native.ops().rec_lookup(*lookup.inputs[:2], ids, lookup.inputs[3:])
        return session.run(read)


def problem(result: Any) -> str:
    assert isinstance(result.exception, MigrateError), result.output
    return str(result.exception)


def test_errors_name_the_remedy(tmp_path: Path) -> None:
    original, converted = prepare(tmp_path, "AdagradOptimizer(0.1)")
    train(original, 0, None, str(tmp_path / "like"))
    train(converted, 0, None, str(tmp_path / "trained"))
    assert "give --report FILE, or --like CHECKPOINT" in problem(
        invoke(tmp_path, "trained", "back", "--to-variables", report=False)
    )
    assert "holds no variable `kernel2`" in problem(back(tmp_path, "--map", "tower_user=kernel2"))
    (tmp_path / "trained.meta").unlink()
    assert "ids of `tower_user`, and" in problem(back(tmp_path))
    assert "has no rows of a table" in problem(back(tmp_path, old="like", report=False))
    assert not list(tmp_path.glob("back*"))
