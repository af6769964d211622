"""A plain feed-forward network for one task."""

import math

import paddle
from paddle import nn
from paddle.nn import Linear, ReLU


class DNNLayer(nn.Layer):
    def __init__(self, feature_size, layer_sizes, wide=True):
        super().__init__()
        self.wide = wide
        sizes = [feature_size] + list(layer_sizes) + [1]
        acts = ["relu" for _ in range(len(layer_sizes))] + [None]
        self._mlp_layers = []
        for i in range(len(layer_sizes) + 1):
            linear = Linear(
                in_features=sizes[i],
                out_features=sizes[i + 1],
                weight_attr=paddle.ParamAttr(initializer=nn.initializer.Normal(std=1.0 / math.sqrt(sizes[i]))),
            )
            self.add_sublayer("linear_%d" % i, linear)
            self._mlp_layers.append(linear)
            if acts[i] == "relu":
                act = ReLU()
                self.add_sublayer("act_%d" % i, act)
                self._mlp_layers.append(act)
        if self.wide:
            self.linear = nn.Linear(feature_size, 1, weight_attr=nn.initializer.Uniform())

    def forward(self, input_data):
        y = input_data
        for layer in self._mlp_layers:
            y = layer(y)
        if self.wide:
            y += self.linear(input_data)
        return paddle.nn.functional.sigmoid(y)
