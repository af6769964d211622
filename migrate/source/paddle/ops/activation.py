"""Activations and normalizations, as functions."""

from __future__ import annotations

from collections.abc import Callable

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.conditions import floating
from migrate.source.paddle.ops.shapes import axis_of, broadcast, dtype_name, promoted, same, same_float, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op

_F = "paddle.nn.functional"
_SELU = "scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717"


def _op(
    signature: str, *examples: str, tf: str = "", when: Callable[[Arguments], bool] = floating, **named: object
) -> Op:
    """An activation that keeps shape and dtype; examples are arguments after the name."""
    name = signature.partition("(")[0]
    forms = (Form(tf, when),) if tf else ()
    calls = tuple(f"{_F}.{name}({arguments})" for arguments in ("f_2_3", *examples))
    return Op(f"{_F}.{signature}", same_float, forms, examples=calls, **named)  # type: ignore[arg-type]


def _softmax(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is not None:
        axis_of(bound["axis"], len(x.shape))
    return Tensor(x.shape, dtype_name(bound["dtype"], x.dtype))


def _ranked(bound: Arguments) -> bool:
    x = bound["x"]
    return isinstance(x, Tensor) and bool(x.rank) and x.floating


def _along(name: str, *forms: Form) -> Op:
    return Op(
        f"{_F}.{name}(x, axis=-1, dtype=None, name=None)",
        _softmax,
        forms,
        examples=(
            f"{_F}.{name}(f_2_3)",
            f"{_F}.{name}(x=f_2_3_4, axis=1)",
            f"{_F}.{name}(f_2_3, 0)",
            f"{_F}.{name}(f_2_3, axis=-1, dtype='float64')",
        ),
    )


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


def _half(bound: Arguments) -> Tensor:
    x = same_float(bound)
    if x.shape is None:
        return x
    axis = axis_of(bound["axis"], len(x.shape))
    size = x.shape[axis]
    return Tensor((*x.shape[:axis], None if size is None else size // 2, *x.shape[axis + 1 :]), x.dtype)


def _maxout(bound: Arguments) -> Tensor:
    x = same_float(bound)
    if x.shape is None:
        return x
    axis, groups = axis_of(bound["axis"], len(x.shape)), bound["groups"]
    size = x.shape[axis]
    if size is not None and size % groups:
        raise Refuse(f"{size} channels cannot be put into groups of {groups}")
    return Tensor((*x.shape[:axis], None if size is None else size // groups, *x.shape[axis + 1 :]), x.dtype)


def _over_last(bound: Arguments) -> Tensor:
    x, given = same_float(bound), bound["normalized_shape"]
    sizes = list(given) if isinstance(given, list | tuple) else [given]
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
    _op("relu(x, name=None)", "x=f_2", tf="tf.nn.relu(features=x)"),
    _op("relu6(x, name=None)", "f_2_3 * 7", tf="tf.nn.relu6(features=x)"),
    Op(
        f"{_F}.sigmoid(x, name=None)",
        same_float,
        (Form("tf.sigmoid(x=x)", floating),),
        ("sigmoid",),
        examples=(f"{_F}.sigmoid(f_2_3)", f"{_F}.sigmoid(x=f_2)", "f_2_3.sigmoid()"),
    ),
    _op("tanh(x, name=None)", "x=f_2", tf="tf.tanh(x=x)"),
    _op(f"selu(x, {_SELU}, name=None)", "f_2_3, 1.5, 0.5"),
    _op("elu(x, alpha=1.0, name=None)", "f_2_3, alpha=0.5", tf="tf.nn.elu(features=x)"),
    _op("celu(x, alpha=1.0, name=None)", "f_2_3, 0.5"),
    _op(
        "gelu(x, approximate=False, name=None)",
        "f_2_3, approximate=True",
        "x=f_2",
    ),
    _op("leaky_relu(x, negative_slope=0.01, name=None)", "f_2_3, negative_slope=0.2", "f_2, 0.3"),
    _op("softplus(x, beta=1, threshold=20, name=None)", "f_2_3, beta=2", "f_2_3, 2, threshold=1"),
    _op("softsign(x, name=None)", tf="tf.nn.softsign(features=x)"),
    _op("silu(x, name=None)", "x=f_2", tf="tf.nn.silu(features=x)"),
    _op("swish(x, name=None)", "x=f_2", tf="tf.nn.swish(features=x)"),
    _op("mish(x, name=None)"),
    _op("log_sigmoid(x, name=None)", tf="tf.math.log_sigmoid(x=x)"),
    _op("hardsigmoid(x, slope=0.1666667, offset=0.5, name=None)", "f_2_3, slope=0.5", "f_2_3 * 4"),
    _op("hardswish(x, name=None)", "f_2_3 * 4"),
    _op("hardtanh(x, min=-1.0, max=1.0, name=None)", "f_2_3, min=-0.5", "f_2_3, -0.5, 0.5"),
    _op("softshrink(x, threshold=0.5, name=None)", "f_2_3, 0.25"),
    _op("hardshrink(x, threshold=0.5, name=None)", "f_2_3, threshold=0.25"),
    _op("tanhshrink(x, name=None)"),
    _op("thresholded_relu(x, threshold=1.0, name=None)", "f_2_3, 0.25"),
    _along("softmax"),  # tf.nn.softmax of one element is 1 - 6e-8
    _along("log_softmax", Form("tf.nn.log_softmax(logits=x, axis=axis)", _ranked)),
    Op(
        f"{_F}.prelu(x, weight, data_format='NCHW', name=None)",
        same_float,
        examples=(f"{_F}.prelu(f_2_3, f_1)", f"{_F}.prelu(f_2_3_4, weight=f_3)"),
    ),
    Op(
        f"{_F}.glu(x, axis=-1, name=None)",
        _half,
        examples=(f"{_F}.glu(f_2_4)", f"{_F}.glu(x=f_4_3, axis=0)"),
    ),
    Op(
        f"{_F}.maxout(x, groups, axis=1, name=None)",
        _maxout,
        examples=(f"{_F}.maxout(f_2_4_3_3, 2)", f"{_F}.maxout(x=f_2_3_3_4, groups=2, axis=-1)"),
    ),
    Op(
        f"{_F}.normalize(x, p=2, axis=1, epsilon=1e-12, name=None)",
        same_float,
        examples=(
            f"{_F}.normalize(f_2_3 + 2)",
            f"{_F}.normalize(x=f_2_3_4 + 2, axis=-1)",
            f"{_F}.normalize(f_2_3 + 2, p=1, axis=0)",
        ),
    ),
    Op(
        f"{_F}.cosine_similarity(x1, x2, axis=1, eps=1e-08)",
        _similarity,
        examples=(
            f"{_F}.cosine_similarity(f_2_3 + 2, f_2_3 * 2 + 1)",
            f"{_F}.cosine_similarity(x1=f_2_3_4 + 2, x2=f_2_3_4, axis=2)",
            f"{_F}.cosine_similarity(f_2_3 + 2, f_2_3, axis=-1, eps=1e-6)",
        ),
    ),
    Op(
        f"{_F}.pairwise_distance(x, y, p=2.0, epsilon=1e-06, keepdim=False, name=None)",
        _distance,
        examples=(
            f"{_F}.pairwise_distance(f_2_3, f_2_3 * 2 + 1)",
            f"{_F}.pairwise_distance(f_2_3, f_2_3 + 1, p=1.0, keepdim=True)",
        ),
    ),
    Op(
        f"{_F}.label_smooth(label, prior_dist=None, epsilon=0.1, name=None)",
        same,
        examples=(f"{_F}.label_smooth(f_2_3)", f"{_F}.label_smooth(label=f_2_3, epsilon=0.2)"),
    ),
    Op(
        f"{_F}.dropout(x, p=0.5, axis=None, training=True, mode='upscale_in_train', name=None)",
        same_float,
        examples=(
            f"{_F}.dropout(f_2_3)",
            f"{_F}.dropout(x=f_2_3, p=0.2, training=False)",
            f"{_F}.dropout(f_2_3, 0.3, mode='downscale_in_infer')",
        ),
    ),
    Op(
        f"{_F}.layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None)",
        _over_last,
        examples=(
            f"{_F}.layer_norm(f_2_3, 3)",
            f"{_F}.layer_norm(x=f_2_3_4, normalized_shape=[3, 4], weight=f_12, bias=f_12, epsilon=0.001)",
        ),
    ),
    Op(
        f"{_F}.batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.9, "
        "epsilon=1e-05, data_format='NCHW', use_global_stats=None, name=None)",
        _by_channel,
        examples=(
            f"{_F}.batch_norm(f_2_3, paddle.zeros([3]), paddle.ones([3]) * 2, f_3 + 1, f_3 * 2)",
            f"{_F}.batch_norm(x=f_2_3_4, running_mean=paddle.ones([3]), running_var=paddle.ones([3]), epsilon=0.1, "
            "data_format='NCL')",
        ),
    ),
    Op(
        f"{_F}.instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
        "momentum=0.9, eps=1e-05, data_format='NCHW', name=None)",
        _by_channel,
        examples=(f"{_F}.instance_norm(f_2_3_4)", f"{_F}.instance_norm(x=f_2_3_4, weight=f_3, bias=f_3, eps=0.1)"),
    ),
)
