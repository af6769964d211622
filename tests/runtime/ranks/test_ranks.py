"""Ranks that share tables, on one machine: the numbers of one process of stock TensorFlow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.ranks import checkpoint
from runtime.ranks.placements import check_placement, held_here
from tests.support import forking, programs
from tests.support.ranks import rank_worker

_WORKER = Path(rank_worker.__file__)


def _launched(ranks: int, *arguments: str | Path, engine: str = "local") -> subprocess.CompletedProcess[str]:
    command = [forking.python(), "-m", "runtime.launch", "-n", str(ranks), "--engine", engine, *map(str, arguments)]
    return programs.run(command, 540)


def _trained(
    ranks: int, optimizer: str, first: int, last: int, out: Path, *more: str, engine: str = "local"
) -> list[dict[str, np.ndarray]]:
    done = _launched(ranks, _WORKER, optimizer, str(first), str(last), out, *more, engine=engine)
    assert done.returncode == 0, done.stderr
    return [dict(np.load(f"{out}-{rank}.npz")) for rank in range(ranks)]


def test_ranks_train_as_one_process_and_go_on_with_another_number(tmp_path: Path) -> None:
    want = rank_worker.train("adam", 0, 10, "", stock=True)
    before = rank_worker.train("adam", 0, 6, str(tmp_path / "run"))
    after = _trained(2, "adam", 6, 10, tmp_path / "run", "ahead", engine="collectives")
    for one in after:
        losses = np.concatenate([before["losses"], one["losses"]])
        np.testing.assert_allclose(losses, want["losses"], rtol=1e-5)
        for name in ("kernel", *rank_worker.TABLES):
            worst = np.abs(one[name] - want[name]).max()
            assert worst <= 1e-5 * np.abs(want[name]).max(), name
    assert len(np.unique(want["losses"])) == 10
    # TensorFlow's own timeouts would leave some sleeping threads for each exchange.
    assert after[0]["threads"][-1] - after[0]["threads"][1] < 10, after[0]["threads"]


def test_the_first_failure_is_the_exit_code_and_lines_bear_their_rank(tmp_path: Path) -> None:
    program = tmp_path / "fails.py"
    program.write_text(
        "import json, os, sys, time\n"
        "rank = json.loads(os.environ['TF_CONFIG'])['task']['index']\n"
        "print('hello', *sys.argv[1:], os.environ['PYTHONHASHSEED'])\n"
        "sys.exit(7) if rank == 1 else time.sleep(300)\n"
    )
    done = _launched(2, program, "--deep", "x", engine="collectives")
    assert done.returncode == 7
    hash_seed = os.environ.get("PYTHONHASHSEED", "0")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] hello --deep x {hash_seed}" for rank in range(2)]
    assert done.stderr.splitlines()[-1] == "runtime.launch: rank 1 ended with exit code 7; the other 1 are stopped"
    (said,) = [line for line in done.stderr.splitlines() if "network interfaces" in line]
    assert said.startswith("runtime.launch: TensorFlow's servers of the ranks listen on all network interfaces")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0", __file__], "there must be at least one rank"),
        (["-n", "2", "nowhere.py"], "there is no program nowhere.py"),
    ],
)
def test_what_cannot_be_started(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    from runtime import launch

    with pytest.raises(SystemExit) as raised:
        launch.main(arguments)
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_without_horovod_its_engine_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from runtime import launch

    monkeypatch.setitem(sys.modules, "horovod", None)
    with pytest.raises(ranks.RanksError, match=r"Horovod cannot be imported .*build it .*`make horovod`"):
        ranks.start("horovod")
    with pytest.raises(SystemExit):
        launch.main(["-n", "2", "--engine", "horovod", __file__])
    assert "build it with `make horovod`" in capsys.readouterr().err


def test_one_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    engine = ranks.start()
    assert (engine.name, ranks.rank(), ranks.size(), engine.seed) == ("alone", 0, 1, None)
    gradient, variable = tf.ones([2]), tf.Variable([1.0, 2.0])
    ((same, kept),) = ranks.reduced_gradients([(gradient, variable)])
    assert same is gradient
    assert kept is variable
    rows, counts = engine.all_gather(tf.constant([3, 4]))
    assert (rows.numpy().tolist(), counts.numpy().tolist()) == ([3, 4], [2])
    copied = runtime.create_table(tf.int64, 2, "copied", tf.ones_initializer(), placement="replicated")
    assert copied.placement == "replicated"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ranks.start("mpi"), ValueError, "'mpi' is unknown: choose one of auto, alone, local, collectives"),
        (lambda: ranks.start(timeout_seconds=0), ValueError, "must be above 0"),
        (lambda: ranks.start("collectives"), ranks.RanksError, "TF_CONFIG does not say which rank this is"),
        (lambda: check_placement("localized:1"), ValueError, "names rank 1, but ranks are 0 to 0"),
        (lambda: check_placement("local"), ValueError, "must be 'distributed'"),
        (lambda: ranks.reduced_gradients([], "max"), ValueError, "operation"),
        (
            lambda: checkpoint.restore(tf.train.Checkpoint(), "nowhere"),
            ranks.RanksError,
            "no complete checkpoint nowhere",
        ),
    ],
)
def test_refusals(call: Any, error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(error, match=message):
        call()


def test_which_rank_of_its_machine_a_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TF_CONFIG", "HOROVOD_LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    assert ranks.local_rank() == 0
    workers = ["a:1", "b:1", "a:2", "b:2", "b:3"]
    found = []
    for index in range(5):
        config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        found.append(ranks.local_rank())
    assert found == [0, 0, 1, 1, 2]
    monkeypatch.setenv("HOROVOD_LOCAL_RANK", "3")
    assert ranks.local_rank() == 3


def test_negative_keys_have_an_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    class Second:
        rank, size = 1, 3

    monkeypatch.setattr("runtime.ranks.placements.current", Second)
    keys = np.array([-5, -3, -2, 0, 1, 4, 5])
    assert held_here(keys, "distributed").tolist() == [True, False, True, False, True, True, False]
    assert held_here(keys, "localized:1").all()
    assert not held_here(keys, "localized:2").any()


def test_one_rank_does_not_save_its_part_as_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class First:
        name, rank, size, seed = "fake", 0, 2, 3

    table = runtime.create_table(tf.int64, 2, "part", tf.ones_initializer())
    monkeypatch.setattr("runtime.ranks.process_group.current", First)
    with pytest.raises(ranks.RanksError, match="`part` are distributed over 2 ranks"):
        tf.train.Checkpoint(table=table).write(str(tmp_path / "model"))
    assert not list(tmp_path.iterdir())
