"""Ranks over Horovod, in v1 sessions and Estimator: the numbers of one process of stock TensorFlow."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support import forking, programs
from tests.support.paths import ROOT
from tests.support.ranks import graph_worker

_WORKER = Path(graph_worker.__file__)
_HOOKED = _WORKER.with_name("hooked_worker.py")  # imports Horovod, which may not be there
_LAUNCHER = [str(ROOT / "runtime" / "launch.py"), "--engine", "horovod"]

pytestmark = [
    pytest.mark.one_version,
    pytest.mark.skipif(
        importlib.util.find_spec("horovod") is None, reason="Horovod is not installed: `make horovod` builds it"
    ),
]


def _run(arguments: list[str]) -> str:
    done = programs.run([sys.executable, *arguments])
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stderr


def _assert_close(got: np.ndarray, want: np.ndarray, what: str) -> None:
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max(), what


@pytest.mark.soak  # sessions over Horovod: tests/runtime/compat/sok/test_layers_ranks.py
def test_sessions_and_estimator_train_as_one_process_and_go_on_with_another_number(tmp_path: Path) -> None:
    path, half = tmp_path / "run", graph_worker.STEPS // 2
    _run([*_LAUNCHER, "-n", "2", str(_WORKER), str(path)])
    first = [np.load(f"{path}-{rank}.npz") for rank in range(2)]
    assert [str(one["engine"]) for one in first] == ["horovod", "horovod"]
    for number, case in enumerate(graph_worker.CASES):
        want = graph_worker.in_session(case, graph_worker.STEPS, stock=True)
        for one in first:
            for name, values in want.items():
                _assert_close(one[f"{number}-{name}"], values, f"{case} {name}")
        for name, values in graph_worker.in_session(case, graph_worker.STEPS).items():
            _assert_close(values, want[name], f"{case} {name} of one rank")
    want = graph_worker.in_session(graph_worker.ESTIMATED, graph_worker.STEPS, stock=True)
    command = ["-m", "horovod.runner.launch", "-np", "3", forking.python(), str(_WORKER), str(path)]
    _run([*command, str(graph_worker.STEPS)])
    for before, after in zip(first * 2, (np.load(f"{path}-{rank}.npz") for rank in range(3)), strict=False):
        losses = np.concatenate([before["estimator-losses"], after["estimator-losses"]])
        assert len(before["estimator-losses"]) == half
        _assert_close(losses, want["losses"], "losses")
        _assert_close(after["estimator-rows"], want["rows"], "rows")
        _assert_close(after["estimator-kernel"], want["kernel"], "kernel")


def test_a_stock_program_has_a_copy_of_its_table_on_each_rank(tmp_path: Path) -> None:
    out = tmp_path / "run"
    _run(["-m", "horovod.runner.launch", "-np", "2", forking.python(), str(_HOOKED), str(out)])
    ranks = [np.load(f"{out}-{rank}.npz") for rank in range(2)]
    for one in ranks:
        assert [*one["tables"]] == ["alike"]
        for stock, moved in (("arr_0", "arr_2"), ("arr_1", "arr_3")):
            np.testing.assert_allclose(one[moved], one[stock], rtol=1e-5)
        assert len(one["stays"]) == 1
        assert "leave BroadcastGlobalVariablesHook out" in one["stays"][0]
    np.testing.assert_array_equal(ranks[0]["arr_3"], ranks[1]["arr_3"])
