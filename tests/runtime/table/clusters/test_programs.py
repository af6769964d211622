"""Stock programs of clusters compute the same where variables have become tables, by their text or by the hook."""

from __future__ import annotations

import json
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import runtime
from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from rewriter import install
from runtime.optimizers import adagrad
from runtime.table.clusters import servers, watch
from tests.support.clusters import in_process
from tests.support.paths import ROOT

v1 = tf.compat.v1
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
    """Runs programs, each in a cluster of its own with servers in this process, or as a cluster of one task."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._out, self._patch = folder / "losses.json", monkeypatch

    def losses(self, text: str, arguments: list[str], job: str, ps: int = 2) -> list[float]:
        """Return the loss of each step."""
        cluster = in_process.addresses({"ps": ps, job: 1} if ps else {job: 1})
        in_process.started(cluster, [("ps", number) for number in range(ps)])
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
    converted = run.losses(_converted(text), arguments, job)
    # TensorFlow multiplies by its approximation of 1 / sqrt; a table divides by the root, in any process.
    assert converted == pytest.approx(stock, rel=1e-6)
    assert converted == run.losses(_converted(text), [], job, ps=0)
    installation = install()
    try:
        with caplog.at_level(logging.INFO, "rewriter"):
            assert run.losses(text, arguments, job) == converted
    finally:
        installation.remove()
    assert "becomes a table on 1 server" in caplog.text


def test_a_step_of_adagrad_is_nearer_to_that_in_float64_than_a_variables() -> None:
    """The cause of the rounding above: all else that a worker and its servers compute has the bits of one process."""
    draw = np.random.default_rng(1)
    batches = [(draw.permutation(40)[:24], draw.normal(size=[24, 4]).astype(np.float32)) for _ in range(20)]
    with tf.Graph().as_default(), v1.Session() as session:
        variable = v1.get_variable("stepped", [40, 4], initializer=v1.constant_initializer(0.25), use_resource=True)
        table = runtime.create_table(tf.int64, 4, "stepped_table", v1.constant_initializer(0.25))
        ids, gradient = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, 4])
        own = adagrad.create_hash_optimizer(0.125, initial_accumulator_value=0.125)
        train = [
            v1.train.AdagradOptimizer(0.125, 0.125).apply_gradients(
                [(tf.IndexedSlices(gradient, ids, tf.shape(variable)), variable)]
            ),
            own.minimize(tf.reduce_sum(runtime.sparse_lookup(table, ids) * gradient), var_list=table.variables),
        ]
        read = [tf.identity(variable), runtime.sparse_lookup(table, tf.range(40, dtype=tf.int64), is_train=False)]
        rows, squares = np.full([40, 4], 0.25), np.full([40, 4], 0.125)
        errors = np.zeros([20, 2])
        session.run(v1.global_variables_initializer())
        for step, (keys, values) in enumerate(batches):
            session.run(train, {ids: keys, gradient: values})
            squares[keys] += values.astype(np.float64) ** 2
            rows[keys] -= 0.125 * values / np.sqrt(squares[keys])
            errors[step] = [np.abs(one - rows).max() for one in session.run(read)]
    assert 0 < errors.max() < 1e-6
    assert (errors[:, 1] <= errors[:, 0] + 1e-8).mean() > 0.5
