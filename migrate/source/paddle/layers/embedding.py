"""Embeddings: rows of a matrix by their ids."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import Caller, LayerSpec, Weights, one_tensor, positive
from migrate.source.paddle.ops.spec import Arguments


def _weights(bound: Arguments) -> Weights:
    rows, columns = (positive(bound[name], name) for name in ("num_embeddings", "embedding_dim"))
    padding = bound["padding_idx"]
    if padding is not None and not -rows <= padding < rows:
        raise Refuse(f"the padding_idx {padding} is none of the {rows} rows of this embedding")
    return {"weight": Weight((rows, columns), attr=bound["weight_attr"])}


def _call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    x = one_tensor(layer, positional, keywords)
    if x.dtype not in (None, "int32", "int64"):
        raise Refuse(f"the ids of an embedding are {x.dtype}, not integers")
    layer.ids.append(x)
    return Tensor(None if x.shape is None else (*x.shape, layer.arguments["embedding_dim"]), "float32")


SPECS: tuple[LayerSpec, ...] = (
    LayerSpec(
        "paddle.nn.Embedding(num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, "
        "name=None)",
        _call,
        _weights,
    ),
)
