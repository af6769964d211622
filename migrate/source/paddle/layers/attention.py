"""Attention and the encoder of transformers: layers that are made of others."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import LayerSpec, Weights, called, positive
from migrate.source.paddle.ops.spec import Arguments


def _projections(prefix: str, size: int, keys: int, values: int, bound: Arguments) -> Weights:
    found: Weights = {}
    for name, rows in (("q_proj", size), ("k_proj", keys), ("v_proj", values), ("out_proj", size)):
        found[f"{prefix}{name}.weight"] = Weight((rows, size), attr=bound["weight_attr"])
        if bound["bias_attr"] is not False:
            found[f"{prefix}{name}.bias"] = Weight((size,), attr=bound["bias_attr"])
    return found


def _attention_weights(bound: Arguments) -> Weights:
    size = positive(bound["embed_dim"], "embed_dim")
    return _projections("", size, bound["kdim"] or size, bound["vdim"] or size, bound)


def _attention(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    bound = called("forward(query, key=None, value=None, attn_mask=None, cache=None)", positional, keywords)
    query = bound["query"]
    if not isinstance(query, Tensor) or bound["cache"] is not None or layer.arguments["need_weights"]:
        raise Refuse("`nn.MultiHeadAttention` is supported without a cache and without returning its weights")
    return Tensor(None if query.shape is None else (*query.shape[:-1], layer.arguments["embed_dim"]), query.dtype)


def _encoder_weights(bound: Arguments) -> Weights:
    size, inner = positive(bound["d_model"], "d_model"), positive(bound["dim_feedforward"], "dim_feedforward")
    found = _projections("self_attn.", size, size, size, bound)
    for name, rows, columns in (("linear1", size, inner), ("linear2", inner, size)):
        found[f"{name}.weight"] = Weight((rows, columns), attr=bound["weight_attr"])
        if bound["bias_attr"] is not False:
            found[f"{name}.bias"] = Weight((columns,), attr=bound["bias_attr"])
    for name in ("norm1", "norm2"):
        found |= {f"{name}.weight": Weight((size,)), f"{name}.bias": Weight((size,))}
    return found


def _encoder(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    bound = called("forward(src, src_mask=None, cache=None)", positional, keywords)
    if not isinstance(bound["src"], Tensor) or bound["cache"] is not None:
        raise Refuse("`nn.TransformerEncoderLayer` is supported without a cache")
    return Tensor(bound["src"].shape, bound["src"].dtype)


SPECS: tuple[LayerSpec, ...] = (
    LayerSpec(
        "paddle.nn.MultiHeadAttention(embed_dim, num_heads, dropout=0.0, kdim=None, vdim=None, need_weights=False, "
        "weight_attr=None, bias_attr=None)",
        _attention,
        _attention_weights,
    ),
    LayerSpec(
        "paddle.nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward, dropout=0.1, activation='relu', "
        "attn_dropout=None, act_dropout=None, normalize_before=False, weight_attr=None, bias_attr=None)",
        _encoder,
        _encoder_weights,
    ),
)
