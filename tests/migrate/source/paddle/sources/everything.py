"""No known model: one use of every call of the table."""

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

WIDTH = 6


def halves(x, parts=2):
    return paddle.split(x, parts, axis=1)


class Block(nn.Layer):
    def __init__(self, in_size, out_size, act="tanh"):
        super().__init__()
        self.fc = nn.Linear(in_size, out_size, weight_attr=nn.initializer.XavierNormal())
        self.act = {"tanh": nn.Tanh(), "sigmoid": nn.Sigmoid(), "softmax": nn.Softmax(axis=-1)}[act]

    def forward(self, x):
        return self.act(self.fc(x))


class EverythingLayer(nn.Layer):
    def __init__(self, feature_size):
        super().__init__()
        start = nn.initializer.KaimingUniform()
        self.first = nn.Linear(feature_size, WIDTH, weight_attr=start)
        self.blocks = nn.LayerList([Block(WIDTH, WIDTH, act) for act in ("tanh", "sigmoid", "softmax")])
        self.more = [self.add_sublayer("m%d" % i, nn.Linear(WIDTH, WIDTH)) for i in range(3)]
        self.deep = nn.Linear(WIDTH, 2, weight_attr=nn.initializer.TruncatedNormal(std=0.2))
        self.squash = F.tanh
        self.out = nn.Linear(WIDTH * 2, 2, bias_attr=False)

    def forward(self, input_data):
        x = self.squash(self.first(input_data))
        stacked = paddle.stack([block(x) for block in self.blocks], axis=1)
        total = paddle.add(stacked.mean(axis=1), paddle.sum(stacked, axis=[1], keepdim=False))
        left, right = halves(total)
        both = paddle.concat([right, left], axis=-1) * 0.5 - paddle.scale(x, 2.0, bias=0.25)
        wide = paddle.unsqueeze(both, axis=1)
        scores = paddle.matmul(wide, paddle.stack([m(x) for m in self.more], 1), transpose_y=True)
        scores = F.softmax(scores.squeeze(axis=1) / 2)
        mixed = paddle.matmul(paddle.transpose(paddle.unsqueeze(scores, 2), [0, 2, 1]), stacked)
        mixed = paddle.reshape(mixed, shape=(-1, total.shape[1]))
        powers = paddle.exp(-paddle.square(mixed)) + paddle.sqrt(paddle.divide(x * x + 1.0, y=x**2 + 2.0))
        logs = paddle.log(paddle.clip(powers, 0.2, max=1.5)) + sum([x, mixed])
        tail = paddle.slice(logs, axes=[1], starts=[2], ends=[5])
        last = paddle.concat([tail, tail[:, 0:1], paddle.subtract(tail, x[:, -3:])[:, :2]], 1)
        second = F.softmax(self.deep(paddle.add_n([x, last])), axis=1)
        return [F.softmax(self.out(paddle.concat([last, paddle.cast(mixed, "float32")], axis=1))), second]
