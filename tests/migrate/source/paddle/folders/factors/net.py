"""Pairs of factors, crossed features and a compressed interaction network over one table of rows."""

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.nn.initializer import Constant, Normal, XavierUniform


class FirstOrder(nn.Layer):
    def __init__(self, size, numbers):
        super(FirstOrder, self).__init__()
        self.one = nn.Embedding(size, 1, padding_idx=0, sparse=True, weight_attr=paddle.ParamAttr(
            initializer=nn.initializer.TruncatedNormal(mean=0.0, std=0.1)))
        self.dense_one = paddle.create_parameter(
            [numbers], "float32", default_initializer=paddle.nn.initializer.Constant(value=1.0))

    def forward(self, ids, dense):
        slots = self.one(ids)
        dense = paddle.multiply(dense, self.dense_one)
        return paddle.sum(slots, axis=1) + paddle.sum(dense, 1, keepdim=True)


class Pairs(nn.Layer):
    def __init__(self, size, width, numbers):
        super(Pairs, self).__init__()
        self.width = width
        self.rows = nn.Embedding(size, width, padding_idx=0, sparse=True, weight_attr=paddle.ParamAttr(
            initializer=Normal(0.0, 0.2)))
        self.dense_rows = self.create_parameter(
            shape=[1, numbers, width], default_initializer=Normal(std=0.2))

    def forward(self, ids, dense):
        rows = self.rows(ids)
        dense = paddle.multiply(paddle.unsqueeze(dense, axis=2), self.dense_rows)
        every = paddle.concat([rows, dense], axis=1)
        square_of_sum = paddle.square(paddle.sum(every, 1))
        sum_of_square = paddle.sum(every * every, 1)
        return 0.5 * paddle.sum(square_of_sum - sum_of_square, 1, keepdim=True), every


class Cross(nn.Layer):
    """x0 * (x w) + b + x, several times."""

    def __init__(self, width, depth):
        super().__init__()
        self.depth = depth
        self.w = self.create_parameter(shape=[width], attr=paddle.ParamAttr(
            initializer=Normal(std=0.3), regularizer=paddle.regularizer.L2Decay(coeff=0.02)))
        self.b = self.create_parameter(shape=[width], is_bias=True)

    def forward(self, x0):
        x = x0
        for _ in range(self.depth):
            x = x0 * paddle.sum(x * self.w, axis=-1, keepdim=True) + self.b + x
        return x


class Compressed(nn.Layer):
    def __init__(self, fields, sizes):
        super().__init__()
        self.fields, last = fields, fields
        self.layers = []
        for i, size in enumerate(sizes):
            conv = nn.Conv2D(last * fields, size, kernel_size=(1, 1), bias_attr=None, weight_attr=paddle.ParamAttr(
                initializer=Normal(std=1.0 / np.sqrt(last * fields))))
            self.add_sublayer("cin_{}".format(i), conv)
            self.layers.append(conv)
            last = size
        self.out = nn.Linear(sum(sizes), 1, weight_attr=paddle.ParamAttr(initializer=XavierUniform()))

    def forward(self, every):
        width = every.shape[-1]
        first = last = paddle.transpose(every, [0, 2, 1])
        found = []
        for layer in self.layers:
            left = paddle.reshape(first, [-1, width, self.fields, 1])
            right = paddle.reshape(last, [-1, width, 1, last.shape[-1]])
            outer = paddle.matmul(left, right)
            outer = paddle.reshape(outer, [-1, width, outer.shape[2] * outer.shape[3], 1])
            outer = layer(paddle.transpose(outer, perm=[0, 2, 1, 3]))
            last = paddle.transpose(paddle.squeeze(outer, axis=-1), [0, 2, 1])
            found.append(paddle.sum(last, axis=1))
        return self.out(paddle.concat(found, axis=1))


class Factors(nn.Layer):
    def __init__(self, size, width, slots, numbers, depth, sizes, hidden):
        super(Factors, self).__init__()
        fields = slots + numbers
        self.linear, self.pairs = FirstOrder(size, numbers), Pairs(size, width, numbers)
        self.cross, self.compressed = Cross(fields * width, depth), Compressed(fields, sizes)
        deep = []
        for n_in, n_out in zip([fields * width] + hidden[:-1], hidden):
            deep += [nn.Linear(n_in, n_out), nn.ReLU() if n_out > 4 else nn.Tanh()]
        self.deep = nn.Sequential(*deep)
        self.last = nn.Linear(fields * width + hidden[-1], 1, bias_attr=paddle.ParamAttr(initializer=Constant(0.1)))

    def forward(self, sparse_inputs, dense):
        ids = paddle.concat(sparse_inputs, axis=1)
        linear = self.linear(ids, dense)
        pairs, every = self.pairs(ids, dense)
        flat = paddle.flatten(every, start_axis=1)
        both = paddle.concat([self.cross(flat), self.deep(flat)], axis=-1)
        return F.sigmoid(linear + pairs + self.compressed(every) + self.last(both))
