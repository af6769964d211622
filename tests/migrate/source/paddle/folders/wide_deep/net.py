"""A wide and deep network over slots of ids."""

import math

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class WideDeep(nn.Layer):
    def __init__(self, vocabulary, width, numbers, slots, sizes, sync_mode=None):
        super(WideDeep, self).__init__()
        self.sync_mode = sync_mode
        self.width = width
        use_sparse = True
        if paddle.is_compiled_with_custom_device("npu"):
            use_sparse = False

        # one table for all slots
        self.embedding = nn.Embedding(
            vocabulary,
            width,
            sparse=use_sparse,
            padding_idx=0,
            weight_attr=paddle.ParamAttr(name="Slots", initializer=nn.initializer.Uniform(-0.3, 0.3)))
        self.wide = paddle.create_parameter(
            shape=[numbers, 1], dtype="float32", default_initializer=nn.initializer.TruncatedNormal(std=0.2))
        widths = [slots * width + numbers] + list(sizes) + [1]
        self._deep = []
        for i in range(len(widths) - 1):
            linear = nn.Linear(
                in_features=widths[i],
                out_features=widths[i + 1],
                weight_attr=paddle.ParamAttr(
                    regularizer=paddle.regularizer.L2Decay(0.01),
                    initializer=nn.initializer.Normal(std=1.0 / math.sqrt(widths[i]))))
            self.add_sublayer("linear_%d" % i, linear)
            self._deep.append(linear)
            if i < len(widths) - 2:
                act = nn.ReLU()
                self.add_sublayer("act_%d" % i, act)
                self._deep.append(act)

    def forward(self, slots, numbers, show_click=None):
        rows = []
        for slot in slots:
            if self.sync_mode == "gpubox":
                row = paddle.static.nn.sparse_embedding(input=slot, size=[1, self.width + 2])
            else:
                row = self.embedding(slot)
            rows.append(paddle.reshape(row, shape=[-1, self.width]))

        y = paddle.concat(x=rows + [numbers], axis=1)
        for layer in self._deep:
            y = layer(y)
        scale = paddle.ones([numbers.shape[0], 1])
        return F.sigmoid(y + paddle.matmul(numbers, self.wide) * scale)
