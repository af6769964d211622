"""Names that programs of SOK take from Horovod, from SOK's modules and from nvtx: over ranks, against numpy."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import launch
from runtime.compat.sok import __main__ as command
from runtime.compat.sok import installing, starting
from runtime.compat.sok.horovod import CONTENTS
from runtime.compat.sok.loss_scaling import LossScaleOptimizer
from runtime.compat.sok.surroundings import profiling
from runtime.compat.sok.surroundings.connecting import connects

_LEGACY: Any = getattr(tf.keras.optimizers, "legacy", None) if not hasattr(tf.keras, "Variable") else None
hvd = SimpleNamespace(**CONTENTS)


@pytest.mark.parametrize("module", ["sparse_operation_kit", "sparse_operation_kit.tf", "sparse_operation_kit.lookup"])
def test_names_that_are_not_there_say_so(module: str) -> None:
    with pytest.raises(AttributeError, match=rf"^{module}\.raw_ops is not supported by runtime\.compat\.sok: use what"):
        installing.CONTENTS[module]["__getattr__"]("raw_ops")


def test_a_scaled_loss_trains_as_it_does_without() -> None:
    rows, ids = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), tf.constant([1, 1, 0])
    found = []
    for scale in (None, 1024):
        table, kernel = tf.Variable(rows), tf.Variable([[0.5], [0.25]])
        inner = tf.keras.optimizers.SGD(0.5)
        optimizer = inner if scale is None else LossScaleOptimizer(inner, scale)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.gather(table, ids) @ kernel) ** 2)
            scaled = loss if scale is None else optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(scaled, [table, kernel])
        if scale is not None:
            assert float(scaled) == 1024 * float(loss)
            assert optimizer.get_unscaled_gradients([None]) == [None]
            gradients = optimizer.get_unscaled_gradients(gradients)
            assert isinstance(gradients[0], tf.IndexedSlices)
            assert optimizer.learning_rate is inner.learning_rate
        optimizer.apply_gradients(zip(gradients, [table, kernel], strict=True))
        found.append([table.numpy(), kernel.numpy()])
    for stock, own in zip(*found, strict=True):
        np.testing.assert_array_equal(own, stock)
    for scale in ("dynamic", 0, True):
        with pytest.raises(ValueError, match="must be a number above 0"):
            LossScaleOptimizer(inner, scale)


def test_marks_of_a_profiler_do_nothing_and_it_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    profiling._said.clear()
    marks = SimpleNamespace(**profiling.CONTENTS)
    marks.end_range(marks.start_range("step"))
    with marks.annotate("part", color="red"):
        assert marks.annotate()(lambda: 3)() == 3
    assert capsys.readouterr().err == "runtime.compat.sok: nvtx is not installed: its marks do nothing\n"


@pytest.mark.parametrize(
    ("text", "joins"),
    [
        ("import horovod.tensorflow as hvd\nhvd.init()\n", True),
        ("sok.Init(global_batch_size=8)\n", True),
        ("from runtime import ranks\nranks.start()\n", True),
        ("import beside\n", True),
        ("from beside import main\n", True),
        ("no Python:\n", True),
        ("import numpy\nsok.DynamicVariable(dimension=4)\n", False),
        ('sok.init("single")\n', False),
        ('sok.init(comm_tool="single")\n', False),
    ],
)
def test_which_scripts_connect_ranks(tmp_path: Path, text: str, joins: bool) -> None:
    tmp_path.joinpath("beside.py").write_text("")
    script = tmp_path / "script.py"
    script.write_text(text)
    assert connects(script) is joins


def test_a_script_that_connects_no_ranks_runs_alone_in_each_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TF_CONFIG", "of another job")
    script = tmp_path / "script.py"
    script.write_text("import numpy\n")
    started: list[Any] = []
    monkeypatch.setattr(command, "launch", lambda command, ranks, **given: started.append((ranks, given)) or 0)
    assert command.main(["-n", "2", "--engine", "collectives", str(script)]) == 0
    assert started == [(2, {"engine": "alone"})]
    assert "connects no ranks: 2 processes run alone" in capfd.readouterr().err
    assert command.main(["-n", "2", "--engine", "collectives", "-m", "pytest"]) == 0
    assert started[1] == (2, {"engine": "collectives"})
    monkeypatch.undo()
    monkeypatch.setenv("TF_CONFIG", "of another job")
    told: list[dict[str, str]] = []
    monkeypatch.setattr(launch.subprocess, "Popen", lambda command, env, **given: told.append(env) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        launch.launch(["python"], 2, engine="alone")
    assert "TF_CONFIG" not in told[0]


@pytest.mark.skipif(_LEGACY is None, reason="Keras 3 has no legacy optimizers")
def test_legacy_optimizers_for_programs_that_do_not_begin_sok() -> None:
    before = tf.keras.optimizers
    installing.install(legacy_optimizers=True)
    try:
        assert tf.keras.optimizers.SGD is _LEGACY.SGD
        assert type(tf.keras.optimizers.get("sgd")) is _LEGACY.SGD  # as before TensorFlow 2.11
        kept = tf.keras.optimizers.serialize(tf.keras.optimizers.Adam(0.25))
        assert type(tf.keras.optimizers.deserialize(kept)) is _LEGACY.Adam
        with pytest.raises(RuntimeError, match=r"needs sok\.init\(\)"):
            starting.require_init("sok.Variable")
    finally:
        installing.uninstall()
    assert tf.keras.optimizers is before
    assert not hasattr(_LEGACY, "get")


def test_gpus_stand_for_ranks_where_there_are_none() -> None:
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    before, processors = tf.config.list_physical_devices, tf.config.list_physical_devices("CPU")
    installing.install(gpus=True)
    try:
        for config in (tf.config, tf.config.experimental, tf.compat.v1.config.experimental):
            (one,) = config.list_physical_devices("GPU")
            assert (one.name, one.device_type) == ("/physical_device:GPU:0", "GPU")
            assert config.list_physical_devices("CPU") == processors
            assert config.list_physical_devices() == [*processors, one]
            config.set_visible_devices(one, "GPU")
            config.set_visible_devices([one], device_type="GPU")
            tf.config.experimental.set_memory_growth(one, True)
        tf.config.set_visible_devices(processors, "CPU")  # what is there is TensorFlow's
        with pytest.raises(ValueError, match="device"):
            tf.config.set_visible_devices(processors, "GPU")
    finally:
        installing.uninstall()
    assert tf.config.list_physical_devices is before
    assert tf.config.list_physical_devices("GPU") == []
