"""Attention of several heads, and the encoders that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from runtime.nn import functional
from runtime.nn.containers import LayerList
from runtime.nn.dropout import Dropout
from runtime.nn.functional.windows import size
from runtime.nn.layer import Layer
from runtime.nn.linear import Linear
from runtime.nn.masks import dropout as dropped
from runtime.nn.normalization import LayerNorm
from runtime.nn.weights.param_attr import attribute


class MultiHeadAttention(Layer):
    """Heads that each weight values by the softmax of products of queries and keys."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        """Describe the four linear layers `q_proj`, `k_proj`, `v_proj` and `out_proj`.

        Args:
            embed_dim: size of queries and outputs, all heads together.
            num_heads: how many heads there are.
            dropout: probability that a weight of a value is dropped while training.
            kdim: size of keys; None: `embed_dim`.
            vdim: size of values; None: `embed_dim`.
            need_weights: whether the weights of values are returned, too.
            weight_attr: how the weights of the layers begin and train.
            bias_attr: the same of their biases; False: there are none.

        Raises:
            ValueError: the size is not divisible by the number of heads.
        """
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"MultiHeadAttention got embed_dim={embed_dim} for num_heads={num_heads}: give a multiple of the heads"
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def forward(self, query: Any, key: Any = None, value: Any = None, attn_mask: Any = None, cache: Any = None) -> Any:
        """Return outputs [batch, queries, embed_dim], with `need_weights` and [batch, heads, queries, keys].

        Args:
            query: [batch, queries, embed_dim].
            key: [batch, keys, kdim]; None: the queries.
            value: [batch, keys, vdim]; None: the queries.
            attn_mask: a shape that broadcasts to [batch, heads, queries, keys]; floats are added to the products, of
                booleans and integers False or 0 leaves a key out; None: all count.
            cache: None.

        Raises:
            ValueError: there is a cache, which is not supported.
        """
        _refuse_cache(cache, "MultiHeadAttention")
        query = tf.convert_to_tensor(query)
        queries = self._heads(self.q_proj(query))
        keys = self._heads(self.k_proj(query if key is None else key))
        values = self._heads(self.v_proj(query if value is None else value))
        products = tf.matmul(queries * tf.constant(self.head_dim**-0.5, queries.dtype), keys, transpose_b=True)
        mask = added_mask(attn_mask, products.dtype)
        weights = functional.softmax(products if mask is None else products + mask)
        if self.dropout:
            weights = dropped(weights, self.dropout, training=self.training)
        out = tf.transpose(tf.matmul(weights, values), [0, 2, 1, 3])
        out = self.out_proj(tf.reshape(out, [size(out, 0), size(out, 1), self.embed_dim]))
        return (out, weights) if self.need_weights else out

    def _heads(self, x: tf.Tensor) -> tf.Tensor:
        shape = [size(x, 0), size(x, 1), self.num_heads, self.head_dim]
        return tf.transpose(tf.reshape(x, shape), [0, 2, 1, 3])


def added_mask(mask: Any, dtype: tf.DType) -> tf.Tensor | None:
    """Return what a mask adds to products: floats as they are; of booleans and integers -1e9 for False and 0."""
    if mask is None:
        return None
    mask = tf.convert_to_tensor(mask)
    if mask.dtype == tf.bool or mask.dtype.is_integer:
        return (tf.cast(mask, dtype) - 1.0) * 1e9
    return tf.cast(mask, dtype)


class TransformerEncoderLayer(Layer):
    """Attention of inputs to each other and a network of two linear layers, each added to its input and normalized."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        """Describe the layers.

        Args:
            d_model: size of inputs and outputs.
            nhead: how many heads there are.
            dim_feedforward: size between the two linear layers.
            dropout: probability that an element is dropped before each addition, while training.
            activation: name of a function of `nn.functional` between the two linear layers.
            attn_dropout: probability that a weight of a value is dropped; None: `dropout`.
            act_dropout: probability that an element between the linear layers is dropped; None: `dropout`.
            normalize_before: whether inputs are normalized instead of sums.
            weight_attr: how weights begin and train; of two, the first is that of the attention.
            bias_attr: the same of biases; False: there are none.

        Raises:
            ValueError: sizes do not fit, or there are not two of a sequence.
        """
        config = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()
        self._config = config
        weights, biases = _each(weight_attr, "weight_attr"), _each(bias_attr, "bias_attr")
        self.normalize_before = normalize_before
        self.self_attn = MultiHeadAttention(
            d_model,
            nhead,
            dropout if attn_dropout is None else attn_dropout,
            weight_attr=weights[0],
            bias_attr=biases[0],
        )
        self.linear1 = Linear(d_model, dim_feedforward, weights[1], biases[1])
        self.dropout = Dropout(dropout if act_dropout is None else act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, weights[1], biases[1])
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _function(activation)

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> tf.Tensor:
        """Return outputs [batch, length, d_model] of inputs of the same shape; the mask is as of the attention."""
        _refuse_cache(cache, "TransformerEncoderLayer")
        x = tf.convert_to_tensor(src)
        before = self.norm1(x) if self.normalize_before else x
        x = x + self.dropout1(self.self_attn(before, before, before, added_mask(src_mask, x.dtype)))
        x = x if self.normalize_before else self.norm1(x)
        before = self.norm2(x) if self.normalize_before else x
        x = x + self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(before)))))
        return x if self.normalize_before else self.norm2(x)


class TransformerEncoder(Layer):
    """Several encoder layers, one after the other."""

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        """Keep a layer and describe others that are made as it was.

        Args:
            encoder_layer: the first layer.
            num_layers: how many layers there are.
            norm: a layer that the last output goes through, or None.
        """
        super().__init__()
        others = [type(encoder_layer)(**encoder_layer._config) for _ in range(num_layers - 1)]
        self.layers = LayerList([encoder_layer, *others])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        """Return outputs [batch, length, d_model] of inputs of the same shape; the mask is as of the attention."""
        _refuse_cache(cache, "TransformerEncoder")
        x = tf.convert_to_tensor(src)
        mask = added_mask(src_mask, x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return x if self.norm is None else self.norm(x)


def _each(attr: Any, name: str) -> list[Any]:
    """Return the attributes of the two parts of a layer; a name becomes two."""
    if isinstance(attr, Sequence) and not isinstance(attr, str):
        if len(attr) != 2:
            raise ValueError(f"TransformerEncoderLayer got {len(attr)} of {name}: give one or two")
        return list(attr)
    if attr is None or isinstance(attr, bool):
        return [attr] * 2
    settings = attribute(attr)
    return [replace(settings, name=settings.name and f"{settings.name}_{number}") for number in range(2)]


def _function(name: str) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return the function of `nn.functional` with this name."""
    function: Callable[[tf.Tensor], tf.Tensor] | None = getattr(functional, name, None)
    if function is None:
        raise ValueError(f"the activation {name!r} is none of nn.functional: give another one, such as relu")
    return function


def _refuse_cache(cache: Any, kind: str) -> None:
    if cache is not None:
        raise ValueError(f"{kind} got a cache, which is not supported: compute the whole sequence, without it")
