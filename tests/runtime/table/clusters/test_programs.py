"""Stock programs of clusters compute the same where variables have become tables, by their text or by the hook."""

from __future__ import annotations

import json
import logging
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tensorflow as tf

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from rewriter import install
from runtime.table.clusters import servers, watch
from tests.support.clusters import in_process
from tests.support.paths import ROOT

#: Name -> the file of a program, further arguments, and the job of its only trainer. Their tables have names of their
#: own, as the servers of other tests are in this process, too. Nothing imports these files, as
#: `import tensorflow.compat.v1` puts another module into TensorFlow 2.21, which façades have not changed.
_PROGRAMS = {
    "a session": ("stock_session.py", [], "worker"),
    "an Estimator": ("stock_estimator.py", [], "chief"),
    "a strategy": ("stock_estimator.py", ["strategy"], "chief"),
}


@pytest.fixture(autouse=True)
def _unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "start", lambda tasks: None)


def _converted(text: str) -> str:
    result = convert_text("train.py", text, Options(), {})
    assert {table.verdict for table in result.tables} == {State.APPLIED}, [one.message for one in result.findings]
    return result.converted


class _Run:
    """Runs programs, each in a cluster of its own with two servers in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._out, self._patch = folder / "losses.json", monkeypatch

    def losses(self, text: str, arguments: list[str], job: str) -> list[float]:
        """Return the loss of each step."""
        with socket.socket() as a, socket.socket() as b, socket.socket() as c:
            for one in (a, b, c):
                one.bind(("127.0.0.1", 0))
            addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in (a, b, c)]
        cluster = {"ps": addresses[:2], job: addresses[2:]}
        in_process.started(cluster, [("ps", 0), ("ps", 1)])
        self._patch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}}))
        self._patch.setattr(sys, "argv", ["train.py", str(self._out), *arguments])
        code = compile(text, "train.py", "exec")
        with ThreadPoolExecutor(1) as pool:  # a coordinator of strategies keeps its server for its thread
            pool.submit(exec, code, {"__name__": "__main__"}).result()
        servers._trainers.clear()
        losses: list[float] = json.loads(self._out.read_text())
        self._out.unlink()
        return losses


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator since 2.16")
@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_stock_program_has_the_losses_of_its_variables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file, arguments, job = _PROGRAMS[name]
    text, run = (ROOT / "tests/support/clusters" / file).read_text(), _Run(tmp_path, monkeypatch)
    stock = run.losses(text, arguments, job)
    assert len(stock) == len(set(stock)) == 20
    assert run.losses(_converted(text), arguments, job) == pytest.approx(stock, rel=1e-6)
    installation = install()
    try:
        with caplog.at_level(logging.INFO, "rewriter"):
            assert run.losses(text, arguments, job) == pytest.approx(stock, rel=1e-6)
    finally:
        installation.remove()
    assert "becomes a table on 1 server" in caplog.text
