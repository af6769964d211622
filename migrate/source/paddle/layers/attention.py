"""Attention and the encoder of transformers: layers that are made of others."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Container, Layer, LayerValue, Refuse, Tensor, Value
from migrate.source.paddle.layers.basic import DROPOUT, LINEAR
from migrate.source.paddle.layers.normalization import LAYER_NORM
from migrate.source.paddle.layers.spec import Caller, LayerSpec, Sublayers, called, check_float, positive
from migrate.source.paddle.ops.spec import Arguments


def _projections(bound: Arguments) -> Sublayers:
    size, heads = positive(bound["embed_dim"], "embed_dim"), positive(bound["num_heads"], "num_heads")
    if size % heads:
        raise Refuse(f"the embed_dim {size} cannot be divided into {heads} heads")
    rows = {"q_proj": size, "k_proj": bound["kdim"], "v_proj": bound["vdim"], "out_proj": size}
    attrs = {"weight_attr": bound["weight_attr"], "bias_attr": bound["bias_attr"]}
    return {name: LINEAR.of(size if given is None else given, size, **attrs) for name, given in rows.items()}


def _attention(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    bound = called("forward(query, key=None, value=None, attn_mask=None, cache=None)", positional, keywords)
    query, key = bound["query"], bound["key"]
    if not isinstance(query, Tensor) or bound["cache"] is not None:
        raise Refuse("`nn.MultiHeadAttention` takes tensors, and is supported without a cache")
    check_float(layer, query)
    size, heads = layer.arguments["embed_dim"], layer.arguments["num_heads"]
    if query.shape is not None and (len(query.shape) != 3 or query.shape[2] not in (None, size)):
        raise Refuse(f"the queries of an `nn.MultiHeadAttention` of size {size} have the shape {list(query.shape)}")
    out = Tensor(None if query.shape is None else (*query.shape[:2], size), query.dtype)
    if not layer.arguments["need_weights"]:
        return out
    key = key if isinstance(key, Tensor) else query
    known = query.shape is not None and key.shape is not None
    weights = (query.shape[0], heads, query.shape[1], key.shape[1]) if known else None  # type: ignore[index]
    return out, Tensor(weights, query.dtype)


def _each(attr: Value) -> list[Value]:
    """Return the attributes of the two parts of an encoder layer."""
    if isinstance(attr, (list, tuple)) and len(attr) != 2:
        raise Refuse(f"an `nn.TransformerEncoderLayer` takes one or two attributes, not {len(attr)}")
    return list(attr) if isinstance(attr, (list, tuple)) else [attr, attr]


def _encoder_parts(bound: Arguments) -> Sublayers:
    size, inner = positive(bound["d_model"], "d_model"), positive(bound["dim_feedforward"], "dim_feedforward")
    weights, biases = _each(bound["weight_attr"]), _each(bound["bias_attr"])
    dropped = bound["dropout"]
    inside = [dropped if bound[name] is None else bound[name] for name in ("attn_dropout", "act_dropout")]
    return {
        "self_attn": ATTENTION.of(size, bound["nhead"], inside[0], weight_attr=weights[0], bias_attr=biases[0]),
        "linear1": LINEAR.of(size, inner, weights[1], biases[1]),
        "dropout": DROPOUT.of(inside[1]),
        "linear2": LINEAR.of(inner, size, weights[1], biases[1]),
        "norm1": LAYER_NORM.of(size),
        "norm2": LAYER_NORM.of(size),
        "dropout1": DROPOUT.of(dropped),
        "dropout2": DROPOUT.of(dropped),
    }


def _like_src(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    bound = called("forward(src, src_mask=None, cache=None)", positional, keywords)
    x = bound["src"]
    if not isinstance(x, Tensor) or bound["cache"] is not None:
        raise Refuse(f"`{layer.name}` takes a tensor, and is supported without a cache")
    check_float(layer, x)
    size = layer.arguments.get("encoder_layer", layer).arguments["d_model"]
    if x.shape is not None and (len(x.shape) != 3 or x.shape[2] not in (None, size)):
        raise Refuse(f"the input of `{layer.name}` of size {size} has the shape {list(x.shape)}, which does not fit")
    return Tensor(x.shape, x.dtype)


def _stack(bound: Arguments) -> Sublayers:
    first, count = bound["encoder_layer"], positive(bound["num_layers"], "num_layers")
    if not isinstance(first, Layer) or first.name != ENCODER_LAYER.name:
        raise Refuse("an `nn.TransformerEncoder` is supported for `nn.TransformerEncoderLayer`")
    layers = Container(first.path, first.span, kind="LayerList")
    for i in range(count):
        layers.sublayers[str(i)] = first if i == 0 else ENCODER_LAYER.build(first.arguments)
    norm = bound["norm"]
    return {"layers": layers, **({"norm": norm} if isinstance(norm, LayerValue) else {})}


ATTENTION = LayerSpec(
    "paddle.nn.MultiHeadAttention(embed_dim, num_heads, dropout=0.0, kdim=None, vdim=None, need_weights=False, "
    "weight_attr=None, bias_attr=None)",
    _attention,
    sublayers=_projections,
)
ENCODER_LAYER = LayerSpec(
    "paddle.nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward, dropout=0.1, activation='relu', "
    "attn_dropout=None, act_dropout=None, normalize_before=False, weight_attr=None, bias_attr=None)",
    _like_src,
    sublayers=_encoder_parts,
)
SPECS: tuple[LayerSpec, ...] = (
    ATTENTION,
    ENCODER_LAYER,
    LayerSpec("paddle.nn.TransformerEncoder(encoder_layer, num_layers, norm=None)", _like_src, sublayers=_stack),
)
