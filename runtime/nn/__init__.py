"""Layers with Paddle's names and meaning on TensorFlow v1 graphs, whose embeddings are tables that grow.

Converted Paddle models import it: `nn.Linear`, `nn.Embedding`, `nn.functional` and so on compute what Paddle computes,
tensors keep Paddle's layout, and weights have Paddle's shapes.
"""

from __future__ import annotations

from runtime.nn import functional, initializer, metric, one_hot, optimizer, regularizer, static
from runtime.nn.attention import MultiHeadAttention, TransformerEncoder, TransformerEncoderLayer
from runtime.nn.containers import LayerDict, LayerList, ParameterList, Sequential
from runtime.nn.convolution import Conv1D, Conv2D
from runtime.nn.dropout import Dropout, Dropout2D
from runtime.nn.embedding import Embedding
from runtime.nn.functions import (
    ELU,
    GELU,
    SELU,
    AdaptiveAvgPool1D,
    AdaptiveAvgPool2D,
    AdaptiveMaxPool1D,
    AdaptiveMaxPool2D,
    AvgPool1D,
    AvgPool2D,
    BCELoss,
    BCEWithLogitsLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    Flatten,
    KLDivLoss,
    L1Loss,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    MarginRankingLoss,
    MaxPool1D,
    MaxPool2D,
    MSELoss,
    NLLLoss,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    Silu,
    SmoothL1Loss,
    Softmax,
    Softplus,
    Softsign,
    Swish,
    Tanh,
)
from runtime.nn.layer import Layer
from runtime.nn.linear import Identity, Linear
from runtime.nn.no_grad import no_grad, stopped
from runtime.nn.normalization import BatchNorm, BatchNorm1D, BatchNorm2D, LayerNorm
from runtime.nn.optimizer.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from runtime.nn.recurrent import GRU, LSTM, RNN, BiRNN, GRUCell, LSTMCell, RNNCellBase
from runtime.nn.training import data
from runtime.nn.training.loop import Training, settings
from runtime.nn.weights.arrays import load_weights, read_weights
from runtime.nn.weights.creation import create_parameter
from runtime.nn.weights.param_attr import ParamAttr
from runtime.nn.weights.parameter import Parameter
from runtime.nn.weights.table_rules import TableRules
from runtime.ranks import rank as get_rank
from runtime.ranks import size as get_world_size

__all__ = [
    "ELU",
    "GELU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AvgPool1D",
    "AvgPool2D",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm",
    "BatchNorm1D",
    "BatchNorm2D",
    "BiRNN",
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
    "ClipGradByValue",
    "Conv1D",
    "Conv2D",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout2D",
    "Embedding",
    "Flatten",
    "GRUCell",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "LSTMCell",
    "Layer",
    "LayerDict",
    "LayerList",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1D",
    "MaxPool2D",
    "MultiHeadAttention",
    "NLLLoss",
    "PReLU",
    "ParamAttr",
    "Parameter",
    "ParameterList",
    "RNNCellBase",
    "ReLU",
    "ReLU6",
    "Sequential",
    "Sigmoid",
    "Silu",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Softsign",
    "Swish",
    "TableRules",
    "Tanh",
    "Training",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "create_parameter",
    "data",
    "functional",
    "get_rank",
    "get_world_size",
    "initializer",
    "load_weights",
    "metric",
    "no_grad",
    "one_hot",
    "optimizer",
    "read_weights",
    "regularizer",
    "settings",
    "static",
    "stopped",
]
