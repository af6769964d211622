"""Layers of the core beside Paddle's: paths, values, shapes, dtypes, gradients, and what they begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn
from tests.support.paddle.twins import compare

v1 = tf.compat.v1
pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(3)


def ids(*shape: int, below: int = 6, dtype: Any = np.int64) -> Any:
    return RANDOM.integers(0, below, shape).astype(dtype)


def create(of: Any) -> Any:
    """Return the function that describes a parameter outside of a layer."""
    return paddle.create_parameter if of is paddle.nn else nn.create_parameter


def attribute(of: Any, **arguments: Any) -> Any:
    return (paddle if of is paddle.nn else nn).ParamAttr(**arguments)


def of_tensor(of: Any, values: list[float]) -> Any:
    return paddle.to_tensor(values) if of is paddle.nn else tf.constant(values)


def tangled(of: Any) -> Any:
    """A model that registers in all ways, names twice among them."""

    class Tangled(of.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = of.Embedding(6, 4, sparse=True, padding_idx=0)
            layers = []
            for n in range(2):
                layers.append(of.Linear(4, 4, weight_attr=attribute(of, initializer=of.initializer.Constant(0.1))))
                self.add_sublayer(f"linear_{n}", layers[n])
            self.layers = layers
            self.again = of.Linear(4, 4)
            self.add_sublayer("linear_0", self.again)
            self.w = create(of)([4, 3], "float32", default_initializer=of.initializer.Constant(0.5))
            self.b = self.create_parameter([3], is_bias=True)
            self.add_parameter("loose", self.create_parameter([2]))
            self.listed = of.LayerList([of.Linear(3, 2), self.again])
            self.listed.append(of.Sequential(of.Linear(2, 2), of.Linear(2, 1, bias_attr=False)))
            self.named = of.Sequential(("first", of.Linear(2, 2)), ("second", of.Identity()))
            self.by_name = of.LayerDict({"a": of.Linear(1, 1)})
            self.parameters_listed = of.ParameterList([self.w, self.create_parameter([1, 3])])
            self.register_buffer("counts", of_tensor(of, [1.0, 2.0]))
            self.register_buffer("scratch", of_tensor(of, [1.0]), persistable=False)
            self.frozen = self.create_parameter([1], attr=attribute(of, trainable=False))

        def forward(self, x: Any) -> Any:
            rows = self.embedding(x)
            for layer in self.layers:
                rows = layer(rows)
            rows = self.again(rows) @ self.w + self.b + self.parameters_listed[1]
            out = self.named(self.listed[0](rows))
            for layer in self.listed[-1:]:
                out = layer(out)
            return self.by_name["a"](out) * self.frozen

    return Tangled()


def facts(layer: Any) -> Any:
    shapes = [(path, list(weight.shape), weight.stop_gradient) for path, weight in layer.named_parameters()]
    kinds = [(path, type(one).__name__) for path, one in layer.named_sublayers(include_self=True)]
    held = [(path, list(weight.shape)) for path, weight in layer.state_dict().items()]
    held += [(path, list(one.shape)) for path, one in layer.named_buffers()]
    return shapes, kinds, held, [name for name, _ in layer.named_children()], layer.named_sublayers(prefix="p")


def test_paths_are_paddles() -> None:
    with tf.Graph().as_default():
        ours, theirs = facts(tangled(nn)), facts(tangled(paddle.nn))
    assert ours[:4] == theirs[:4]
    assert [path for path, _ in ours[4]] == [path for path, _ in theirs[4]]


def test_what_lists_do_is_what_paddles_do() -> None:
    def changed(of: Any) -> Any:
        lists = of.LayerList([of.Linear(1, n + 1) for n in range(4)])
        lists.insert(1, of.Linear(2, 2))
        lists.insert(-1, of.Linear(5, 5))
        lists.extend([of.Linear(3, 3), of.ReLU()])
        lists[0] = of.Linear(7, 7)
        lists[-2] = of.Linear(8, 8)
        del lists[2]
        del lists[3:5]
        chain = of.Sequential(of.Linear(1, 2), of.Linear(2, 3), of.Linear(3, 4))
        chain[1] = of.Linear(2, 2)
        del chain[0]
        by_name = of.LayerDict([("a", of.Linear(1, 1)), ("b", of.Linear(2, 2))])
        by_name.update({"a": of.Linear(3, 3), "c": of.Linear(4, 4)})
        by_name.pop("b")
        values = of.ParameterList([create(of)([1], "float32")])
        values.append(create(of)([2], "float32"))
        values[0] = create(of)([3], "float32")
        holder = of.LayerList([lists, lists[1:3], chain, chain[-1:], by_name, values])
        sizes = [len(one) for one in holder] + [list(by_name), "c" in by_name, chain["2"] is chain[-1]]
        return facts(holder)[:4], sizes, [list(one.shape) for one in values], [type(one).__name__ for one in lists]

    with tf.Graph().as_default():
        assert changed(nn) == changed(paddle.nn)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.each_case
def test_a_tangled_model(training: bool) -> None:
    compare(tangled, ids(5, 3), training=training, padding={"embedding.weight": 0})


INITIALIZERS = [
    ("Constant", (0.25,)),
    ("Normal", (0.5, 0.1)),
    ("TruncatedNormal", (0.5, 0.1)),
    ("Uniform", ()),
    ("XavierUniform", ()),
    ("XavierNormal", ()),
    ("KaimingUniform", ()),
    ("KaimingNormal", (None, 0.5, "leaky_relu")),
    ("XavierNormal", (10, 20)),
    ("KaimingUniform", (10,)),
]


@pytest.mark.parametrize("shape", [(60, 80), (40, 30, 2, 2), (3000,)])
@pytest.mark.each_case
def test_weights_begin_alike(shape: tuple[int, ...]) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        tf.random.set_seed(3)
        paddle.seed(3)
        pairs = []
        for name, arguments in [*INITIALIZERS, ("none", ()), ("bias", ())]:
            made = []
            for of in (paddle.nn, nn):
                known = hasattr(of.initializer, name)
                start = getattr(of.initializer, name)(*arguments) if known else None
                made.append(create(of)(list(shape), "float32", None, None, name == "bias", start))
            pairs.append((made[0].numpy(), made[1].variable))
        session.run(v1.global_variables_initializer())
        found = session.run([ours for _, ours in pairs])
    for (theirs, _), ours in zip(pairs, found, strict=True):
        deviation = theirs.std()
        assert abs(theirs.mean() - ours.mean()) <= 0.1 * deviation
        assert abs(ours.std() - deviation) <= 0.06 * deviation
        edges = np.quantile(theirs, [0.01, 0.99]), np.quantile(ours, [0.01, 0.99])
        np.testing.assert_allclose(edges[0], edges[1], atol=0.35 * deviation)
