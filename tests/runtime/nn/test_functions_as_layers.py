"""Layers that call one function of `nn.functional`, beside Paddle's: which function it is, and its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest

from runtime import nn
from tests.support.paddle.twins import compare

pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4, 6)).astype(np.float32) * 2

ACTIVATIONS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((name, (), {}) for name in ("ReLU", "ReLU6", "Sigmoid", "LogSigmoid", "Tanh", "Silu", "Swish", "Softsign")),
    *((name, (), {}) for name in ("ELU", "GELU", "SELU", "LeakyReLU", "Softplus", "Softmax", "LogSoftmax", "PReLU")),
    *((name, (), {}) for name in ("Tanhshrink", "Hardsigmoid", "Hardswish", "Mish", "CELU", "Hardtanh", "GLU")),
    *((name, (), {}) for name in ("Hardshrink", "Softshrink", "ThresholdedReLU")),
    ("ELU", (0.5,), {}),
    ("GELU", (True,), {}),
    ("SELU", (1.5, 2.0), {}),
    ("CELU", (0.5,), {}),
    ("LeakyReLU", (), {"negative_slope": 0.3}),
    ("Softplus", (), {"beta": 2, "threshold": 1}),
    ("Softshrink", (0.3,), {}),
    ("Hardshrink", (0.3,), {}),
    ("Hardtanh", (-0.5, 0.7), {}),
    ("ThresholdedReLU", (0.5,), {}),
    ("Softmax", (1,), {}),
    ("LogSoftmax", (), {"axis": 0}),
    ("GLU", (1,), {}),
    ("Flatten", (), {}),
    ("Flatten", (0, 1), {}),
    ("PReLU", (4, 0.5), {}),
    ("PReLU", (6,), {"data_format": "NLC"}),
]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.each_case
def test_activations(named: bool) -> None:
    """All in one model, since a model is one graph."""

    def make(of: Any) -> Any:
        class Each(of.Layer):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                made = [
                    getattr(of, name)(*arguments, **keywords, **({"name": "n"} if named and name != "Flatten" else {}))
                    for name, arguments, keywords in ACTIVATIONS
                ]
                self.each = of.LayerList(made)

            def forward(self, x: Any) -> Any:
                return [layer(x) for layer in self.each]

        return Each()

    compare(make, X)


def probabilities(*shape: int) -> Any:
    return RANDOM.uniform(0.05, 0.95, shape).astype(np.float32)


def weight(of: Any, *shape: int) -> Any:
    values = np.linspace(0.5, 2, int(np.prod(shape))).reshape(shape).astype(np.float32)
    return paddle.to_tensor(values) if of is paddle.nn else nn.initializer.Assign(values)(shape)


LOSSES: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("BCELoss", {}, (probabilities(5, 2), probabilities(5, 2).round())),
    ("BCELoss", {"reduction": "none", "weight": (5, 2)}, (probabilities(5, 2), probabilities(5, 2))),
    ("BCEWithLogitsLoss", {}, (X[0], probabilities(4, 6))),
    ("BCEWithLogitsLoss", {"reduction": "sum", "weight": (6,), "pos_weight": (6,)}, (X[0], probabilities(4, 6))),
    ("CrossEntropyLoss", {}, (X[0], RANDOM.integers(0, 6, (4, 1)))),
    ("CrossEntropyLoss", {"ignore_index": 1, "weight": (6,)}, (X[0], np.array([0, 1, 5, 2]))),
    ("CrossEntropyLoss", {"soft_label": True, "reduction": "none"}, (X[0], np.full([4, 6], 1 / 6, np.float32))),
    ("CrossEntropyLoss", {"axis": 1, "reduction": "sum"}, (X, RANDOM.integers(0, 4, (3, 6)))),
    ("MSELoss", {}, (X[0], X[1])),
    ("MSELoss", {"reduction": "none"}, (X[0], X[1])),
    ("L1Loss", {"reduction": "sum"}, (X[0], X[1])),
    ("SmoothL1Loss", {"delta": 0.5}, (X[0], X[1])),
    ("NLLLoss", {"weight": (6,)}, (X[0], RANDOM.integers(0, 6, 4))),
    ("KLDivLoss", {}, (np.log(probabilities(3, 2)), probabilities(3, 2))),
    ("KLDivLoss", {"reduction": "batchmean"}, (np.log(probabilities(3, 2)), probabilities(3, 2))),
    ("MarginRankingLoss", {"margin": 0.3}, (X[0], X[1], np.sign(X[2]))),
]


@pytest.mark.parametrize(("name", "arguments", "inputs"), LOSSES)
@pytest.mark.each_case
def test_losses(name: str, arguments: dict[str, Any], inputs: tuple[Any, ...]) -> None:
    def make(of: Any) -> Any:
        given = {
            key: weight(of, *value) if key in ("weight", "pos_weight") else value for key, value in arguments.items()
        }
        return getattr(of, name)(**given)

    compare(make, *inputs, constant=[len(inputs) - 1])
