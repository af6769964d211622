"""Layers with Paddle's names and meaning on TensorFlow v1 graphs, whose embeddings are tables that grow.

Converted Paddle models import it: `nn.Linear`, `nn.Embedding`, `nn.functional` and so on compute what Paddle computes,
tensors keep Paddle's layout, and weights have Paddle's shapes.
"""

from __future__ import annotations

from runtime.nn import functional, initializer
from runtime.nn.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Flatten,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    Silu,
    Softmax,
    Softplus,
    Softshrink,
    Softsign,
    Swish,
    Tanh,
    Tanhshrink,
    ThresholdedReLU,
)
from runtime.nn.containers import LayerDict, LayerList, ParameterList, Sequential
from runtime.nn.creation import create_parameter
from runtime.nn.dropout import Dropout, Dropout2D
from runtime.nn.embedding import Embedding
from runtime.nn.layer import Layer
from runtime.nn.linear import Identity, Linear
from runtime.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from runtime.nn.param_attr import ParamAttr
from runtime.nn.parameter import Parameter
from runtime.nn.weights import load_weights, read_weights

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout2D",
    "Embedding",
    "Flatten",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "Layer",
    "LayerDict",
    "LayerList",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "Mish",
    "NLLLoss",
    "PReLU",
    "ParamAttr",
    "Parameter",
    "ParameterList",
    "ReLU",
    "ReLU6",
    "Sequential",
    "Sigmoid",
    "Silu",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Swish",
    "Tanh",
    "Tanhshrink",
    "ThresholdedReLU",
    "create_parameter",
    "functional",
    "initializer",
    "load_weights",
    "read_weights",
]
