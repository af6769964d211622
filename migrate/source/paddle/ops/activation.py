"""Activations and normalizations, as functions."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.shapes import (
    axis_of,
    broadcast,
    dtype_name,
    floating,
    promoted,
    same,
    same_float,
    tensor,
)
from migrate.source.paddle.ops.spec import Arguments, Form, Op

_F = "paddle.nn.functional"
_SELU = "scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717"


def _op(signature: str, tf: str = "") -> Op:
    """An activation that keeps shape and dtype."""
    return Op(f"{_F}.{signature}", same_float, (Form(tf, floating),) if tf else ())


def _softmax(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is not None:
        axis_of(bound["axis"], len(x.shape))
    return Tensor(x.shape, dtype_name(bound["dtype"], x.dtype))


def _ranked(bound: Arguments) -> bool:
    x = bound["x"]
    return isinstance(x, Tensor) and bool(x.rank) and x.floating


def _along(name: str, *forms: Form) -> Op:
    return Op(f"{_F}.{name}(x, axis=-1, dtype=None, name=None)", _softmax, forms)


def _similarity(bound: Arguments) -> Tensor:
    x, y = bound["x1"], bound["x2"]
    shape = broadcast(tensor(x).shape, tensor(y).shape)
    if shape is None:
        return Tensor(None, promoted(x, y))
    axis = axis_of(bound["axis"], len(shape))
    return Tensor((*shape[:axis], *shape[axis + 1 :]), promoted(x, y))


def _distance(bound: Arguments) -> Tensor:
    x, y = bound["x"], bound["y"]
    shape = broadcast(tensor(x).shape, tensor(y).shape)
    if shape is None:
        return Tensor(None, promoted(x, y))
    return Tensor((*shape[:-1], *((1,) if bound["keepdim"] else ())), promoted(x, y))


def _parted(bound: Arguments) -> Tensor:
    """A result of one of `groups` equal parts of an axis; without them, of a half."""
    x = same_float(bound)
    if x.shape is None:
        return x
    axis, groups = axis_of(bound["axis"], len(x.shape)), bound.get("groups", 2)
    size = x.shape[axis]
    if size is not None and size % groups:
        raise Refuse(f"{size} channels cannot be put into groups of {groups}")
    return Tensor((*x.shape[:axis], None if size is None else size // groups, *x.shape[axis + 1 :]), x.dtype)


def over_last(bound: Arguments) -> Tensor:
    """A result like the input, whose last sizes are those of the normalization."""
    x, normalized = same_float(bound), bound["normalized_shape"]
    sizes = list(normalized) if isinstance(normalized, (list, tuple)) else [normalized]
    if x.shape is not None:
        last = x.shape[max(len(x.shape) - len(sizes), 0) :]
        if len(last) < len(sizes) or any(a not in (None, b) for a, b in zip(last, sizes, strict=True)):
            raise Refuse(f"a normalization over {sizes} gets the shape {list(x.shape)}, which does not fit")
    return x


def _by_channel(bound: Arguments) -> Tensor:
    x = same_float(bound)
    if x.shape is not None and len(x.shape) < 2:
        raise Refuse(f"a normalization by channel gets the shape {list(x.shape)}, which does not fit")
    return x


OPS: tuple[Op, ...] = (
    _op("relu(x, name=None)", "tf.nn.relu(features=x)"),
    _op("relu6(x, name=None)", "tf.nn.relu6(features=x)"),
    Op(f"{_F}.sigmoid(x, name=None)", same_float, (Form("tf.sigmoid(x=x)", floating),), ("sigmoid",)),
    _op("tanh(x, name=None)", "tf.tanh(x=x)"),
    _op(f"selu(x, {_SELU}, name=None)"),
    _op("elu(x, alpha=1.0, name=None)", "tf.nn.elu(features=x)"),
    _op("celu(x, alpha=1.0, name=None)"),
    _op("gelu(x, approximate=False, name=None)"),
    _op("leaky_relu(x, negative_slope=0.01, name=None)"),
    _op("softplus(x, beta=1, threshold=20, name=None)"),
    _op("softsign(x, name=None)", "tf.nn.softsign(features=x)"),
    _op("silu(x, name=None)", "tf.nn.silu(features=x)"),
    _op("swish(x, name=None)", "tf.nn.swish(features=x)"),
    _op("mish(x, name=None)"),
    _op("log_sigmoid(x, name=None)", "tf.math.log_sigmoid(x=x)"),
    _op("hardsigmoid(x, slope=0.1666667, offset=0.5, name=None)"),
    _op("hardswish(x, name=None)"),
    _op("hardtanh(x, min=-1.0, max=1.0, name=None)"),
    _op("softshrink(x, threshold=0.5, name=None)"),
    _op("hardshrink(x, threshold=0.5, name=None)"),
    _op("tanhshrink(x, name=None)"),
    _op("thresholded_relu(x, threshold=1.0, name=None)"),
    _along("softmax"),  # tf.nn.softmax of one element is 1 - 6e-8
    _along("log_softmax", Form("tf.nn.log_softmax(logits=x, axis=axis)", _ranked)),
    Op(f"{_F}.prelu(x, weight, data_format='NCHW', name=None)", same_float),
    Op(f"{_F}.glu(x, axis=-1, name=None)", _parted),
    Op(f"{_F}.maxout(x, groups, axis=1, name=None)", _parted),
    Op(f"{_F}.normalize(x, p=2, axis=1, epsilon=1e-12, name=None)", same_float),
    Op(f"{_F}.cosine_similarity(x1, x2, axis=1, eps=1e-08)", _similarity),
    Op(f"{_F}.pairwise_distance(x, y, p=2.0, epsilon=1e-06, keepdim=False, name=None)", _distance),
    Op(f"{_F}.label_smooth(label, prior_dist=None, epsilon=0.1, name=None)", same),
    Op(f"{_F}.dropout(x, p=0.5, axis=None, training=True, mode='upscale_in_train', name=None)", same_float),
    Op(f"{_F}.layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None)", over_last),
    Op(
        f"{_F}.batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.9, "
        "epsilon=1e-05, data_format='NCHW', use_global_stats=None, name=None)",
        _by_channel,
    ),
    Op(
        f"{_F}.instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
        "momentum=0.9, eps=1e-05, data_format='NCHW', name=None)",
        _by_channel,
    ),
)
