"""How layers register what they hold, what `build` makes of it, and the weights of a model by path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn.weights import arrays as module

v1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("graph")


def test_names_are_valid_and_unique() -> None:
    model = nn.Layer()
    for name in ("a b", "a_b", "A_b", "c.d", "_e"):
        model.add_sublayer(name, nn.Linear(1, 1, bias_attr=False))
    for name in ("c_d", "c-d", "C_d"):
        model.add_sublayer(name, nn.Embedding(2, 1))
    model.build("m")
    assert [variable.op.name for variable in v1.global_variables()] == [
        *(
            "m/a_b/weight",
            "m/a_b/weight_1",
            "m/A_b/weight_2",
            "m/c/d/weight",
            "m/_e/weight",
            "m_c_d",
            "m_c_d_1",
            "m_C_d_weight_1",
        ),
    ]


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda m: setattr(m, "fc", 3), TypeError, "Layer.fc is a layer and cannot become a int"),
        (lambda m: setattr(m, "w", "a"), TypeError, "Layer.w is a weight"),
        (lambda m: m.add_parameter("fc", None), KeyError, "has `fc` already"),
        (lambda m: m(1), NotImplementedError, "Layer defines no forward"),
        (lambda m: m.w.set_value([1.0]), ValueError, r"shape \[1\] for a weight of shape \[2\]"),
        (lambda m: bool(m.w), TypeError, "compare it with None"),
        (lambda m: m.register_buffer("t", v1.placeholder("float32", [None])), ValueError, "give persistable=False"),
    ],
)
@pytest.mark.each_case
def test_what_cannot_be_is_refused(act: Any, error: type[Exception], words: str) -> None:
    model = nn.Layer()
    model.fc = nn.Linear(1, 1)
    model.w = model.create_parameter([2])
    with pytest.raises(error, match=words):
        act(model)


def test_buffers_are_saved_but_not_trained() -> None:
    model = nn.Layer()
    model.register_buffer("table", tf.constant([[1, 2]], tf.int64))
    model.register_buffer("scratch", tf.ones([1]), persistable=False)
    model.register_buffer("none", None)
    assert list(model.state_dict()) == ["table"] and not model.parameters()
    assert [path for path, _ in model.named_buffers()] == ["table", "scratch"]
    model.build("m")
    assert not v1.trainable_variables()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(model.table * 2).tolist() == [[2, 4]]


def test_a_parameter_acts_as_a_tensor() -> None:
    model = nn.Layer()
    model.w = nn.create_parameter([2, 2], "float32", default_initializer=nn.initializer.Assign([[1.0, 2], [3, 4]]))
    model.build("m")
    w, x = model.w, np.array([[1.0, 0], [0, 2]], np.float32)
    computed = [
        *(w + 1, 1 - w, w * w, x * w, x @ w, w @ x, w / 2, 2 / w, w**2, 2**w, -w, abs(-w), w // 2, w % 2),
        *(w[0], w[:, 1], tf.matmul(x, w), tf.concat([w, x], 0), tf.reduce_sum(w), w > 2, *w),
    ]
    w0 = np.array([[1.0, 2], [3, 4]], np.float32)
    expected = [
        *(w0 + 1, 1 - w0, w0 * w0, x * w0, x @ w0, w0 @ x, w0 / 2, 2 / w0, w0**2, 2**w0, -w0, w0, w0 // 2, w0 % 2),
        *(w0[0], w0[:, 1], x @ w0, np.concatenate([w0, x]), w0.sum(), w0 > 2, *w0),
    ]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for one, other in zip(session.run(computed), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    assert len(w) == 2 and w.shape.as_list() == [2, 2] and w.ndim == 2 and w.dtype == tf.float32


def test_a_parameter_that_no_model_holds_is_created_where_it_is_used() -> None:
    loose = [nn.create_parameter([1], "float32") for _ in range(2)]
    _ = tf.while_loop(lambda i: i < 2, lambda i: i + tf.cast(loose[0][0] * 0, tf.int32) + 1, [0])
    with v1.variable_scope("scope"):
        _ = loose[1] + 1
    names = [v.op.name for v in v1.global_variables()]
    assert names == ["unregistered_parameter_0", "scope/unregistered_parameter_1"]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(loose[0].variable).shape == (1,)


class Net(nn.Layer):
    """Weights of all kinds, one of them under two paths."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 2)
        self.dense = nn.Embedding(3, 1, table=False)
        self.fc = nn.Linear(2, 2)
        self.again = self.fc
        self.register_buffer("counts", tf.zeros([2], tf.int64))


def arrays() -> dict[str, Any]:
    random = np.random.default_rng(0)
    shapes = {"table.weight": (7, 2), "dense.weight": (3, 1), "fc.weight": (2, 2), "fc.bias": (2,)}
    found: dict[str, Any] = {path: random.normal(size=shape).astype(np.float32) for path, shape in shapes.items()}
    return found | {"counts": np.array([3, 4])}


def test_what_is_loaded_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", 6)  # three rows of the table at once
    model = Net()
    model.build("m")
    rows = model.table(tf.constant([6, 0]))
    given = arrays()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        untrained = nn.read_weights(model, session)
        assert session.run(model.table.weight.table.size()) == 0
        nn.load_weights(model, given, session)
        size = len(v1.get_default_graph().get_operations())
        nn.load_weights(model, {**given, "again.weight": given["fc.weight"]}, session)
        found = nn.read_weights(model, session)
        assert len(v1.get_default_graph().get_operations()) == size
        np.testing.assert_array_equal(session.run(rows), given["table.weight"][[6, 0]])
    assert list(found) == list(untrained) == list(model.state_dict())
    assert untrained["table.weight"].all()
    for path, value in (given | {"again.bias": given["fc.bias"]}).items():
        np.testing.assert_array_equal(found[path], value, path)
        assert found[path].dtype == value.dtype


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fc.bias": None}, "there are no values for the weight `fc.bias`"),
        ({"other": np.zeros(1)}, "the model has no weight `other`"),
        ({"fc.bias": np.zeros(3)}, r"`fc.bias` has shape \[2\], but its values have shape \[3\]"),
    ],
)
@pytest.mark.each_case
def test_wrong_values(change: dict[str, Any], words: str) -> None:
    model = Net()
    model.build("m")
    given = {path: value for path, value in (arrays() | change).items() if value is not None}
    with pytest.raises(ValueError, match=words), v1.Session() as session:
        nn.load_weights(model, given, session)
