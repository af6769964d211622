"""The layers that a converted module carries. Never imported: its classes and functions are copied as text.

They keep what the conversion relies on and nothing more: a variable is called by its path in the original model, and a
`Linear` that reads the model input keeps its dense rows while its other rows are columns of the embedding table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

DENSE_SIZE = 0


class Layer:
    """A named tree of layers: a variable's name is its path in the original model."""

    def __init__(self, name: str | None = None) -> None:
        self._sub_layers: dict[str, Layer] = {}
        self.path = ""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Layer):
            self._sub_layers[name] = value
        super().__setattr__(name, value)

    def __call__(self, *inputs: Any, **named_inputs: Any) -> Any:
        return self.forward(*inputs, **named_inputs)

    def forward(self, *inputs: Any, **named_inputs: Any) -> Any:
        """Return what the layer makes of its inputs."""
        raise NotImplementedError

    def add_sublayer(self, name: str, sublayer: Any) -> Any:
        """Keep a layer under a name of its own."""
        setattr(self, name, sublayer)
        return sublayer

    def name_layers(self, prefix: str = "") -> None:
        """Tell every layer its path; of two names for one layer the first counts."""
        for name, layer in self._sub_layers.items():
            if not layer.path:
                layer.path = prefix + name
                layer.name_layers(layer.path + ".")

    def create_variables(self) -> None:
        """Create the variables of all layers in the current scope, or find them again."""
        for layer in self._sub_layers.values():
            layer.create_variables()


class Linear(Layer):
    """x·W + b.

    Of an input layer, W holds the dense rows; its sparse rows are ``columns`` of the
    embedding table.
    """

    def __init__(
        self, in_features: int, out_features: int, weight_attr: Any = None, bias_attr: Any = None, name: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight_init = with_fan(weight_attr or tf.glorot_uniform_initializer(), in_features, out_features)
        self.bias_init = tf.zeros_initializer() if bias_attr is None else bias_attr
        self.columns: slice | None = None

    def create_variables(self) -> None:
        """Create weight [in_features or DENSE_SIZE, out_features], bias [out_features]."""
        name = self.path.replace(".", "/")
        rows = self.in_features if self.columns is None else DENSE_SIZE
        self.weight = tf.get_variable(name + "/weight", [rows, self.out_features], initializer=self.weight_init)
        self.bias = self.bias_init and tf.get_variable(name + "/bias", [self.out_features], initializer=self.bias_init)

    def forward(self, input: Any) -> tf.Tensor:
        if self.columns is None:
            out = tf.matmul(input, self.weight)
        else:
            dense_feature, embedding = input
            out = tf.matmul(dense_feature, self.weight) + embedding[:, self.columns]
        return out + self.bias if self.bias_init else out


class LayerList(Layer):
    """A list of layers, named 0, 1, 2 …"""

    def __init__(self, layers: Iterable[Any] = ()) -> None:
        super().__init__()
        self.layers: list[Any] = []
        self.extend(layers)

    def append(self, layer: Any) -> None:
        self.layers.append(self.add_sublayer(str(len(self.layers)), layer))

    def extend(self, layers: Iterable[Any]) -> None:
        for layer in layers:
            self.append(layer)

    def __getitem__(self, index: int) -> Any:
        return self.layers[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)


class Sequential(LayerList):
    """Layers applied one after another, named 0, 1, 2 …"""

    def __init__(self, *layers: Any) -> None:
        super().__init__(layers)

    def forward(self, input: Any) -> Any:
        for layer in self.layers:
            input = layer(input)
        return input


class ReLU(Layer):
    """max(x, 0)."""

    def forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x)


class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    def forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.sigmoid(x)


class Tanh(Layer):
    """The hyperbolic tangent."""

    def forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x)


class LeakyReLU(Layer):
    """x, or a part of it below 0."""

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.leaky_relu(x, alpha=self.negative_slope)


class Softmax(Layer):
    """Shares that sum to 1 along a dimension."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: tf.Tensor) -> tf.Tensor:
        return softmax(x, self.axis)


def ParamAttr(name: str | None = None, initializer: Any = None, **defaults: Any) -> Any:
    """Return how a parameter begins; other arguments are given with their default values."""
    return initializer


def Constant(value: float = 0.0) -> Any:
    """Equal values."""
    return tf.constant_initializer(value)


def Normal(mean: float = 0.0, std: float = 1.0, name: str | None = None) -> Any:
    """A normal distribution."""
    return tf.random_normal_initializer(mean, std)


def TruncatedNormal(mean: float = 0.0, std: float = 1.0) -> Any:
    """A normal distribution, cut two standard deviations from the mean."""
    return tf.truncated_normal_initializer(mean, std)


def Uniform(low: float = -1.0, high: float = 1.0, name: str | None = None) -> Any:
    """A uniform distribution."""
    return tf.random_uniform_initializer(low, high)


def XavierUniform() -> Any:
    """A uniform distribution that scales with both fans."""
    return tf.glorot_uniform_initializer()


def XavierNormal() -> Any:
    """A normal distribution that scales with both fans; TensorFlow's glorot_normal is truncated."""
    return tf.variance_scaling_initializer(1.0, "fan_avg", "untruncated_normal")


def KaimingUniform() -> Any:
    """A uniform distribution that scales with the inputs."""
    return tf.variance_scaling_initializer(2.0, "fan_in", "uniform")


def KaimingNormal() -> Any:
    """A normal distribution that scales with the inputs."""
    return tf.variance_scaling_initializer(2.0, "fan_in", "untruncated_normal")


def with_fan(initializer: Any, fan_in: int, fan_out: int) -> Any:
    """Fix the range of an initializer that scales with the fan to that of the kernel.

    The kernel [fan_in, fan_out] is the whole one, with the rows that are in the table.
    """
    if not isinstance(initializer, tf.variance_scaling_initializer):
        return initializer
    fan = fan_in if initializer.mode == "fan_in" else (fan_in + fan_out) / 2
    variance = initializer.scale / fan
    if initializer.distribution == "uniform":
        return tf.random_uniform_initializer(-((3 * variance) ** 0.5), (3 * variance) ** 0.5)
    return tf.random_normal_initializer(0.0, variance**0.5)


def place_side_by_side(layers: list[Linear]) -> int:
    """Give each layer its columns of the embedding table, and return how many there are."""
    emb_dim = 0
    for layer in layers:
        layer.columns = slice(emb_dim, emb_dim + layer.out_features)
        emb_dim += layer.out_features
    return emb_dim


def group_by_initializer(layers: list[Linear]) -> list[list[Linear]]:
    """Return lists of the layers whose kernels have the same initializer."""
    groups: dict[tuple[str, str], list[Linear]] = {}
    for layer in layers:
        initializer = layer.weight_init
        groups.setdefault((type(initializer).__name__, str(initializer.get_config())), []).append(layer)
    return list(groups.values())


def softmax(x: tf.Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """exp(x) / sum(exp(x)); of one element 1, and no gradient, where tf.nn.softmax gives 1 - 6e-8."""
    x = x if dtype is None else tf.cast(x, dtype)
    powers = tf.exp(x - tf.stop_gradient(tf.reduce_max(x, axis, keepdims=True)))
    return powers / tf.reduce_sum(powers, axis, keepdims=True)


def clip_by_value(x: tf.Tensor, min: Any = None, max: Any = None, name: str | None = None) -> tf.Tensor:
    """tf.clip_by_value, but no gradient passes exactly on a bound, as in the original."""
    low, high = (float("-inf") if min is None else min), (float("inf") if max is None else max)
    clipped = tf.clip_by_value(x, low, high)
    inside = tf.logical_and(x > low, x < high)
    return tf.where(inside, clipped, tf.stop_gradient(clipped))


def leaky_relu(x: tf.Tensor, negative_slope: float = 0.01, name: str | None = None) -> tf.Tensor:
    """x, or a part of it below 0."""
    return tf.nn.leaky_relu(x, alpha=negative_slope)


def scaled(
    x: tf.Tensor, scale: Any = 1.0, bias: float = 0.0, bias_after_scale: bool = True, name: str | None = None
) -> tf.Tensor:
    """x * scale + bias, or (x + bias) * scale."""
    return x * scale + bias if bias_after_scale else (x + bias) * scale


def log_loss(input: tf.Tensor, label: tf.Tensor, epsilon: float = 1e-4, name: str | None = None) -> tf.Tensor:
    """-label log(input + epsilon) - (1 - label) log(1 - input + epsilon), element by element."""
    return tf.losses.log_loss(label, input, epsilon=epsilon, reduction="none")


def class_loss(input: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    """The mean cross entropy of logits [batch, classes] and classes [batch, 1], a scalar."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(label, [-1]), logits=input)
    return tf.reduce_mean(losses)


def cut_out(input: tf.Tensor, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> tf.Tensor:
    """Part of a tensor: from a start to an end along each of some dimensions."""
    parts = [slice(None)] * len(input.shape)
    for i, axis in enumerate(axes):
        parts[axis] = slice(starts[i], ends[i])
    return input[tuple(parts)]
