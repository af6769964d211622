"""Functions of many ops in eager code: as one kernel they compute the bits of their ops, and of their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from runtime import _tf_private_functions, _tf_private_tapes
from runtime.nn import functional
from runtime.nn.eager_kernels import eager_kernel
from runtime.nn.functional import class_loss, loss

FLOATS = np.random.default_rng(0).uniform(0.1, 0.9, [2, 4, 3]).astype(np.float32)
CALLS: dict[str, tuple[Any, ...]] = {
    "binary_cross_entropy_with_logits": (FLOATS[0], FLOATS[1], None, "mean", FLOATS[0, 0]),
    "binary_cross_entropy": (FLOATS[0], FLOATS[1], FLOATS[0], "sum"),
    "cross_entropy": (FLOATS[0], np.array([0, 2, 1, 1])),
    "softmax_with_cross_entropy": (FLOATS[0], FLOATS[1], True, -100, True, True),
    "kl_div": (FLOATS[0], FLOATS[1], "batchmean"),
    "smooth_l1_loss": (FLOATS[0], FLOATS[1], "none"),
}


def _computed(name: str) -> tuple[list[Any], list[Any]]:
    """Return what a function computes, and the gradients of its floats."""
    given = [tf.constant(one) if isinstance(one, np.ndarray) else one for one in CALLS[name]]
    floats = [one for one in given if isinstance(one, tf.Tensor) and one.dtype.is_floating]
    with tf.GradientTape() as tape:
        for each in floats:
            tape.watch(each)
        outputs = tf.nest.flatten(getattr(functional, name)(*given))
        total = tf.add_n([tf.reduce_sum(one * one) for one in outputs])
    gradients = tape.gradient(total, floats)
    return [one.numpy() for one in outputs], [None if one is None else one.numpy() for one in gradients]


@pytest.mark.each_case
@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_computes_what_its_ops_compute(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _computed(name)
    outputs, gradients = _computed(name)  # the second call of a form is that of a kernel
    monkeypatch.setattr(functional, name, getattr(functional, name).__wrapped__)
    stock, expected = _computed(name)
    assert all(np.array_equal(*pair) for pair in zip(outputs, stock, strict=True))
    for own, other in zip(gradients, expected, strict=True):
        assert own is other is None or np.array_equal(own, other)


def test_each_form_has_a_kernel_up_to_a_number() -> None:
    runs: list[int] = []

    def doubled(x: Any, factor: float = 2.0) -> Any:
        runs.append(int(x.shape[0]))
        return x * factor

    kernel = eager_kernel(doubled)
    for size in range(1, 12):
        for _ in range(4):
            assert kernel(tf.ones([size])).numpy().tolist() == [2.0] * size
    # By itself, then traced with its gradient; from the ninth form on by itself each time.
    assert [runs.count(size) for size in range(1, 12)] == [3] * 8 + [4] * 3
    assert kernel(tf.ones([1]), 3.0).numpy() == kernel(tf.ones([1]), factor=3.0).numpy() == 3.0
    assert kernel(tf.ones([1]), tf.constant(4.0)).numpy() == 4.0


def test_all_losses_are_kernels() -> None:
    for module in (loss, class_loss):
        for name in module.__all__:
            assert hasattr(getattr(module, name), "__wrapped__"), name


def test_private_names_record_what_they_are_told_and_give_gradients_of_handles() -> None:
    variable = tf.Variable([2.0])
    with tf.GradientTape(persistent=True) as tape:
        read = variable.value()
        with _tf_private_tapes.unrecorded():
            tripled = read * 3.0
        _tf_private_tapes.record("Tripled", [tripled], [read], lambda gradient: [gradient * 5.0])
    (gradient,) = _tf_private_tapes.gradients(tape, [tripled], [variable.handle], [tf.constant([7.0])])
    assert gradient.numpy().tolist() == [35.0]


def test_private_names_run_functions_as_written_on_the_thread_that_calls() -> None:
    divided = tf.function(lambda x, y: x / tf.sqrt(y), autograph=False)
    x, y = (tf.random.stateless_uniform([1000], [number, 1]) for number in (1, 2))
    before = context.context().function_call_options.executor_type
    with _tf_private_functions.called_as_written():
        assert context.context().function_call_options.executor_type == "SINGLE_THREADED_EXECUTOR" != before
        assert tf.reduce_all(divided(x, y) == x / tf.sqrt(y))
    assert context.context().function_call_options.executor_type == before
