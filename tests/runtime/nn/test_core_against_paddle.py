"""Layers of the core, recurrent ones and attention beside Paddle's: values, shapes, states, gradients, masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn import masks
from tests.support.paddle.layers import compare_each
from tests.support.paddle.twins import compare, weights_of

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


UNEVEN = np.random.default_rng(8)
X = UNEVEN.normal(size=(3, 4, 2)).astype(np.float32)
TIME_MAJOR = UNEVEN.normal(size=(4, 3, 2)).astype(np.float32)
STEP = UNEVEN.normal(size=(3, 2)).astype(np.float32)
LENGTHS = np.array([2, 4, 0], np.int64)
NETWORKS = ("SimpleRNN", "LSTM", "GRU")


def layer(kind: str, *arguments: Any, **named: Any) -> Any:
    return lambda of: getattr(of, kind)(*arguments, **named)


class Given:
    """A layer that is called with further arguments: lengths, or states."""

    def __init__(self, make: Any, **arguments: Any) -> None:
        self.make, self.arguments = make, arguments

    def __call__(self, of: Any) -> Any:
        make, named = self.make, self.arguments

        class Model(of.Layer):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.inner = make(of)

            def forward(self, x: Any) -> Any:
                return self.inner(x, **{key: tensors(of, value) for key, value in named.items()})

        return Model()


def tensors(of: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(tensors(of, one) for one in value)
    return paddle.to_tensor(value) if of is paddle.nn else tf.constant(value)


def state(*shape: int) -> Any:
    return UNEVEN.normal(size=shape).astype(np.float32)


def test_cells() -> None:
    cases = [layer(f"{kind}Cell", 2, 3) for kind in NETWORKS]
    cases += [layer("SimpleRNNCell", 2, 3, "relu"), layer("GRUCell", 2, 3, bias_ih_attr=False)]
    cases += [layer("LSTMCell", 2, 3, weight_hh_attr=False, bias_hh_attr=False)]
    cases += [Given(layer("GRUCell", 2, 3), states=state(3, 3))]
    cases += [Given(layer("LSTMCell", 2, 3), states=(state(3, 3), state(3, 3)))]
    compare_each([(case, 0) for case in cases], STEP)


def test_networks() -> None:
    states = state(2, 3, 3), state(2, 3, 3)
    cases: list[tuple[Any, int]] = [
        (layer("SimpleRNN", 2, 3, activation="relu"), 0),
        (Given(layer("GRU", 2, 3, 1, "bidirectional", True), sequence_length=LENGTHS.astype(np.int32)), 1),
        (Given(layer("GRU", 2, 3, 2, "bidirect"), initial_states=state(4, 3, 3)), 0),
        (Given(layer("LSTM", 2, 3, 2), initial_states=states, sequence_length=LENGTHS), 0),
    ]
    compare_each(cases, X, TIME_MAJOR)


def cell_of_a_model(of: Any) -> Any:
    """A cell that keeps the sum of what it saw and returns two outputs."""

    class Sums(of.RNNCellBase):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = of.Linear(2, 3)
            self.input_size = 2

        @property
        def state_shape(self) -> Any:
            return (3,)

        def forward(self, inputs: Any, states: Any, factor: float = 1.0) -> Any:
            new = states + self.linear(inputs) * factor
            return (new * new, inputs), new

    return Sums()


@pytest.mark.soak
def test_cells_over_time() -> None:
    """Behind the end of a sequence the states stay, and the outputs are what the cell makes of them."""
    cases: list[Any] = [lambda of: of.RNN(of.GRUCell(2, 3)), lambda of: of.RNN(of.LSTMCell(2, 3), is_reverse=True)]
    cases += [lambda of: of.BiRNN(of.GRUCell(2, 3), of.GRUCell(2, 3)), lambda of: of.RNN(of.SimpleRNNCell(2, 3))]
    cases += [lambda of: of.BiRNN(of.LSTMCell(2, 3), of.LSTMCell(2, 3)), lambda of: of.RNN(cell_of_a_model(of))]
    uneven = [(Given(case, sequence_length=LENGTHS), 0) for case in cases]
    some = [(Given(cases[0], initial_states=state(3, 3)), 0), (Given(cases[-1], factor=np.float32(2.0)), 0)]
    some += [(lambda of: of.BiRNN(of.GRUCell(2, 3), of.GRUCell(2, 3), time_major=True), 1)]
    compare_each([*uneven, *some], X, TIME_MAJOR)


@pytest.mark.soak
def test_lengths_of_batches_that_the_graph_does_not_know() -> None:
    """Time and batch are known at run time only; the states that a training begins with are placeholders."""
    theirs = paddle.nn.LSTM(2, 3, 2, "bidirect")
    with tf.Graph().as_default(), v1.Session() as session:
        ours = nn.LSTM(2, 3, 2, "bidirect")
        ours.build("m")
        x = v1.placeholder(tf.float32, [None, None, 2])
        lengths = v1.placeholder(tf.int64, [None])
        outputs, states = ours(x, sequence_length=lengths)
        ours.eval()
        evaluated = ours(x, sequence_length=lengths)[0]
        assert outputs.shape.as_list() == [None, None, 6]
        assert states[0].shape.as_list() == [4, None, 3]
        gradient = tf.gradients(outputs, x)[0]
        session.run(v1.global_variables_initializer())
        nn.load_weights(ours, weights_of(theirs), session)
        for batch, time in ((3, 4), (2, 1), (1, 7)):
            values, ends = state(batch, time, 2), UNEVEN.integers(0, time + 1, batch)
            found = session.run([outputs, states, gradient, evaluated], {x: values, lengths: ends})
            given = paddle.to_tensor(values, stop_gradient=False)
            expected, last = theirs(given, sequence_length=paddle.to_tensor(ends))
            expected.sum().backward()
            np.testing.assert_allclose(found[0], expected.numpy(), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(found[1], [one.numpy() for one in last], rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(found[3], found[0])
            np.testing.assert_allclose(found[2], given.grad.numpy(), rtol=1e-4, atol=1e-5)


MASKED = np.random.default_rng(9)
QUERIES = MASKED.normal(size=(2, 5, 8)).astype(np.float32)
KEYS = MASKED.normal(size=(2, 3, 4)).astype(np.float32)
VALUES = MASKED.normal(size=(2, 3, 6)).astype(np.float32)
LOWER = np.tril(np.ones((5, 5)))
MASKS: list[Any] = [
    LOWER.astype(bool),
    LOWER.astype(np.int64),
    MASKED.normal(size=(2, 1, 5, 5)).astype(np.float32),
    MASKED.normal(size=(5, 5)),
]


def test_attention() -> None:
    def made(of: Any) -> Any:
        class Model(of.Layer):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.own = of.MultiHeadAttention(8, 2)
                self.other = of.MultiHeadAttention(8, 4, 0.0, 4, 6, True, bias_attr=False)

            def forward(self, x: Any, keys: Any, values: Any, *given: Any) -> Any:
                outs = [self.own(x), self.own(x, x, x), self.other(x, keys, values)]
                return outs + [self.own(x, attn_mask=mask) for mask in given]

        return Model()

    compare(made, QUERIES, KEYS, VALUES, *MASKS, unknown=False, scale=0.3)


def encoders(of: Any) -> Any:
    """Layers of all kinds, one after the other: their inputs and outputs are alike."""
    attr = (paddle if of is paddle.nn else nn).ParamAttr

    class Model(of.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            layer = of.TransformerEncoderLayer
            self.plain = layer(8, 2, 6)
            self.before = layer(8, 4, 6, 0.0, "gelu", normalize_before=True, bias_attr=False)
            self.named = layer(8, 1, 3, 0.3, weight_attr=[None, attr(initializer=of.initializer.Constant(0.1))])
            self.stack = of.TransformerEncoder(layer(8, 2, 4, 0.2, "tanh", 0.1, 0.5), 2, of.LayerNorm(8))

        def forward(self, x: Any, mask: Any) -> Any:
            return self.stack(self.named(self.before(self.plain(x, mask))), mask), self.plain(x)

    return Model()


def test_encoders() -> None:
    compare(encoders, QUERIES, MASKS[0], unknown=False, training=False, scale=0.3)


@pytest.mark.soak
def test_what_is_dropped_while_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each second element, in both frameworks: the dropouts of a layer are in the same places."""

    def dropout(x: Any, p: Any = 0.5, axis: Any = None, training: bool = True, mode: str = "", name: Any = None) -> Any:
        if not training or not p:
            return x
        kept = np.arange(np.prod(x.shape)).reshape(x.shape) % 2
        return x * paddle.to_tensor((kept / (1 - p)).astype(np.float32))

    def each_second(shape: tf.Tensor, p: float) -> tf.Tensor:
        return tf.reshape(tf.equal(tf.range(tf.reduce_prod(shape)) % 2, 1), shape)

    monkeypatch.setattr(paddle.nn.functional, "dropout", dropout)
    with masks.drawn_by(each_second):
        compare(encoders, QUERIES, MASKS[2], scale=0.3)


def test_a_name_becomes_two() -> None:
    with tf.Graph().as_default():
        layer = nn.TransformerEncoderLayer(4, 2, 4, weight_attr=nn.ParamAttr(name="w", learning_rate=0.5))
        assert layer.self_attn.q_proj.weight.name == "w_0"
        assert layer.linear2.weight.name == "w_1"
        assert layer.linear2.weight.attr.learning_rate == 0.5


def test_cosines() -> None:
    def made(of: Any) -> Any:
        return of.CosineSimilarity(axis=-1, eps=1e-6)

    compare(made, QUERIES, MASKED.normal(size=(2, 5, 8)).astype(np.float32))
