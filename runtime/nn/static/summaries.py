"""`data_norm`: values normalized by sums over all that was seen so far."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.initializer import Constant
from runtime.nn.static.program import Program, current
from runtime.nn.weights.param_attr import ParamAttr
from runtime.nn.weights.weight import Parameter

v1 = tf.compat.v1


def data_norm(
    input: Any,
    act: str | None = None,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    slot_dim: int = -1,
    sync_stats: bool = False,
    summary_decay_rate: float = 0.9999999,
    enable_scale_and_shift: bool = False,
) -> tf.Tensor:
    """Return (x - sum / size) * sqrt(size / square sum) for [n, d], with sums of each of the d columns.

    A training step multiplies the sums by `summary_decay_rate` and adds those of its batch: n, the sum of x, and that
    of (x - mean)² + epsilon, as Paddle's GPU kernel and its parameter server do. (Its CPU kernel hands them to the
    optimizer as gradients, which subtracts them.)

    Args:
        input: float32 [n, d].
        act: "relu", "sigmoid" or "tanh", applied to the result.
        epsilon: see above; from 0 to 0.001.
        param_attr: a dict with the sums at the start, `batch_size` (1e4), `batch_sum` (0) and `batch_square` (1e4), and
            `scale_w` (1) and `bias` (0).
        data_layout: has no effect on two dimensions.
        in_place: has no effect.
        name: of the sums, `dn` by default.
        moving_mean_name: has no effect, nor have the next two.
        moving_variance_name: see above.
        do_model_average_for_mean_and_var: see above.
        slot_dim: must be -1.
        sync_stats: must be False.
        summary_decay_rate: see above.
        enable_scale_and_shift: whether trained weights scale and shift the result.

    Raises:
        ValueError: there is no program, or an argument is not supported.
    """
    del data_layout, in_place, moving_mean_name, moving_variance_name, do_model_average_for_mean_and_var
    program = current()
    if program is None:
        raise ValueError("data_norm makes weights, which a program holds: build it in `with nn.static.Program():`")
    _check_supported(slot_dim, sync_stats, act)
    x = tf.convert_to_tensor(input)
    starts = {**_STARTS, **(param_attr if isinstance(param_attr, dict) else {})}
    weights = {key: _weight(program, f"{name or 'dn'}.{key}", x, starts[start], False) for key, start in _SUMS.items()}
    size, total, squares = (weights[key].variable for key in _SUMS)
    mean = tf.stop_gradient(total / size)
    result = (x - mean) * tf.stop_gradient(tf.sqrt(size / squares))
    if program.training:
        batch = _sums(x, mean, epsilon)
        for sums, more in zip((size, total, squares), batch, strict=True):
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, _kept(sums, more, summary_decay_rate, (result, *batch)))
    if enable_scale_and_shift:
        scale = _weight(program, f"{name or 'dn'}.scale_w", x, starts["scale_w"], True)
        result = result * scale.variable + _weight(program, f"{name or 'dn'}.bias", x, starts["bias"], True).variable
    return _ACTS[act](result)


_SUMS = {"batch_size": "batch_size", "batch_sum": "batch_sum", "batch_square_sum": "batch_square"}
_STARTS = {"batch_size": 1e4, "batch_sum": 0.0, "batch_square": 1e4, "scale_w": 1.0, "bias": 0.0}
_ACTS: dict[str | None, Any] = {None: tf.identity, "relu": tf.nn.relu, "sigmoid": tf.sigmoid, "tanh": tf.tanh}


def _check_supported(slot_dim: int, sync_stats: bool, act: str | None) -> None:
    if slot_dim > 0 or sync_stats:
        raise ValueError("data_norm got slot_dim or sync_stats, which are not supported: leave them out")
    if act not in _ACTS:
        raise ValueError(f"data_norm got act={act!r}: give relu, sigmoid, tanh or None")


def _weight(program: Program, name: str, x: tf.Tensor, start: float, trained: bool) -> Parameter:
    weight = Parameter([x.shape[-1]], Constant(float(start)), x.dtype, ParamAttr(name=name), trained)
    program.hold(weight, name)
    return weight


def _sums(x: tf.Tensor, mean: tf.Tensor, epsilon: float) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return what a batch adds to the three sums of each column."""
    count = tf.fill(tf.shape(mean), tf.cast(tf.shape(x)[0], x.dtype))
    return count, tf.reduce_sum(x, 0), tf.reduce_sum(tf.square(x - mean), 0) + epsilon * count


def _kept(sums: tf.Variable, more: tf.Tensor, rate: float, first: Any) -> tf.Operation:
    """Return the op that takes a batch into sums, after all that is computed from them."""
    with tf.control_dependencies(list(first)):
        return v1.assign(sums, sums.read_value() * rate + tf.stop_gradient(more)).op
