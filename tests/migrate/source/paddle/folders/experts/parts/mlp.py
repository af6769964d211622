"""Layers one after the other, with norms between them."""

from collections import OrderedDict

import paddle
import paddle.nn as nn

from .chains.base import Chain


class Mlp(Chain):
    def __init__(self, sizes, drop=0.0, last=None, prefix=""):
        super().__init__()
        parts = OrderedDict()
        for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
            parts[f"{prefix}fc_{i}"] = nn.Linear(before, after, weight_attr=paddle.ParamAttr(
                initializer=nn.initializer.KaimingNormal()))
            if i + 2 < len(sizes) or last == "relu":
                parts[f"{prefix}norm_{i}"] = nn.BatchNorm1D(after, momentum=0.8, epsilon=1e-4)
                parts[f"{prefix}act_{i}"] = nn.PReLU() if i % 2 else nn.ReLU6()
                if drop:
                    parts[f"{prefix}drop_{i}"] = nn.Dropout(p=drop, mode="upscale_in_train")
        self.add(parts)
