"""Weights of a model as arrays by path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn.weights import arrays as module

v1 = tf.compat.v1
pytestmark = pytest.mark.usefixtures("graph")


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
