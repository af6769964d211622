"""Every argument that the façade takes has its effect, is refused, or stands in a table with the reason; docs too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf

from runtime.compat import sok
from runtime.compat.sok import installing
from runtime.compat.sok.dynamic import _CONFIG, create
from runtime.compat.sok.horovod import COMPRESSION, CONTENTS
from runtime.compat.sok.static import SharedVariable
from runtime.compat.sok.without_effect import HOROVOD, SOK
from tests.support.runtime.unread import unread

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


def test_what_is_ignored_is_in_the_tables() -> None:
    names = _all(installing.CONTENTS)
    names["Variable"], names["DynamicVariable"] = SharedVariable, create
    for hidden in ("DistributedVariable", "LocalizedVariable"):
        names.pop(hidden)
    options = {f"DynamicVariable.{one}" for one in _CONFIG if one != "init_capacity"}
    methods = {one for one in _ignored({"DynamicVariable": sok.DynamicVariable}) if "__init__" not in one}
    assert _ignored(names) | methods | options == set(SOK)
    assert _ignored({**CONTENTS, **COMPRESSION}) == set(HOROVOD)


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
