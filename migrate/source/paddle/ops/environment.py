"""What programs ask of their surroundings: the device, the default dtype, seeds. A graph is built for any device."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Value
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _false(bound: Arguments) -> Value:
    return False


def _cpu(bound: Arguments) -> Value:
    return "cpu"


def _float(bound: Arguments) -> Value:
    return "float32"


def _nothing(bound: Arguments) -> Value:
    return None


def _true(bound: Arguments) -> Value:
    return True


_FALSE = (Form("False", lambda bound: True, ignored=True),)
_NONE = (Form("None", lambda bound: True, ignored=True),)


def _zero(bound: Arguments) -> Value:
    return 0


def _one(bound: Arguments) -> Value:
    return 1


OPS: tuple[Op, ...] = (
    Op("paddle.distributed.get_rank(group=None)", _zero, (Form("nn.get_rank()", ignored=True),)),
    Op("paddle.distributed.get_world_size(group=None)", _one, (Form("nn.get_world_size()", ignored=True),)),
    Op("paddle.is_compiled_with_custom_device(device_type)", _false, _FALSE),
    *(Op(f"paddle.is_compiled_with_{kind}()", _false, _FALSE) for kind in ("cuda", "xpu", "rocm", "ipu")),
    Op("paddle.is_compiled_with_npu()", _false, _FALSE),
    Op("paddle.get_device()", _cpu, (Form("'cpu'"),), aliases=("paddle.device.get_device",)),
    Op("paddle.get_default_dtype()", _float, (Form("'float32'"),)),
    Op("paddle.in_dynamic_mode()", _true, (Form("True"),)),
    Op("paddle.set_device(device)", _nothing, _NONE, aliases=("paddle.device.set_device",)),
    Op("paddle.seed(seed)", _nothing, (Form("tf.set_random_seed(seed)"),)),
)
