"""Scores an item by the items of a session: attention over a sequence of uneven length."""

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


def scored(query, keys):
    """Return how well the query fits each key, [batch, length, 1]."""
    length = keys.shape[1]
    wide = paddle.tile(query.unsqueeze(1), [1, length, 1])
    return paddle.sum(wide * keys, axis=2, keepdim=True)


class Attention(nn.Layer):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.norm = nn.LayerNorm(width)
        self.layers = [nn.Linear(width, width), nn.Tanh()]  # not registered: Paddle does not train them

    def forward(self, query, keys, mask):
        for layer in self.layers:
            keys = layer(keys)
        score = scored(query, keys) + mask.astype("float32")
        weight = F.softmax(paddle.transpose(score, [0, 2, 1]) * self.width**-0.5)
        return self.norm(paddle.reshape(paddle.matmul(weight, keys), [0, self.width]))


class SessionModel(nn.Layer):
    def __init__(self, items, width, mode):
        super().__init__()
        self.items = nn.Embedding(items, width)
        self.bias = nn.Embedding(items, 1)
        self.attention = Attention(width)
        self.gru = nn.LSTM(width, width)  # replaced by the next, its weights count for nothing
        self.gru = nn.GRU(width, width)
        self.drop = nn.Dropout(0.25)
        self.norm = nn.BatchNorm1D(width)
        self.towers = nn.LayerDict({"long": nn.Linear(width, width), "short": nn.Linear(width, width)})
        if mode == "plain":
            self.out = nn.Linear(2 * width, 1)
        else:
            self.out = nn.Sequential(nn.Linear(2 * width, 4), nn.ReLU(), nn.Linear(4, 1))

    def forward(self, history, mask, item):
        rows = self.items(history)
        target = self.items(item)
        long = self.towers["long"](self.attention(target, rows, mask))
        _, state = self.gru(rows)
        short = self.towers["short"](self.norm(self.drop(paddle.squeeze(state, axis=0))))
        both = paddle.concat([long * 2, short - target], axis=-1)
        # the matrix of all items stays whole
        every = paddle.matmul(short, self.items.weight, transpose_y=True)
        return self.out(both) + self.bias(item), every
