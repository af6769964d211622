"""Eager programs drawn from a seed: files, models, optimizers, schedules and loops in the shapes that people write.

`files(seed)` gives the texts; `train.py` is the entry. `python -m tests.support.paddle.drawn_programs SEED FOLDER`
writes them.
"""

from __future__ import annotations

import random
import sys
import textwrap
from pathlib import Path

__all__ = ["files"]

_IMPORTS = """
import copy
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import {io}
"""
_DATA = """
class Clicks(Dataset):
    def __init__(self, count=192, seed=1):
        super().__init__()
        drawn = np.random.RandomState(seed)
        self.users = drawn.randint(0, 20, count)
        self.items = drawn.randint(0, 30, [count, 5])
        self.items[drawn.rand(count, 5) < 0.2] = 0
        self.dense = drawn.rand(count, 3).astype("float32")
        self.labels = (drawn.rand(count) < 0.4).astype("float32")

    def __getitem__(self, number):
        return np.int64(self.users[number]), self.items[number], self.dense[number], self.labels[number : number + 1]

    def __len__(self):
        return len(self.users)
"""
#: How the rows of a user's items become one.
_POOLED = {
    "mean": "rows.mean(axis=1)",
    "sum": "paddle.sum(rows * (items != 0).astype('float32').unsqueeze(-1), axis=1)",
    "max": "paddle.max(rows, axis=1)",
    "gru": "self.encoder(rows)[1][-1]",
    "lstm": "self.encoder(rows)[0][:, -1]",
    "attention": "paddle.matmul(F.softmax(paddle.matmul(user.unsqueeze(1), rows, transpose_y=True) / 2.0), rows)[:, 0]",
    "convolution": "self.encoder(rows.transpose([0, 2, 1])).mean(-1)",
    "heads": "self.encoder(rows, rows, rows).mean(1)",
    "written": "self.masked(rows, items)",
}
_ENCODERS = {
    "gru": "nn.GRU(4, 4)",
    "lstm": "nn.LSTM(4, 4)",
    "convolution": "nn.Conv1D(4, 4, 3, padding=1)",
    "heads": "nn.MultiHeadAttention(4, 2)",
}
_WRITTEN = """
    def masked(self, rows, items):
        weights = paddle.ones(items.shape)
        weights[items == 0] = 0.0
        if weights.sum() > 3:
            weights = weights / 2.0
        return (rows * weights.unsqueeze(-1)).sum(1)
"""
_MLPS = (
    "nn.Sequential(nn.Linear(11, 6), nn.ReLU(), nn.Linear(6, 1))",
    "nn.Sequential(nn.Linear(11, 6), nn.BatchNorm1D(6), nn.Tanh(), nn.Dropout(0.2), nn.Linear(6, 1))",
    "nn.Sequential(nn.LayerNorm(11), nn.Linear(11, 6), nn.GELU(), nn.Linear(6, 1))",
    "nn.Sequential(('first', nn.Linear(11, 6)), ('act', nn.LeakyReLU()), ('last', nn.Linear(6, 1)))",
)
_OPTIMIZERS = (
    "Adam({rate}, parameters={weights}{more})",
    "Adam({rate}, parameters={weights}, lazy_mode=True{more})",
    "AdamW({rate}, parameters={weights}, weight_decay=0.01{more})",
    "SGD({rate}, parameters={weights}{more})",
    "SGD({rate}, parameters={weights}, weight_decay=paddle.regularizer.L2Decay(1e-3){more})",
    "Momentum({rate}, parameters={weights}, use_nesterov=True{more})",
    "Adagrad({rate}, parameters={weights}{more})",
    "RMSProp({rate}, parameters={weights}{more})",
    "Adamax({rate}, parameters={weights}{more})",
)
_SCHEDULES = (
    "paddle.optimizer.lr.StepDecay(0.05, 2, 0.5)",
    "paddle.optimizer.lr.CosineAnnealingDecay(0.05, 8)",
    "paddle.optimizer.lr.LinearWarmup(0.05, 3, 0.0, 0.05)",
    "paddle.optimizer.lr.PolynomialDecay(0.05, 10)",
)
_CLIPS = ("", "", ", grad_clip=nn.ClipGradByGlobalNorm(1.0)", ", grad_clip=nn.ClipGradByValue(0.05)")
_LOSSES = (
    "F.binary_cross_entropy_with_logits({out}, label)",
    "F.binary_cross_entropy(F.sigmoid({out}), label)",
    "F.mse_loss({out}, label)",
    "paddle.mean(paddle.nn.functional.square_error_cost({out}, label))",
    "F.cross_entropy(paddle.concat([{out}, -{out}], axis=-1), label.astype('int64'))",
)
_LOOPS = {
    "plain": """
        loss.backward()
        opt.step()
        opt.clear_grad()
        seen.append(loss.item())
""",
    "accumulated": """
        (loss / 2).backward()
        if (step + 1) % 2 == 0:
            opt.step()
            opt.clear_grad()
""",
    "averaged": """
        loss.backward()
        opt.step()
        opt.clear_grad()
        for name, weight in net.named_parameters():
            average[name] = 0.9 * average.get(name, weight.numpy()) + 0.1 * weight.numpy()
""",
    "swapped": """
        loss.backward()
        opt.step()
        opt.clear_grad()
        shadow = {k: 0.9 * shadow[k] + 0.1 * v.numpy() for k, v in net.state_dict().items()} if step else {
            k: v.numpy() for k, v in net.state_dict().items()
        }
        if step == 5:
            net.set_state_dict(shadow)
""",
    "stopped early": """
        loss.backward()
        opt.step()
        opt.clear_grad()
        if float(loss) < best - 1e-4:
            best, kept, bad = float(loss), copy.deepcopy(net.state_dict()), 0
        else:
            bad += 1
        if bad > 30:
            break
""",
    "conditions": """
        if loss > 0.7 and step % 2:
            loss = loss * 0.5
        if paddle.isnan(loss).any():
            raise ValueError("the loss is no number")
        loss.backward()
        opt.minimize(loss)
        opt.clear_gradients()
""",
    "scaled": """
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(opt)
        scaler.update()
        opt.clear_grad()
""",
    "saved": """
        loss.backward()
        opt.step()
        opt.clear_grad()
        if step == 3:
            paddle.save(net.state_dict(), "net.pdparams")
            paddle.save(opt.state_dict(), "net.pdopt")
            net.set_state_dict(paddle.load("net.pdparams"))
            opt.set_state_dict(paddle.load("net.pdopt"))
""",
    "adversary": """
        loss.backward()
        opt.step()
        opt.clear_grad()
        guess = critic(out.detach())
        worse = F.binary_cross_entropy_with_logits(guess, 1.0 - label)
        worse.backward()
        second.step()
        second.clear_grad()
""",
}
_BEFORE = {
    "averaged": "average = {}\n",
    "swapped": "shadow = {}\n",
    "stopped early": "best, kept, bad = 1e9, None, 0\n",
    "scaled": "scaler = paddle.amp.GradScaler(init_loss_scaling=128.0)\n",
    "adversary": "critic = nn.Linear(1, 1)\nsecond = paddle.optimizer.SGD(0.1, parameters=critic.parameters())\n",
}
_FIT = """
class Last(paddle.callbacks.Callback):
    def on_train_batch_end(self, step, logs=None):
        seen.append(logs["loss"])


model = paddle.Model(net, [paddle.static.InputSpec([None], "int64", "user"),
                           paddle.static.InputSpec([None, 5], "int64", "items"),
                           paddle.static.InputSpec([None, 3], "float32", "dense")])
model.prepare({optimizer}, {loss}{metric})
model.fit(Clicks(), {evaluated}batch_size=16, epochs=2, verbose=0, shuffle={shuffle}, callbacks=[Last(){more}])
"""


def files(seed: int) -> dict[str, str]:
    """Return the texts of a program, by their names."""
    drawn = random.Random(seed)
    train = _fitted(drawn) if drawn.random() < 0.25 else _loop(drawn)
    net = _net(drawn, train)
    if drawn.random() < 0.5:
        text = _IMPORTS.format(io="DataLoader, Dataset") + _DATA + net + train
        return {"train.py": text}
    return {
        "data.py": "import numpy as np\nfrom paddle.io import Dataset\n" + _DATA,
        "net.py": "import paddle\nfrom paddle import nn\nimport paddle.nn.functional as F\n" + net,
        "train.py": _IMPORTS.format(io="DataLoader") + "from data import Clicks\nfrom net import Net\n" + train,
    }


def _net(drawn: random.Random, trained: str) -> str:
    pooled = drawn.choice(sorted(_POOLED))
    aborts = any(name in trained for name in ("Adamax", "AdamW", "ClipGradByValue"))  # on rows, in Paddle's kernels
    sparse = "" if aborts else drawn.choice(("", "", ", sparse=True"))
    lines = [
        f"self.user = nn.Embedding(20, 4{sparse})",
        f"self.item = nn.Embedding(30, 4{drawn.choice(('', ', padding_idx=0'))}{sparse})",
        *([f"self.encoder = {_ENCODERS[pooled]}"] if pooled in _ENCODERS else []),
        f"self.mlp = {drawn.choice(_MLPS)}",
    ]
    body = textwrap.indent("\n".join(lines), " " * 8)
    return f"""
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
{body}

    def forward(self, user, items, dense):
        user, rows = self.user(user), self.item(items)
        pooled = {_POOLED[pooled]}
        return self.mlp(paddle.concat([user, pooled, dense], axis=-1))
{_WRITTEN if pooled == "written" else ""}
"""


def _optimizer(drawn: random.Random, rate: str, weights: str) -> str:
    return "paddle.optimizer." + drawn.choice(_OPTIMIZERS).format(rate=rate, weights=weights, more=drawn.choice(_CLIPS))


def _loop(drawn: random.Random) -> str:
    kind = drawn.choice(sorted(_LOOPS))
    scheduled = drawn.random() < 0.4
    rate = drawn.choice(_SCHEDULES) if scheduled else "0.05"
    in_loop = drawn.random() < 0.5
    loader = drawn.choice(("shuffle=True", "shuffle=False", "drop_last=True"))
    loss = drawn.choice(_LOSSES).format(out="out")
    step = textwrap.indent("rate.step()\n", " " * (8 if in_loop else 4)) if scheduled else ""
    return f"""
net, seen = Net(), []
rate = {rate}
opt = {_optimizer(drawn, "rate", "net.parameters()")}
{_BEFORE.get(kind, "")}for epoch in range(2):
    net.train()
    for step, (user, items, dense, label) in enumerate(DataLoader(Clicks(), batch_size=16, {loader})):
        out = net(user, items, dense)
        loss = {loss}{_LOOPS[kind]}{step}    net.eval()
    with paddle.no_grad():
        outs = [F.sigmoid(net(u, i, d)).numpy() for u, i, d, _ in DataLoader(Clicks(32, 2), batch_size=8)]
    print("epoch %d: %.4f" % (epoch, float(np.mean(outs))))
"""


def _fitted(drawn: random.Random) -> str:
    loss = drawn.choice(("nn.BCEWithLogitsLoss()", "nn.MSELoss()", "nn.SmoothL1Loss()"))
    stopping = ", paddle.callbacks.EarlyStopping('loss', patience=5, save_best_model=False)"
    fit = _FIT.format(
        optimizer=_optimizer(drawn, drawn.choice(("0.05", drawn.choice(_SCHEDULES))), "net.parameters()"),
        loss=loss,
        metric=drawn.choice(("", ", paddle.metric.Precision()")),
        evaluated=drawn.choice(("", "Clicks(64, 3), ")),
        shuffle=drawn.choice(("True", "False")),
        more=drawn.choice(("", stopping)),
    )
    return f"\nnet, seen = Net(), []\n{fit}"


if __name__ == "__main__":
    for name, text in files(int(sys.argv[1])).items():
        Path(sys.argv[2], name).write_text(text, encoding="utf-8")
