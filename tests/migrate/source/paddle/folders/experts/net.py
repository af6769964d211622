"""Experts, a gate for each task, and a task whose label needs that of the one before (click, then buy)."""

from collections import OrderedDict

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Mlp(nn.Layer):
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
        self.names = list(parts)
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        for name in self.names:
            x = getattr(self, name)(x)
        return x


class Experts(nn.Layer):
    def __init__(self, vocabularies, width, experts, size, tasks, drop):
        super().__init__()
        self.tables = nn.LayerDict()
        for name in sorted(vocabularies):
            self.tables[name] = nn.Embedding(vocabularies[name], width)
        total = width * len(vocabularies)
        self.experts = nn.LayerList([Mlp([total, size, size], drop, last="relu") for _ in range(experts)])
        self.gates = nn.LayerList(nn.Linear(total, experts, bias_attr=False) for _ in range(tasks))
        self.towers = nn.LayerList([Mlp([size, 4, 1], prefix="tower_") for _ in range(tasks)])
        self.carry = nn.ParameterList(
            [paddle.create_parameter([size], "float32", default_initializer=nn.initializer.Constant(0.5))
             for _ in range(tasks - 1)])

    def forward(self, slots: dict):
        rows = [self.tables[name](ids) for name, ids in slots.items()]
        x = paddle.concat([paddle.mean(row, axis=1) if row.ndim == 3 else row for row in rows], axis=-1)
        found = paddle.stack([expert(x) for expert in self.experts], axis=1)
        results, before = [], None
        for task, (gate, tower) in enumerate(zip(self.gates, self.towers)):
            weight = F.softmax(gate(x), axis=1).unsqueeze(2)
            mixed = paddle.sum(found * weight, axis=1)
            if before is not None:
                mixed = mixed + self.carry[task - 1] * before
            before = mixed
            results.append(F.sigmoid(tower(mixed)))
        click, buy = results
        return click, buy, paddle.multiply(click, buy)
