"""The table of supported functions: Paddle's signature, and TensorFlow's expression with the same parameter names.

If TensorFlow's expression is one call with keywords (`tf.concat(values=x, axis=axis)`), the layout of the source is
kept: keywords are in TensorFlow's positional order, and omitted arguments are not written unless listed in `write`. Any
other expression is a template, in which parameter names are replaced. A parameter that the expression does not use must
have its default, except `name`. `check` computes the result and refuses arguments for which the two differ.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from migrate.source.paddle.mapping import shape_checks
from migrate.source.paddle.mapping.values import Refuse, Value

REQUIRED = object()  #: marks a parameter without a default
IGNORED = frozenset({"name"})  #: parameters without effect on values


@dataclass(frozen=True)
class Entry:
    """One entry of the table."""

    paddle: str  #: signature, e.g. `paddle.concat(x, axis=0, name=None)`
    tf: str  #: TensorFlow expression over the parameter names
    check: Callable[[shape_checks.Arguments], Value] | None = (
        None  #: checks the arguments and returns the result; None for constructors
    )
    write: tuple[str, ...] = ()  #: parameters that are always written, because defaults differ
    kind: str = "function"  #: `function`, `loss`, `activation` or `initializer`
    note: str = ""  #: a difference between the two functions
    layer_of: str = ""  #: for an activation layer: its function
    methods: tuple[str, ...] = field(
        default=()
    )  #: tensor methods with the same meaning; the receiver is the first argument

    @cached_property
    def name(self) -> str:
        """Paddle's dotted name."""
        return self.paddle.partition("(")[0]

    @cached_property
    def parameters(self) -> Mapping[str, Value]:
        """Parameter name -> default (or `REQUIRED`), in order."""
        signature = ast.parse(f"def f({self.paddle.partition('(')[2][:-1]}): ...").body[0]
        assert isinstance(signature, ast.FunctionDef)
        names = [argument.arg for argument in signature.args.args]
        defaults = [ast.literal_eval(default) for default in signature.args.defaults]
        return dict(zip(names, [REQUIRED] * (len(names) - len(defaults)) + defaults, strict=True))

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The parameters that TensorFlow's expression uses."""
        nodes = ast.walk(ast.parse(self.tf, mode="eval"))
        return frozenset(node.id for node in nodes if isinstance(node, ast.Name)) & self.parameters.keys()

    def bind(self, positional: list[Value], keywords: Mapping[str, Value]) -> dict[str, Value]:
        """Return parameter -> value, with defaults; raises `Refuse` for invalid or unsupported arguments."""
        names = list(self.parameters)
        if len(positional) > len(names):
            raise Refuse(f"`{self.name}` takes {len(names)} arguments")
        bound = dict(zip(names, positional, strict=False))
        for name, value in keywords.items():
            if name not in names or name in bound:
                raise Refuse(f"argument `{name}` of `{self.name}` is not supported")
            bound[name] = value
        self._check_unmentioned(bound)
        result = {name: bound.get(name, default) for name, default in self.parameters.items()}
        if missing := [name for name, value in result.items() if value is REQUIRED]:
            raise Refuse(f"`{self.name}` is called without `{missing[0]}`")
        return result

    def _check_unmentioned(self, bound: Mapping[str, Value]) -> None:
        for name, value in bound.items():
            if name not in self.mentioned | IGNORED and self.layer_of == "" and value != self.parameters[name]:
                raise Refuse(f"`{name}={value!r}` of `{self.name}` has no equivalent in TensorFlow")


def _elementwise(name: str, tf: str, modules: tuple[str, ...], methods: tuple[str, ...] = ()) -> list[Entry]:
    return [Entry(f"{module}.{name}(x, name=None)", tf, shape_checks.same, methods=methods) for module in modules]


_F, _I = "paddle.nn.functional", "paddle.nn.initializer"

_ACTIVATIONS = [
    *_elementwise("relu", "tf.nn.relu(features=x)", (_F,)),
    *_elementwise("sigmoid", "tf.sigmoid(x=x)", (_F,)),
    *_elementwise("tanh", "tf.tanh(x=x)", (_F, "paddle")),
    Entry(
        f"{_F}.leaky_relu(x, negative_slope=0.01, name=None)",
        "tf.nn.leaky_relu(features=x, alpha=negative_slope)",
        shape_checks.same,
        write=("negative_slope",),
        note="TensorFlow's own slope is 0.2",
    ),
    Entry(
        f"{_F}.softmax(x, axis=-1, dtype=None, name=None)", "tf.nn.softmax(logits=x, axis=axis)", shape_checks.softmax
    ),
]
_LAYERS = [
    Entry("paddle.nn.ReLU(name=None)", "tf.nn.relu", kind="activation", layer_of=f"{_F}.relu"),
    Entry("paddle.nn.Sigmoid(name=None)", "tf.sigmoid", kind="activation", layer_of=f"{_F}.sigmoid"),
    Entry("paddle.nn.Tanh(name=None)", "tf.tanh", kind="activation", layer_of=f"{_F}.tanh"),
    Entry(
        "paddle.nn.LeakyReLU(negative_slope=0.01, name=None)",
        "lambda features: tf.nn.leaky_relu(features, alpha=negative_slope)",
        kind="activation",
        layer_of=f"{_F}.leaky_relu",
    ),
    Entry(
        "paddle.nn.Softmax(axis=-1, name=None)",
        "lambda logits: tf.nn.softmax(logits, axis=axis)",
        kind="activation",
        layer_of=f"{_F}.softmax",
    ),
]
_TENSOR = [
    Entry(
        "paddle.concat(x, axis=0, name=None)",
        "tf.concat(values=x, axis=axis)",
        shape_checks.concat,
        write=("axis",),
        note="TensorFlow has no default axis",
    ),
    Entry("paddle.stack(x, axis=0, name=None)", "tf.stack(values=x, axis=axis)", shape_checks.stack),
    Entry("paddle.add_n(inputs, name=None)", "tf.add_n(inputs=inputs)", shape_checks.add_n),
    Entry(
        "paddle.reshape(x, shape, name=None)",
        "tf.reshape(tensor=x, shape=shape)",
        shape_checks.reshape,
        methods=("reshape",),
        note="a 0 in Paddle's shape copies the dimension, and is not supported",
    ),
    Entry(
        "paddle.unsqueeze(x, axis, name=None)",
        "tf.expand_dims(input=x, axis=axis)",
        shape_checks.expand_dims,
        methods=("unsqueeze",),
    ),
    Entry(
        "paddle.squeeze(x, axis=None, name=None)",
        "tf.squeeze(input=x, axis=axis)",
        shape_checks.squeeze,
        methods=("squeeze",),
    ),
    Entry(
        "paddle.transpose(x, perm, name=None)",
        "tf.transpose(a=x, perm=perm)",
        shape_checks.transpose,
        methods=("transpose",),
    ),
    Entry(
        "paddle.split(x, num_or_sections, axis=0, name=None)",
        "tf.split(value=x, num_or_size_splits=num_or_sections, axis=axis)",
        shape_checks.split,
        methods=("split",),
    ),
    Entry("paddle.slice(input, axes, starts, ends)", "SLICE(input, axes, starts, ends)", shape_checks.slice_axes),
    Entry("paddle.cast(x, dtype)", "tf.cast(x=x, dtype=dtype)", shape_checks.cast, methods=("cast", "astype")),
]
_MATH = [
    Entry("paddle.add(x, y, name=None)", "tf.add(x=x, y=y)", shape_checks.binary, methods=("add",)),
    Entry("paddle.subtract(x, y, name=None)", "tf.subtract(x=x, y=y)", shape_checks.binary, methods=("subtract",)),
    Entry("paddle.multiply(x, y, name=None)", "tf.multiply(x=x, y=y)", shape_checks.binary, methods=("multiply",)),
    Entry("paddle.divide(x, y, name=None)", "tf.divide(x=x, y=y)", shape_checks.binary, methods=("divide",)),
    Entry(
        "paddle.sum(x, axis=None, dtype=None, keepdim=False, name=None)",
        "tf.reduce_sum(input_tensor=x, axis=axis, keepdims=keepdim)",
        shape_checks.reduce,
        methods=("sum",),
    ),
    Entry(
        "paddle.mean(x, axis=None, keepdim=False, name=None)",
        "tf.reduce_mean(input_tensor=x, axis=axis, keepdims=keepdim)",
        shape_checks.reduce,
        methods=("mean",),
    ),
    Entry(
        f"paddle.clip(x, min={shape_checks.UNBOUNDED!r}, max={shape_checks.UNBOUNDED!r}, name=None)",
        "clip_by_value(t=x, clip_value_min=min, clip_value_max=max)",
        shape_checks.clip,
        methods=("clip",),
        note="exactly on a bound Paddle's gradient is 0 and TensorFlow's 1: the emitted helper follows Paddle",
    ),
    Entry(
        "paddle.matmul(x, y, transpose_x=False, transpose_y=False, name=None)",
        "tf.matmul(a=x, b=y, transpose_a=transpose_x, transpose_b=transpose_y)",
        shape_checks.matmul,
        methods=("matmul",),
    ),
    Entry(
        "paddle.scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)",
        "x * scale + bias",
        shape_checks.same,
        methods=("scale",),
    ),
    *_elementwise("exp", "tf.exp(x=x)", ("paddle",), ("exp",)),
    *_elementwise("log", "tf.math.log(x=x)", ("paddle",), ("log",)),
    *_elementwise("square", "tf.square(x=x)", ("paddle",), ("square",)),
    *_elementwise("sqrt", "tf.sqrt(x=x)", ("paddle",), ("sqrt",)),
]
_INITIALIZERS = [
    Entry(f"{_I}.Constant(value=0.0)", "tf.constant_initializer(value=value)", write=("value",)),
    Entry(
        f"{_I}.Normal(mean=0.0, std=1.0, name=None)",
        "tf.random_normal_initializer(mean=mean, stddev=std)",
        write=("mean", "std"),
    ),
    Entry(
        f"{_I}.TruncatedNormal(mean=0.0, std=1.0, name=None)",
        "tf.truncated_normal_initializer(mean=mean, stddev=std)",
        write=("mean", "std"),
        note="cut at two standard deviations in both",
    ),
    Entry(
        f"{_I}.Uniform(low=-1.0, high=1.0, name=None)",
        "tf.random_uniform_initializer(minval=low, maxval=high)",
        write=("low", "high"),
        note="TensorFlow's own default range is [0, 1)",
    ),
    Entry(f"{_I}.XavierUniform(fan_in=None, fan_out=None, name=None)", "tf.glorot_uniform_initializer()"),
    Entry(
        f"{_I}.XavierNormal(fan_in=None, fan_out=None, name=None)",
        'tf.variance_scaling_initializer(1.0, "fan_avg", "untruncated_normal")',
        note="TensorFlow's glorot_normal is truncated, Paddle's is not",
    ),
    Entry(
        f"{_I}.KaimingUniform(fan_in=None, negative_slope=0.0, nonlinearity='relu')",
        'tf.variance_scaling_initializer(2.0, "fan_in", "uniform")',
    ),
    Entry(
        f"{_I}.KaimingNormal(fan_in=None, negative_slope=0.0, nonlinearity='relu')",
        'tf.variance_scaling_initializer(2.0, "fan_in", "untruncated_normal")',
    ),
]
_LOSSES = [
    Entry(
        f"{_F}.log_loss(input, label, epsilon=0.0001, name=None)",
        'tf.losses.log_loss(label, input, epsilon=epsilon, reduction="none")',
        shape_checks.binary,
        kind="loss",
        note="TensorFlow's own epsilon is 1e-7, its default reduction a mean",
    ),
    Entry(
        f"{_F}.square_error_cost(input, label)",
        "tf.math.squared_difference(x=input, y=label)",
        shape_checks.binary,
        kind="loss",
    ),
    Entry(
        f"{_F}.mse_loss(input, label, reduction='mean', name=None)",
        "tf.reduce_mean(tf.math.squared_difference(input, label))",
        shape_checks.scalar,
        kind="loss",
    ),
    Entry(
        f"{_F}.binary_cross_entropy_with_logits(logit, label, weight=None, reduction='mean', "
        "pos_weight=None, name=None)",
        "tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))",
        shape_checks.scalar,
        kind="loss",
    ),
    Entry(
        f"{_F}.cross_entropy(input, label, weight=None, ignore_index=-100, reduction='mean', soft_label=False, "
        "axis=-1)",
        "tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits("
        "labels=tf.cast(tf.reshape(label, [-1]), tf.int64), logits=input))",
        shape_checks.scalar,
        kind="loss",
    ),
]


def _initializer(entry: Entry) -> Entry:
    return Entry(entry.paddle, entry.tf, kind="initializer", write=entry.write, note=entry.note)


#: Paddle's dotted name -> entry.
TABLE: dict[str, Entry] = {
    entry.name: entry
    for entry in [*_ACTIVATIONS, *_LAYERS, *_TENSOR, *_MATH, *map(_initializer, _INITIALIZERS), *_LOSSES]
}
#: Tensor method -> entry.
METHODS: dict[str, Entry] = {method: entry for entry in TABLE.values() for method in entry.methods}
#: Classes and constructors that are not entries of the table.
LINEAR, PARAM_ATTR = "paddle.nn.Linear", "paddle.ParamAttr"
CONTAINERS = {"paddle.nn.Sequential": "Sequential", "paddle.nn.LayerList": "LayerList"}
LAYER = "paddle.nn.Layer"
DTYPES = {"paddle.float32": "tf.float32", "paddle.float64": "tf.float64", "paddle.int64": "tf.int64"}
TENSOR = "paddle.Tensor"
#: Names that may be used without being called -> their TensorFlow equivalents.
PLAIN = DTYPES | {LAYER: "Layer", TENSOR: "tf.Tensor"}
#: Functions of one tensor may be used as values; others are rewritten at their calls.
PLAIN |= {
    entry.name: entry.tf.partition("(")[0]
    for entry in TABLE.values()
    if entry.kind == "function" and list(entry.parameters) == ["x", "name"]
}
_ALIASES = {
    "paddle.nn.layer.Sigmoid": "paddle.nn.Sigmoid",
    "paddle.nn.layer.ReLU": "paddle.nn.ReLU",
    "paddle.framework.ParamAttr": PARAM_ATTR,
    "paddle.nn.ParamAttr": PARAM_ATTR,
}


def canonical(name: str) -> str:
    """Return the canonical dotted name of an API, as in the table."""
    return _ALIASES.get(name, name)


def known(name: str) -> bool:
    """Return whether a dotted Paddle name is supported."""
    name = canonical(name)
    return name in TABLE or name in PLAIN or name in CONTAINERS or name in {LINEAR, PARAM_ATTR}
