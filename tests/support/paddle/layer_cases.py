"""Constructions of layers with inputs, and programs of one layer each.

An operand is named as in `op_examples`: `f_2_3` is float32 [2, 3], `i_2_3` int64.
"""

from __future__ import annotations

import textwrap

#: A constructor -> the arguments of calls.
CASES: dict[str, tuple[str, ...]] = {
    "nn.Linear(3, 4)": ("f_2_3", "input=f_2_5_3"),
    "nn.Linear(in_features=3, out_features=4, bias_attr=False)": ("f_2_3",),
    "nn.Linear(3, 1, weight_attr=paddle.ParamAttr(name=None), bias_attr=None, name='a')": ("f_2_3",),
    "nn.Embedding(7, 4)": ("i_2", "i_2_3", "j_2_3_1", "i_s"),
    "nn.Embedding(7, 1, padding_idx=0, sparse=True)": ("i_2_1",),
    "nn.Embedding(num_embeddings=7, embedding_dim=2, padding_idx=-1)": ("x=i_2_1",),
    "nn.Dropout()": ("f_2_3",),
    "nn.Dropout(p=0.3, axis=0, mode='downscale_in_infer')": ("input=f_2_3",),
    "nn.Dropout2D(0.5)": ("f_2_3_4_4",),
    "nn.Identity()": ("i_2_3", "f_2"),
    "nn.Identity(3)": ("f_2",),
    "nn.Flatten()": ("f_2_3_4", "f_2_3"),
    "nn.Flatten(start_axis=0, stop_axis=1)": ("f_2_3_4",),
    "nn.CosineSimilarity()": ("f_2_3, f_2_3", "x1=f_2_3_4, x2=f_2_3_4"),
    "nn.CosineSimilarity(axis=-1, eps=1e-6)": ("f_2_3_4, f_2_3_4",),
    "nn.ReLU()": ("f_2_3", "x=d_2"),
    "nn.ReLU6()": ("f_2_3",),
    "nn.Sigmoid()": ("f_2_3",),
    "nn.LogSigmoid()": ("f_2_3",),
    "nn.Tanh()": ("f_2_3", "f_s"),
    "nn.Tanhshrink()": ("f_2_3",),
    "nn.Hardsigmoid()": ("f_2_3",),
    "nn.Hardswish()": ("f_2_3",),
    "nn.Silu()": ("f_2_3",),
    "nn.Swish()": ("f_2_3",),
    "nn.Mish()": ("f_2_3",),
    "nn.Softsign()": ("f_2_3",),
    "nn.ELU(0.5)": ("f_2_3",),
    "nn.CELU(alpha=0.5)": ("f_2_3",),
    "nn.GELU(approximate=True)": ("f_2_3",),
    "nn.SELU()": ("f_2_3",),
    "nn.LeakyReLU(0.2)": ("f_2_3",),
    "nn.Softplus(2, threshold=10)": ("f_2_3",),
    "nn.Hardtanh(-2.0, 2.0)": ("f_2_3",),
    "nn.Hardshrink()": ("f_2_3",),
    "nn.Softshrink(0.3)": ("f_2_3",),
    "nn.ThresholdedReLU()": ("f_2_3",),
    "nn.Softmax(axis=1)": ("f_2_3_4",),
    "nn.LogSoftmax()": ("f_2_3",),
    "nn.GLU()": ("f_2_4",),
    "nn.GLU(axis=1)": ("f_2_6_3",),
    "nn.PReLU()": ("f_2_3",),
    "nn.PReLU(3, init=0.1)": ("f_2_3_4_4", "f_2_3"),
    "nn.PReLU(4, data_format='NHWC')": ("f_2_3_3_4",),
    "nn.BatchNorm(3)": ("f_2_3", "f_2_3_4", "f_2_3_4_4"),
    "nn.BatchNorm(3, act='relu', momentum=0.8, param_attr=paddle.ParamAttr(), bias_attr=False)": ("input=f_2_3",),
    "nn.BatchNorm(4, data_layout='NHWC')": ("f_2_3_3_4",),
    "nn.BatchNorm1D(3)": ("f_2_3", "f_2_3_4"),
    "nn.BatchNorm1D(4, data_format='NLC', weight_attr=False)": ("f_2_3_4",),
    "nn.BatchNorm1D(num_features=3, bias_attr=False, use_global_stats=True)": ("f_2_3",),
    "nn.BatchNorm2D(3, epsilon=1e-3)": ("f_2_3_4_4",),
    "nn.BatchNorm2D(4, data_format='NHWC')": ("f_2_3_3_4",),
    "nn.InstanceNorm1D(3)": ("f_2_3_4",),
    "nn.InstanceNorm2D(3, weight_attr=False, bias_attr=False)": ("f_2_3_4_4",),
    "nn.LayerNorm(3)": ("f_2_3", "f_2_4_3"),
    "nn.LayerNorm([4, 3], epsilon=1e-6, weight_attr=False)": ("f_2_4_3",),
    "nn.LayerNorm(normalized_shape=[3], bias_attr=False)": ("f_2_3",),
    "nn.Conv1D(3, 4, 2)": ("f_2_3_5",),
    "nn.Conv1D(4, 6, kernel_size=3, stride=2, padding=2, dilation=2, groups=2)": ("f_2_4_9",),
    "nn.Conv1D(3, 4, 3, padding='same')": ("f_2_3_5",),
    "nn.Conv1D(3, 4, [2], padding='VALID', bias_attr=False, data_format='NLC')": ("f_2_5_3",),
    "nn.Conv1D(3, 4, 3, padding=[1, 2])": ("f_2_3_5",),
    "nn.Conv1D(3, 4, 3, padding=[1])": ("f_2_3_5",),
    "nn.Conv1D(3, 4, 3, padding=1, padding_mode='circular')": ("f_2_3_5",),
    "nn.Conv2D(3, 4, 3)": ("f_2_3_5_6",),
    "nn.Conv2D(in_channels=3, out_channels=4, kernel_size=(3, 2), stride=[2, 1], padding=[1, 0])": ("x=f_2_3_5_6",),
    "nn.Conv2D(3, 4, [1, 3], padding='SAME', stride=2)": ("f_2_3_5_6",),
    "nn.Conv2D(3, 4, 3, padding=[0, 1, 2, 1])": ("f_2_3_5_6",),
    "nn.Conv2D(3, 4, 3, padding=[[0, 0], [0, 0], [1, 0], [2, 1]])": ("f_2_3_5_6",),
    "nn.Conv2D(3, 4, 3, padding=[[0, 0], [1, 0], [2, 1], [0, 0]], data_format='NHWC')": ("f_2_5_6_3",),
    "nn.MaxPool1D(2)": ("f_2_3_5",),
    "nn.MaxPool1D(kernel_size=3, stride=2, padding=1, ceil_mode=True)": ("f_2_3_6",),
    "nn.MaxPool2D(2)": ("f_2_3_5_6",),
    "nn.MaxPool2D([3, 2], stride=[2, 1], padding=1)": ("x=f_2_3_5_6",),
    "nn.MaxPool2D(2, data_format='NHWC')": ("f_2_5_6_3",),
    "nn.MaxPool2D(3, 2, 'SAME')": ("f_2_3_5_6",),
    "nn.AvgPool1D(2, stride=1, exclusive=False)": ("f_2_3_5",),
    "nn.AvgPool2D(kernel_size=3, stride=2, ceil_mode=True)": ("f_2_3_6_6",),
    "nn.AvgPool2D(2, divisor_override=3, data_format='NHWC')": ("f_2_5_6_3",),
    "nn.AdaptiveMaxPool1D(2)": ("f_2_3_5",),
    "nn.AdaptiveMaxPool2D([2, None])": ("f_2_3_5_6",),
    "nn.AdaptiveAvgPool1D(2)": ("f_2_3_5",),
    "nn.AdaptiveAvgPool2D((3, 2))": ("f_2_3_5_6",),
    "nn.AdaptiveAvgPool2D(2, data_format='NHWC')": ("f_2_5_6_3",),
    "nn.SimpleRNNCell(3, 4)": ("f_2_3", "inputs=f_2_3, states=f_2_4"),
    "nn.SimpleRNNCell(3, 4, 'relu', bias_ih_attr=False)": ("f_2_3",),
    "nn.LSTMCell(3, hidden_size=4)": ("f_2_3", "f_2_3, (f_2_4, f_2_4)"),
    "nn.GRUCell(input_size=3, hidden_size=4, bias_hh_attr=False)": ("f_2_3", "f_2_3, f_2_4"),
    "nn.RNN(nn.GRUCell(3, 4))": ("f_2_5_3", "f_2_5_3, f_2_4", "inputs=f_2_5_3, sequence_length=i_2 + 1"),
    "nn.RNN(nn.LSTMCell(3, 4), is_reverse=True, time_major=True)": ("f_5_2_3",),
    "nn.BiRNN(nn.GRUCell(3, 4), nn.GRUCell(3, 4))": ("f_2_5_3", "f_2_5_3, (f_2_4, f_2_4)"),
    "nn.BiRNN(nn.LSTMCell(3, 4), nn.LSTMCell(3, 4), time_major=True)": ("f_5_2_3",),
    "nn.GRU(3, 4)": ("f_2_5_3", "f_2_5_3, f_1_2_4", "f_2_5_3, sequence_length=i_2 + 1"),
    "nn.GRU(3, 4, num_layers=2, direction='bidirect', dropout=0.1)": ("f_2_5_3",),
    "nn.GRU(3, 4, 2, bias_ih_attr=False)": (),  # Paddle 2.6.2 dies when it is called
    "nn.LSTM(3, 4, direction='bidirectional', time_major=True)": ("f_5_2_3", "f_5_2_3, (f_2_2_4, f_2_2_4)"),
    "nn.LSTM(input_size=3, hidden_size=4, num_layers=2)": ("inputs=f_2_5_3",),
    "nn.SimpleRNN(3, 4, 1, 'forward', False, 0.0, 'relu')": ("f_2_5_3",),
    "nn.MultiHeadAttention(4, 2)": ("f_2_3_4", "f_2_3_4, f_2_5_4, f_2_5_4", "query=f_2_3_4, attn_mask=f_2_1_3_3"),
    "nn.MultiHeadAttention(4, 2, dropout=0.1, kdim=3, vdim=5, bias_attr=False)": ("f_2_3_4, f_2_6_3, f_2_6_5",),
    "nn.MultiHeadAttention(4, num_heads=1, need_weights=True)": ("f_2_3_4, f_2_5_4, f_2_5_4",),
    "nn.TransformerEncoderLayer(4, 2, 8)": ("f_2_3_4", "src=f_2_3_4, src_mask=f_2_1_3_3"),
    "nn.TransformerEncoderLayer(4, 2, 8, 0.1, 'gelu', attn_dropout=0.2, normalize_before=True, "
    "weight_attr=[None, paddle.ParamAttr()], bias_attr=[None, False])": ("f_2_3_4",),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)": ("f_2_3_4",),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), num_layers=2, norm=nn.LayerNorm(4))": ("f_2_3_4",),
    "nn.MSELoss()": ("f_4_1, f_4_1 * 2",),
    "nn.L1Loss(reduction='none')": ("f_4_3, label=f_4_3 * 2",),
    "nn.SmoothL1Loss('sum', 0.5)": ("f_4_3, f_4_3 * 2",),
    "nn.BCELoss()": ("f_4_1 * 0.5, f_4_1 * 0.5",),
    "nn.BCELoss(reduction='none')": ("input=f_4_1 * 0.5, label=f_4_1 * 0.5",),
    "nn.BCEWithLogitsLoss(reduction='none')": ("logit=f_4_1, label=f_4_1",),
    "nn.CrossEntropyLoss()": ("f_4_3, i_4", "f_4_3, i_4_1"),
    "nn.CrossEntropyLoss(reduction='none')": ("f_4_3, i_4", "f_4_3, i_4_1"),
    "nn.CrossEntropyLoss(soft_label=True, reduction='none', axis=1)": ("f_4_3, f_4_3",),
    "nn.NLLLoss(reduction='none')": ("f_4_3, i_4",),
    "nn.KLDivLoss('batchmean')": ("f_4_3, f_4_3 * 0.2",),
    "nn.MarginRankingLoss(0.1, reduction='none')": ("f_4_1, f_4_1 * 2, f_4_1 * 0 + 1",),
    "nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))": ("f_2_3",),
    "nn.Sequential(('first', nn.Linear(3, 4)), ('act', nn.Tanh()))": ("f_2_3",),
}
#: Classes of a program that derive from layers, or hold weights in containers: their text -> the arguments of a call.
PROGRAMS: dict[str, str] = {
    """
    class Model(nn.Linear):
        def __init__(self, rows, columns):
            super(Model, self).__init__(rows, columns)
            self.scale = self.create_parameter([columns], default_initializer=nn.initializer.Constant(2.0))

        def forward(self, x):
            return super().forward(x) * self.scale + self.weight[0]

    def make():
        return Model(3, 4)
    """: "f_2_3",
    """
    class Table(nn.Embedding):
        pass

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = Table(7, 4, padding_idx=0)

        def forward(self, x):
            return self.table(x) * self.table._embedding_dim

    def make():
        return Model()
    """: "i_2_3",
    """
    class Attend(nn.MultiHeadAttention):
        def forward(self, x):
            return super().forward(x, x, x) + self.q_proj(x) * self.num_heads

    def make():
        return Attend(4, num_heads=2)
    """: "f_2_3_4",
    """
    class Cell(nn.RNNCellBase):
        def __init__(self, size):
            super().__init__()
            self.gate = nn.Linear(2 * size, size)

        def forward(self, inputs, states):
            states = F.sigmoid(self.gate(paddle.concat([inputs, states], -1)))
            return states, states

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.run = nn.RNN(Cell(3))

        def forward(self, x, start):
            return self.run(x, start)

    def make():
        return Model()
    """: "f_2_5_3, f_2_3",
    """
    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            shapes = [[3, 4], [4, 2]]
            self.weights = nn.ParameterList([paddle.create_parameter(one, "float32") for one in shapes])
            self.weights.append(paddle.create_parameter(shape=[2], dtype="float32", is_bias=True))
            self.towers = nn.LayerDict({"a": nn.Linear(2, 1)})
            self.towers["b"] = nn.Linear(2, 1, bias_attr=False)
            self.towers.update({"c": nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))})
            self.heads = nn.LayerList([nn.Linear(1, 1)])
            self.heads.insert(0, nn.Linear(1, 2))
            self.heads.extend([nn.Linear(2, 2), nn.Linear(2, 2)])
            self.bias = self.create_parameter([1], is_bias=True, dtype="float32")
            self.add_parameter("more", self.create_parameter(shape=[1]))
            self.none = self.create_parameter([3], attr=False)

        def forward(self, x):
            y = paddle.matmul(paddle.matmul(x, self.weights[0]), self.weights[1]) + self.weights[2]
            outs = [tower(y) for tower in self.towers.values()]
            return paddle.concat(outs, 1) + self.bias, [outs[0], self.heads[0](outs[1])]

    def make():
        return Model()
    """: "f_2_3",
    """
    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.attend = nn.MultiHeadAttention(4, 2)
            self.encoder = nn.TransformerEncoderLayer(4, 2, 8)
            self.rnn = nn.GRU(4, 4)

        def forward(self, x):
            y = self.attend.q_proj(x) + self.encoder.linear2(self.encoder.linear1(x))
            return paddle.matmul(y, self.rnn.weight_hh_l0, transpose_y=True), self.encoder.self_attn.k_proj.weight

    def make():
        return Model()
    """: "f_2_3_4",
}
HEAD = "import paddle\nimport paddle.nn as nn\nimport paddle.nn.functional as F\n\n"


def programs() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return (name, the text of a program with `make()`, the arguments of calls)."""
    found = [(name, f"{HEAD}def make():\n    return {name}\n", calls) for name, calls in CASES.items()]
    for text, call in PROGRAMS.items():
        lines = textwrap.dedent(text)
        found.append((lines.split("\n")[1], HEAD + lines, (call,)))
    return found
