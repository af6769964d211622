"""A transformer over what a user did, with positions, masks and a target item."""

import copy

import paddle
import paddle.nn as nn
from paddle.nn import functional as F


def copies(layer, count):
    return nn.LayerList([copy.deepcopy(layer) for _ in range(count)])


class Block(nn.Layer):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.attend = nn.MultiHeadAttention(embed_dim=width, num_heads=heads, dropout=drop)
        self.norm1, self.norm2 = nn.LayerNorm(width, epsilon=1e-5), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, mask=None):
        y = self.norm1(x + self.attend(x, x, x, attn_mask=mask))
        return self.norm2(y + self.narrow(F.gelu(self.wide(y))))


class Behaviour(nn.Layer):
    def __init__(self, items, kinds, length, width=4, heads=2, blocks=2, drop=0.0):
        super().__init__()
        self.length, self.heads = length, heads
        init = nn.initializer.TruncatedNormal(0.0, 0.3)
        self.item = nn.Embedding(items, width, weight_attr=init)
        self.kind = nn.Embedding(kinds, width, weight_attr=init)
        self.position = nn.Embedding(length + 1, width, weight_attr=init)
        self.blocks = nn.LayerList([Block(width, heads, drop) for _ in range(blocks)])
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, 6, dropout=drop, activation="relu"), 1)
        self.out = nn.Linear((length + 1) * width, 1)

    def forward(self, history, kinds, target):
        ids = paddle.concat([history, target], axis=1)
        steps = paddle.arange(self.length + 1, dtype="int64").unsqueeze(0).expand_as(ids)
        rows = self.item(ids) + self.position(steps)
        rows = rows + F.pad(self.kind(kinds), [0, 1], data_format="NLC")
        empty = (ids == 0).astype("float32") * -1e9
        mask = empty.unsqueeze([1, 2])
        for block in self.blocks:
            rows = block(rows, mask)
        rows = self.encoder(rows, mask)
        rows = paddle.where((ids == 0).unsqueeze(-1), paddle.zeros_like(rows), rows)
        return self.out(paddle.flatten(rows, 1, 2))
