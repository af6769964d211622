"""Experts, a gate for each task, and a task whose label needs that of the one before (click, then buy)."""

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

import parts.gates
from parts import Mlp
from parts.sizes import Sizes


class Experts(nn.Layer):
    def __init__(self, vocabularies, sizes: Sizes, tasks, drop):
        super().__init__()
        width, experts, size = sizes.width, sizes.experts, sizes.size
        self.tables = nn.LayerDict()
        for name in sorted(vocabularies):
            self.tables[name] = nn.Embedding(vocabularies[name], width)
        if (total := width * len(vocabularies)) > 1000:
            paddle.set_device("gpu")
        self.mixing = sizes.mixing
        self.experts = nn.LayerList([Mlp([total, size, size], drop, last="relu") for _ in range(experts)])
        self.gates = nn.LayerList(nn.Linear(total, experts, bias_attr=parts.gates.BIAS) for _ in range(tasks))
        for weight in self.gates[0].parameters():
            weight.stop_gradient = True
        self.tables["age"].weight.stop_gradient = True  # given, not learned
        self.towers = nn.LayerList([Mlp([size, 4, 1], prefix="tower_") for _ in range(tasks)])
        self.carry = nn.ParameterList(
            [paddle.create_parameter([size], "float32", default_initializer=nn.initializer.Constant(0.5))
             for _ in range(tasks - 1)])

    def forward(self, slots: dict):
        rows = [self.tables[name](ids) for name, ids in slots.items()]
        x = paddle.concat([paddle.mean(row, axis=1) if row.ndim == 3 else row for row in rows], axis=-1)
        found = paddle.stack([expert(x) for expert in self.experts], axis=1)
        results, before = [], None
        if self.mixing == "softmax":
            mixed_by = parts.gates.mixed
        else:
            mixed_by = paddle.nn.functional.unfold
        for task, (gate, tower) in enumerate(zip(self.gates, self.towers)):
            mixed = mixed_by(found, gate(x))
            if before is not None:
                mixed = mixed + self.carry[task - 1] * before
            before = mixed
            results.append(F.sigmoid(tower(mixed)))
        click, buy = results
        return click, buy, paddle.multiply(click, buy)
