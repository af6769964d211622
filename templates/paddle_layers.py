"""What a converted Paddle module for another SDK carries of `runtime.nn`. Never imported: its class is copied as text.

It has names and arguments of `runtime.nn`, and of its parts what a conversion relies on. A variable is called by its
path in the original model. A `Linear` that reads the model's input keeps its dense rows; its other rows are columns of
embedding tables, one for each kind of initial values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf


class nn:
    """Layers, initializers and functions with Paddle's names, on TensorFlow alone."""

    class Weight:
        """A variable of a layer."""

        def __init__(self, variable: Any) -> None:
            self.variable = variable

    class Layer:
        """A named tree of layers: a variable's name is its path in the original model."""

        def __init__(self, name: str | None = None) -> None:
            self._sub_layers: dict[str, Any] = {}
            self.path = ""

        def __setattr__(self, name: str, value: Any) -> None:
            if isinstance(value, nn.Layer):
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

        def build(self, name: str) -> None:
            """Create the variables of all layers in a scope, or find them again."""
            self.name_layers()
            with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
                self.create_variables()

        def create_variables(self) -> None:
            """Create the variables of all layers in the current scope, or find them again."""
            for layer in self._sub_layers.values():
                layer.create_variables()

        def parameters(self) -> list[Any]:
            """Return the weights of all layers, each once."""
            own = [value for value in vars(self).values() if isinstance(value, nn.Weight)]
            own += [weight for layer in self._sub_layers.values() for weight in layer.parameters()]
            return list(dict.fromkeys(own))

    class Linear(Layer):
        """x·W + b; of a layer that reads the input, W holds the dense rows, its other rows are columns of a table."""

        def __init__(
            self, in_features: int, out_features: int, weight_attr: Any = None, bias_attr: Any = None, name: Any = None
        ) -> None:
            super().__init__()
            self.rows, self.out_features = in_features, out_features
            weight_attr = weight_attr or tf.glorot_uniform_initializer()
            self.weight_init = nn.initializer.with_fan(weight_attr, in_features, out_features)
            self.bias_init = tf.zeros_initializer() if bias_attr is None else bias_attr
            self.columns = slice(0)

        def create_variables(self) -> None:
            """Create weight [rows, out_features], bias [out_features]."""
            name, width = self.path.replace(".", "/"), self.out_features
            self.weight = nn.Weight(tf.get_variable(name + "/weight", [self.rows, width], initializer=self.weight_init))
            if self.bias_init:
                self.bias = nn.Weight(tf.get_variable(name + "/bias", [width], initializer=self.bias_init))

        def forward(self, input: Any) -> tf.Tensor:
            if isinstance(input, nn.one_hot.Input):
                out = tf.matmul(input.dense, self.weight.variable) + input.embedding[:, self.columns]
            else:
                out = tf.matmul(input, self.weight.variable)
            return out + self.bias.variable if self.bias_init else out

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
            return nn.functional.softmax(x, self.axis)

    @staticmethod
    def ParamAttr(name: str | None = None, initializer: Any = None, **defaults: Any) -> Any:
        """Return how a parameter begins; other arguments are given with their default values."""
        return initializer

    class initializer:
        """How weights begin."""

        @staticmethod
        def Constant(value: float = 0.0) -> Any:
            """Equal values."""
            return tf.constant_initializer(value)

        @staticmethod
        def Normal(mean: float = 0.0, std: float = 1.0, name: str | None = None) -> Any:
            """A normal distribution."""
            return tf.random_normal_initializer(mean, std)

        @staticmethod
        def TruncatedNormal(mean: float = 0.0, std: float = 1.0) -> Any:
            """A normal distribution, cut two standard deviations from the mean."""
            return tf.truncated_normal_initializer(mean, std)

        @staticmethod
        def Uniform(low: float = -1.0, high: float = 1.0, name: str | None = None) -> Any:
            """A uniform distribution."""
            return tf.random_uniform_initializer(low, high)

        @staticmethod
        def XavierUniform() -> Any:
            """A uniform distribution that scales with both fans."""
            return tf.glorot_uniform_initializer()

        @staticmethod
        def XavierNormal() -> Any:
            """A normal distribution that scales with both fans; TensorFlow's glorot_normal is truncated."""
            return tf.variance_scaling_initializer(1.0, "fan_avg", "untruncated_normal")

        @staticmethod
        def KaimingUniform() -> Any:
            """A uniform distribution that scales with the inputs."""
            return tf.variance_scaling_initializer(2.0, "fan_in", "uniform")

        @staticmethod
        def KaimingNormal() -> Any:
            """A normal distribution that scales with the inputs."""
            return tf.variance_scaling_initializer(2.0, "fan_in", "untruncated_normal")

        @staticmethod
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

    class one_hot:
        """Rows of numbers and one-hot groups: what a `Linear` computes of them without the zeros."""

        class Input:
            """Numbers [batch, numbers], and rows of the tables, summed over the groups, [batch, columns]."""

            def __init__(self, dense: Any, embedding: Any) -> None:
                self.dense, self.embedding = dense, embedding

        @staticmethod
        def grouped(layers: Iterable[Any]) -> list[list[Any]]:
            """Return lists of the layers whose kernels have the same initializer."""
            groups: dict[tuple[str, str], list[Any]] = {}
            for layer in layers:
                start = layer.weight_init
                groups.setdefault((type(start).__name__, str(start.get_config())), []).append(layer)
            return list(groups.values())

        @staticmethod
        def side_by_side(model: Any, layers: Iterable[Any], numbers: int) -> int:
            """Give each layer its columns of the tables, and return how many there are."""
            model.name_layers()
            start = 0
            for group in nn.one_hot.grouped(layers):
                for layer in group:
                    layer.rows, layer.columns = numbers, slice(start, start + layer.out_features)
                    start += layer.out_features
            return start

        @staticmethod
        def tables(layers: Iterable[Any]) -> list[tuple[int, Any]]:
            """Return (columns, initializer) of each table; their rows side by side are the embedding."""
            groups = nn.one_hot.grouped(layers)
            return [(sum(layer.out_features for layer in group), group[0].weight_init) for group in groups]

    class functional:
        """Functions with Paddle's names."""

        sigmoid, tanh, exp, square, sqrt = tf.sigmoid, tf.tanh, tf.exp, tf.square, tf.sqrt
        relu, log = tf.nn.relu, tf.math.log

        @staticmethod
        def softmax(x: tf.Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> tf.Tensor:
            """exp(x) / sum(exp(x)); of one element 1, and no gradient, where tf.nn.softmax gives 1 - 6e-8."""
            x = x if dtype is None else tf.cast(x, dtype)
            powers = tf.exp(x - tf.stop_gradient(tf.reduce_max(x, axis, keepdims=True)))
            return powers / tf.reduce_sum(powers, axis, keepdims=True)

        @staticmethod
        def clip(x: tf.Tensor, min: Any = None, max: Any = None, name: str | None = None) -> tf.Tensor:
            """tf.clip_by_value, but no gradient passes exactly on a bound, as in the original."""
            low, high = (float("-inf") if min is None else min), (float("inf") if max is None else max)
            clipped = tf.clip_by_value(x, low, high)
            inside = tf.logical_and(x > low, x < high)
            return tf.where(inside, clipped, tf.stop_gradient(clipped))

        @staticmethod
        def leaky_relu(x: tf.Tensor, negative_slope: float = 0.01, name: str | None = None) -> tf.Tensor:
            """x, or a part of it below 0."""
            return tf.nn.leaky_relu(x, alpha=negative_slope)

        @staticmethod
        def scale(
            x: tf.Tensor, scale: Any = 1.0, bias: float = 0.0, bias_after_scale: bool = True, name: str | None = None
        ) -> tf.Tensor:
            """x * scale + bias, or (x + bias) * scale."""
            return x * scale + bias if bias_after_scale else (x + bias) * scale

        @staticmethod
        def log_loss(input: tf.Tensor, label: tf.Tensor, epsilon: float = 1e-4, name: str | None = None) -> tf.Tensor:
            """-label log(input + epsilon) - (1 - label) log(1 - input + epsilon), element by element."""
            return tf.losses.log_loss(label, input, epsilon=epsilon, reduction="none")

        @staticmethod
        def cross_entropy(input: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
            """The mean cross entropy of logits [batch, classes] and classes [batch, 1], a scalar."""
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(label, [-1]), logits=input)
            return tf.reduce_mean(losses)

        @staticmethod
        def sizes(x: tf.Tensor) -> list[Any]:
            """Return the size of each dimension: an int where it is known, else a scalar int32 tensor."""
            known = x.shape.as_list()
            return [tf.shape(x)[i] if size is None else size for i, size in enumerate(known)]

        @staticmethod
        def slice(input: tf.Tensor, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> tf.Tensor:
            """Part of a tensor: from a start to an end along each of some dimensions."""
            parts = [slice(None)] * len(input.shape)
            for i, axis in enumerate(axes):
                parts[axis] = slice(starts[i], ends[i])
            return input[tuple(parts)]
