"""Layers with Paddle's names and meaning on TensorFlow v1 graphs, whose embeddings are tables that grow.

Converted Paddle models import it: `nn.Linear`, `nn.Embedding`, `nn.functional` and so on compute what Paddle computes,
tensors keep Paddle's layout, and weights have Paddle's shapes.
"""

from __future__ import annotations

from runtime.nn import initializer
from runtime.nn.creation import create_parameter
from runtime.nn.embedding import Embedding
from runtime.nn.layer import Layer
from runtime.nn.linear import Identity, Linear
from runtime.nn.param_attr import ParamAttr
from runtime.nn.parameter import Parameter

__all__ = [
    "Embedding",
    "Identity",
    "Layer",
    "Linear",
    "ParamAttr",
    "Parameter",
    "create_parameter",
    "initializer",
]
