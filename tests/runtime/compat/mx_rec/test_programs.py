"""A program for Rec SDK computes what stock TensorFlow does, under each of its six switches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import mx_rec
from tests.support.paths import ROOT

PROGRAM = Path(__file__).with_name("mx_rec_demo.py")
ESTIMATOR = Path(__file__).with_name("mx_rec_estimator_demo.py")
v1 = tf.compat.v1


def _samples() -> dict[str, Any]:
    random = np.random.RandomState(3)
    users, items = random.randint(20, size=(40, 3)), random.randint(10, size=(40, 2))
    return {"user": users, "item": items, "label": random.rand(40).astype(np.float32)}


def stock_losses(multi: bool) -> list[float]:
    """The losses of the same model and data with variables of TensorFlow."""
    samples = _samples()
    evaluated = {key: value[::-1][:16] for key, value in samples.items()}
    with tf.Graph().as_default(), v1.Session() as session:
        batch = {
            name: v1.placeholder(tf.int64 if name != "label" else tf.float32, [8, *value.shape[1:]])
            for name, value in samples.items()
        }
        tables = {
            name: v1.get_variable(name, [20, dim], initializer=v1.constant_initializer(0.3))
            for name, dim in (("user", 4), ("item", 2))
        }
        kernel = v1.get_variable("kernel", [6, 1], initializer=v1.constant_initializer(0.2))
        found = [tf.reduce_sum(tf.nn.embedding_lookup(tables[name], batch[name]), 1) for name in tables]
        found[0] *= 2.0 if multi else 1.0
        loss = tf.reduce_mean((tf.squeeze(tf.matmul(tf.concat(found, 1), kernel), 1) - batch["label"]) ** 2)
        train = [
            v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[kernel]),
            v1.train.AdagradOptimizer(0.1, 0.1).minimize(loss, var_list=list(tables.values())),
        ]
        session.run(v1.global_variables_initializer())

        def losses(rows: dict[str, Any], fetches: list[Any]) -> list[float]:
            feeds = (
                {batch[name]: value[start : start + 8] for name, value in rows.items()}
                for start in range(0, len(rows["label"]), 8)
            )
            return [float(session.run(fetches, feed)[0]) for feed in feeds]

        return losses(samples, [loss, *train]) + losses(evaluated, [loss])


def losses_of(printed: str) -> list[float]:
    return [float(line.split()[1]) for line in printed.splitlines() if line.startswith("loss ")]


COMBINATIONS = {
    "static": {},
    "dynamic shapes, several lookups": {"USE_DYNAMIC": "1", "USE_MULTI_LOOKUP": "1"},
    "modified graph, several lookups": {"USE_MODIFY_GRAPH": "1", "USE_MULTI_LOOKUP": "1"},
    "expansion, several lookups": {"USE_DYNAMIC_EXPANSION": "1", "USE_MULTI_LOOKUP": "1"},
    "expansion, modified graph, dynamic shapes": {
        "USE_DYNAMIC_EXPANSION": "1",
        "USE_MODIFY_GRAPH": "1",
        "USE_DYNAMIC": "1",
    },
    "thresholds": {"USE_FAAE": "1"},
    "thresholds, modified graph, host": {"USE_FAAE": "1", "USE_MODIFY_GRAPH": "1", "CACHE_MODE": "DDR"},
    "disks, dynamic shapes": {"CACHE_MODE": "SSD", "USE_MODIFY_GRAPH": "1", "USE_DYNAMIC": "1"},
}


@pytest.mark.parametrize("switches", COMBINATIONS.values(), ids=COMBINATIONS)
def test_the_program_has_the_losses_of_stock(
    switches: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, value in {**switches, "SSD_DATA_PATH": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    mx_rec.install()
    try:
        with tf.Graph().as_default():
            exec(compile(PROGRAM.read_bytes(), str(PROGRAM), "exec"), {"__name__": "__main__"})
    finally:
        mx_rec.uninstall()
    printed = capsys.readouterr().out
    want = stock_losses("USE_MULTI_LOOKUP" in switches)
    assert len({round(loss, 5) for loss in want}) == 7
    np.testing.assert_allclose(losses_of(printed), want, rtol=1e-5)
    samples = _samples()
    assert f"sizes {len(np.unique(samples['user']))} {len(np.unique(samples['item']))}" in printed


def test_the_documentation_has_the_table_of_all_switches() -> None:
    import mx_rec_matrix as matrix

    assert (
        matrix.table([(one, matrix.expected(one)) for one in matrix.combinations()]) in matrix.DOCUMENTATION.read_text()
    )


def _stock_estimator() -> tuple[list[float], list[float]]:
    """The losses of the Estimator's model, the last one of evaluation, and what it predicts."""
    random = np.random.RandomState(3)
    ids, labels = random.randint(9, size=(32, 3)), random.rand(32).astype(np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        keys, wanted = v1.placeholder(tf.int64, [None, 3]), v1.placeholder(tf.float32, [None])
        table = v1.get_variable("user", [9, 4], initializer=v1.constant_initializer(0.3))
        kernel = v1.get_variable("kernel", [4, 1], initializer=v1.constant_initializer(0.2))
        out = tf.squeeze(tf.matmul(tf.reduce_sum(tf.nn.embedding_lookup(table, keys), 1), kernel), 1)
        loss = tf.reduce_mean((out - wanted) ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        feeds = [{keys: ids[at : at + 8], wanted: labels[at : at + 8]} for at in range(0, 32, 8)]
        losses = [session.run([loss, train], feed)[0] for feed in feeds]
        predicted = session.run([loss, out], {keys: ids, wanted: labels})
        return [*losses, predicted[0]], predicted[1].tolist()


@pytest.mark.skipif("estimator" not in dir(v1), reason="this TensorFlow has no tf.estimator")
@pytest.mark.parametrize("modify", ["0", "1"])
def test_the_estimator_has_the_numbers_of_stock(
    modify: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("USE_MODIFY_GRAPH", modify)
    monkeypatch.setattr(sys, "argv", [str(ESTIMATOR), str(tmp_path / "model")])
    mx_rec.install()
    try:
        exec(compile(ESTIMATOR.read_bytes(), str(ESTIMATOR), "exec"), {"__name__": "__main__"})
    finally:
        mx_rec.uninstall()
    printed = capsys.readouterr().out
    losses, predicted = _stock_estimator()
    np.testing.assert_allclose(losses_of(printed), losses, rtol=1e-5)
    found = [float(text) for line in printed.splitlines() if line.startswith("out ") for text in line.split()[1:]]
    np.testing.assert_allclose(found, predicted, rtol=1e-5)
    if modify == "1":
        (exported,) = [line.split()[1] for line in printed.splitlines() if line.startswith("exported ")]
        with tf.Graph().as_default(), v1.Session() as session:
            served = v1.saved_model.load(session, ["serve"], exported).signature_def["serving_default"]
            feed = {served.inputs["user_ids"].name: np.random.RandomState(3).randint(9, size=(32, 3))}
            np.testing.assert_allclose(session.run(served.outputs["out"].name, feed), predicted, rtol=1e-5)


#: What a script for the hardware says before its session.
CONFIGURED = """from npu_bridge.npu_init import *

npu_plugin.set_device_sat_mode(0)
config = tf.ConfigProto(allow_soft_placement=False)
custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
custom_op.name = "NpuOptimizer"
custom_op.parameter_map["use_off_line"].b = True
"""


def test_it_runs_unmodified_by_the_command_also_as_tensorflow_1_would(tmp_path: Path) -> None:
    later = "tf.compat.v1.data.make_initializable_iterator(dataset.prefetch(10))"
    text = PROGRAM.read_text()
    assert later in text
    text = text.replace(later, "dataset.prefetch(10).make_initializable_iterator()").replace("tf.compat.v1.", "tf.")
    text = text.replace("tf.Session()", "tf.Session(config=config)")
    script = tmp_path / "train.py"
    script.write_text(text.replace("\nif tf.executing", f"\n{CONFIGURED}\nif tf.executing"))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "runtime.compat.mx_rec", "--tf1", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(losses_of(done.stdout), stock_losses(False), rtol=1e-5)
