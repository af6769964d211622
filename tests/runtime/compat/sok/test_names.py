"""SOK's names beside the lookups; every argument has its effect, is refused, or stands in a table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import launch, ranks
from runtime.compat import sok
from runtime.compat.sok import __main__ as command
from runtime.compat.sok import installing, starting
from runtime.compat.sok.dynamic import _CONFIG, create
from runtime.compat.sok.horovod import COMPRESSION, CONTENTS
from runtime.compat.sok.loss_scaling import LossScaleOptimizer
from runtime.compat.sok.static import SharedVariable
from runtime.compat.sok.surroundings import profiling
from runtime.compat.sok.surroundings.connecting import connects
from tests.support.ranks import thread_ranks
from tests.support.runtime.ignored import ignored
from tests.support.runtime.unread import unread

_LEGACY: Any = getattr(tf.keras.optimizers, "legacy", None) if not hasattr(tf.keras, "Variable") else None
hvd = SimpleNamespace(**CONTENTS)
_GIVEN = np.array([[3.0, -1.0, 2.0], [4.0, 5.0, -2.0]], np.float32)  # of each rank


def test_folds_over_ranks_are_those_of_numpy() -> None:
    def folded() -> list[Any]:
        mine = tf.constant(_GIVEN[ranks.rank()])
        found = [hvd.allreduce(mine, op=op) for op in (hvd.Min, hvd.Max, hvd.Product, hvd.Sum, hvd.Average)]
        found += hvd.grouped_allreduce([mine, mine[:1]], op=hvd.Sum)
        found += [*hvd.grouped_allgather([mine[:1], mine]), hvd.reducescatter(mine, op=hvd.Sum)]
        return [one.numpy().tolist() for one in found]

    total, flat = _GIVEN.sum(0), _GIVEN.reshape(-1)
    want = [_GIVEN.min(0), _GIVEN.max(0), _GIVEN.prod(0), total, total / 2, total, total[:1], _GIVEN[:, 0], flat]
    for found, part in zip(thread_ranks.run(2, folded)[0], (total[:2], total[2:]), strict=True):
        assert found == [one.tolist() for one in [*want, part]]


def test_objects_of_any_length_come_from_their_rank() -> None:
    def given() -> tuple[Any, Any]:
        mine = {"rank": ranks.rank(), "text": "x" * (1 + 300 * ranks.rank())}
        return hvd.broadcast_object(mine, root_rank=1), hvd.allgather_object(mine)

    each = [{"rank": 0, "text": "x"}, {"rank": 1, "text": "x" * 301}]
    assert thread_ranks.run(2, given)[0] == [(each[1], each)] * 2
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert hvd.broadcast_object([1], session=session) == [1]
    assert (hvd.gloo_built(), hvd.nccl_built(), hvd.mpi_enabled()) == (True, 0, False)


def test_what_needs_horovod_says_so() -> None:
    for call in (hvd.join, hvd.add_process_set):
        with pytest.raises(NotImplementedError, match="needs Horovod"):
            call()


@pytest.mark.parametrize("module", ["sparse_operation_kit", "sparse_operation_kit.tf", "sparse_operation_kit.lookup"])
def test_names_that_are_not_there_say_so(module: str) -> None:
    with pytest.raises(AttributeError, match=rf"^{module}\.raw_ops is not supported by runtime\.compat\.sok: use what"):
        installing.CONTENTS[module]["__getattr__"]("raw_ops")


def test_modules_of_sok_exchange_by_the_ranks() -> None:
    sok = SimpleNamespace(**installing.CONTENTS["sparse_operation_kit.communication"])

    def exchanged() -> list[Any]:
        mine = tf.constant([1, 2], tf.int64) + 10 * sok.rank()
        found = [sok.allreduce(mine, op) for op in ("sum", "max")]
        found += [sok.allgather(mine), sok.broadcast(mine, 1), *sok.alltoall(mine, [2, 0] if sok.rank() else [1, 1])]
        return [one.numpy().tolist() for one in found]

    both: list[Any] = [[12, 14], [11, 12], [1, 2, 11, 12], [11, 12]]
    assert thread_ranks.run(2, exchanged)[0] == [[*both, [1, 11, 12], [1, 2]], [*both, [2], [1, 0]]]
    with pytest.raises(ValueError, match="`op` of sok's allreduce"):
        sok.allreduce([1], "prod")
    starting.forget()
    sok.set_comm_tool("horovod")
    with pytest.raises(RuntimeError, match="set once"):
        sok.set_comm_tool("horovod")
    assert installing.CONTENTS["sparse_operation_kit.utils"]["SOK_IndexedSlices"]() is tf.IndexedSlices
    ids = installing.CONTENTS["sparse_operation_kit.tf"]["unique"]([5, 5, 7])
    assert [one.numpy().tolist() for one in ids] == [[5, 7], [0, 0, 1]]


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


#: Methods whose arguments TensorFlow, or the runtime, has for others of the kind.
_ASKED_BY_OTHERS = ("table_form", "restore", "after_create_session", "decompress")
horovod = SimpleNamespace(**CONTENTS)


def _functions(contents: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, one in contents.items():
        if inspect.isclass(one):
            for method, function in vars(one).items():
                if inspect.isfunction(function) and (not method.startswith("_") or method == "__init__"):
                    yield (name if method == "__init__" else f"{name}.{method}"), function
        elif inspect.isfunction(one) and one.__module__.startswith("runtime."):
            yield name, one


def _all(modules: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for contents in modules.values():
        found.update(contents)
    return found


def _ignored(contents: dict[str, Any]) -> set[str]:
    return {
        f"{name}.{parameter}"
        for name, function in _functions(contents)
        if "NoReturn" not in str(inspect.signature(function).return_annotation)
        if name.rpartition(".")[2] not in _ASKED_BY_OTHERS
        for parameter in (unread(function) if "<lambda>" not in function.__qualname__ else ())
    }


def test_what_is_ignored_is_on_the_page() -> None:
    names = _all(installing.CONTENTS)
    names["Variable"], names["DynamicVariable"] = SharedVariable, create
    for hidden in ("DistributedVariable", "LocalizedVariable"):
        names.pop(hidden)
    options = {f"DynamicVariable.{one}" for one in _CONFIG if one != "init_capacity"}
    methods = {one for one in _ignored({"DynamicVariable": sok.DynamicVariable}) if "__init__" not in one}
    listed = {
        f"{of}.{one}" for of, arguments in ignored("sok.md", "Arguments without effect").items() for one in arguments
    }
    of_horovod = {f"hvd.{one}" for one in _ignored({**CONTENTS, **COMPRESSION})}
    assert _ignored(names) | methods | options | of_horovod == listed


def test_what_would_change_numbers_is_an_error() -> None:
    sok.init(use_legacy_optimizer=False)
    optimizer, one = tf.keras.optimizers.SGD(0.1), tf.constant([1.0, 2.0])
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: horovod.init(comm=[0]), "leave `comm`"),
        (lambda: horovod.allreduce(one, process_set=object()), "leave `process_set` out"),
        (lambda: horovod.DistributedGradientTape(tf.GradientTape(), op="max"), "supports hvd.Average and hvd.Sum"),
        (lambda: horovod.DistributedOptimizer(optimizer, backward_passes_per_step=2), "one backward pass"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="prescale"):
        horovod.allgather(one, prescale_factor=2.0)
    assert horovod.allreduce(one, prescale_factor=3.0).numpy().tolist() == [3.0, 6.0]
    with tf.GradientTape() as tape:
        tape.watch(one)
    zeros = horovod.DistributedGradientTape(tape).gradient(
        tf.constant(1.0), one, unconnected_gradients=tf.UnconnectedGradients.ZERO
    )
    assert zeros.numpy().tolist() == [0.0, 0.0]
    with pytest.raises(NotImplementedError, match="variable_def"):
        sok.DynamicVariable(2, variable_def=1)


def test_rows_that_are_read_and_what_left_for_them() -> None:
    sok.init(use_legacy_optimizer=False)
    table = sok.DynamicVariable(2, "11", "hybrid", init_capacity=2, max_capacity=2)
    with tf.GradientTape() as tape:
        rows, keys, values = sok.sparse_read_and_evict(table, tf.constant([5, 6, 7, 5], tf.int32))
        loss = tf.reduce_sum(rows)
    assert rows.numpy().tolist() == [[11.0, 11.0]] * 4
    assert (keys.dtype, keys.shape, values.shape, table.size.numpy().tolist()) == (tf.int64, [0], [0, 2], [3, 2])
    sok.OptimizerWrapper(tf.keras.optimizers.SGD(1.0)).apply_gradients([(tape.gradient(loss, table), table)])
    assert table.sparse_read([5, 6]).numpy().tolist() == [[9.0, 9.0], [10.0, 10.0]]
    with pytest.raises(TypeError, match=r"var_type='hybrid': got one of var_type='hbm'"):
        sok.sparse_read_and_evict(sok.DynamicVariable(2, var_type="hbm"), [1])
    with pytest.raises(TypeError, match=r"got (Shared|Distributed)Variable"):
        sok.sparse_read_and_evict(sok.Variable([[1.0, 2.0]]), [0])
