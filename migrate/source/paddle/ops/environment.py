"""What programs ask of their surroundings: the device, the default dtype, seeds. A graph is built for any device."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Value
from migrate.source.paddle.ops.spec import Form, Op


def _constant(signature: str, value: Value, tf: str = "", aliases: tuple[str, ...] = ()) -> Op:
    """A function that gives the same for any arguments; in TensorFlow it is `tf`, or else the value."""
    return Op(signature, lambda bound: value, (Form(tf or repr(value), ignored=True),), aliases=aliases)


OPS: tuple[Op, ...] = (
    _constant("paddle.distributed.get_rank(group=None)", 0, "nn.get_rank()"),
    _constant("paddle.distributed.get_world_size(group=None)", 1, "nn.get_world_size()"),
    _constant("paddle.is_compiled_with_custom_device(device_type)", False),
    *(_constant(f"paddle.is_compiled_with_{kind}()", False) for kind in ("cuda", "xpu", "rocm", "ipu", "npu")),
    _constant("paddle.get_device()", "cpu", aliases=("paddle.device.get_device",)),
    _constant("paddle.get_default_dtype()", "float32"),
    _constant("paddle.in_dynamic_mode()", True),
    _constant("paddle.set_device(device)", None, aliases=("paddle.device.set_device",)),
    _constant("paddle.seed(seed)", None, "tf.set_random_seed(seed)"),
)
