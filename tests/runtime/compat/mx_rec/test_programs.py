"""A program for Rec SDK computes what stock TensorFlow does, under each of its six switches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import mx_rec
from tests.support import forking
from tests.support.compat.mx_rec_stock import (
    ESTIMATOR,
    PROGRAM,
    losses_of,
    samples_of_the_demo,
    stock_estimator,
    stock_losses,
    v1,
)
from tests.support.paths import ROOT

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
    "a device": {"RECMIGRATE_MX_REC_HBM_DEVICE": "/cpu:0"},
    "a device, modified graph, several lookups, thresholds": {
        "RECMIGRATE_MX_REC_HBM_DEVICE": "/cpu:0",
        "USE_MODIFY_GRAPH": "1",
        "USE_MULTI_LOOKUP": "1",
        "USE_FAAE": "1",
    },
    "a device, disks": {
        "RECMIGRATE_MX_REC_HBM_DEVICE": "/cpu:0",
        "CACHE_MODE": "SSD",
        "USE_MODIFY_GRAPH": "1",
        "USE_DYNAMIC": "1",
    },
    "disks, dynamic shapes": {"CACHE_MODE": "SSD", "USE_MODIFY_GRAPH": "1", "USE_DYNAMIC": "1"},
}


@pytest.mark.parametrize("switches", COMBINATIONS.values(), ids=COMBINATIONS)
@pytest.mark.one_case
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
    samples = samples_of_the_demo()
    assert f"sizes {len(np.unique(samples['user']))} {len(np.unique(samples['item']))}" in printed


@pytest.mark.skipif("estimator" not in dir(v1), reason="this TensorFlow has no tf.estimator")
@pytest.mark.parametrize("modify", ["0", "1"])
@pytest.mark.one_case
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
    losses, predicted = stock_estimator()
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
    command = [forking.python(), "-m", "runtime.compat.mx_rec", "--tf1", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(losses_of(done.stdout), stock_losses(False), rtol=1e-5)
