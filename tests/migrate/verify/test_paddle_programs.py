"""Eager Paddle programs as people write them: the original in Paddle, the same file on the façade, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.verify import pair
from migrate.verify.settings import Settings
from tests.support.source.projects import write
from tests.support.verified import differing, unequal, verified

pytestmark = pytest.mark.paddle

HEAD = """
import copy
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import DataLoader, Dataset, random_split

class Ratings(Dataset):
    def __init__(self, count=96):
        drawn = np.random.RandomState(1)
        self.users, self.items = drawn.randint(0, 20, count), drawn.randint(0, 30, [count, 3])
        self.ratings = drawn.rand(count).astype("float32")

    def __getitem__(self, number):
        return np.int64(self.users[number]), self.items[number], self.ratings[number]

    def __len__(self):
        return len(self.users)

class Net(nn.Layer):
    def __init__(self, sparse=False):
        super().__init__()
        self.user = nn.Embedding(20, 4, sparse=sparse)
        self.item = nn.Embedding(30, 4, padding_idx=0)
        self.drop = nn.Dropout(0.2)
        self.mlp = nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1D(6), nn.ReLU(), nn.Linear(6, 1))

    def forward(self, user, items):
        pooled = self.item(items).mean(axis=1)
        return F.sigmoid(self.mlp(self.drop(paddle.concat([self.user(user), pooled], axis=-1)))).squeeze(-1)
"""
PROGRAMS = {
    "a loop": """
net = Net()
rate = paddle.optimizer.lr.StepDecay(0.05, 1, 0.5)
opt = paddle.optimizer.Adam(rate, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
train, test = random_split(Ratings(), [64, 32])
loader, best, total = DataLoader(train, batch_size=16, shuffle=True), 1e9, 0.0
for epoch in range(4):
    net.train()
    for step, (user, items, rating) in enumerate(loader()):
        loss = F.mse_loss(net(user, items), rating)
        loss.backward()
        opt.step()
        opt.clear_grad()
        total += loss.item()
        if loss < best:
            best, kept = float(loss), copy.deepcopy(net.state_dict())
    rate.step()
    net.eval()
    with paddle.no_grad():
        batches = DataLoader(test, batch_size=8)
        print("mean error %.4f" % np.mean([F.l1_loss(net(u, i), r).numpy() for u, i, r in batches]))
""",
    "a model that is fitted": """
model = paddle.Model(Net())
model.prepare(paddle.optimizer.Adagrad(0.1, parameters=model.parameters()), nn.MSELoss())
model._inputs = [1, 2]
model.fit(Ratings(), batch_size=16, epochs=2, verbose=0)
""",
    "two optimizers, by turns": """
real, fake = Net(sparse=True), nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
first = paddle.optimizer.SGD(0.1, parameters=real.parameters())
second = paddle.optimizer.Momentum(0.05, parameters=fake.parameters())
for user, items, rating in DataLoader(Ratings(), batch_size=16):
    noise = paddle.randn([16, 3])
    made = F.sigmoid(fake(noise)).squeeze(-1)
    loss = F.binary_cross_entropy(real(user, items), rating) + ((made.detach() - 0.5) ** 2).mean()
    loss.backward()
    first.step()
    first.clear_grad()
    ((made - real(user, items).detach()) ** 2).mean().backward()
    second.step()
    second.clear_grad()
""",
    "looked up, then read whole": """
net = Net()
opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())
for user, items, rating in DataLoader(Ratings(), batch_size=16):
    loss = F.mse_loss(net(user, items), rating)
    for weight in (net.user.weight, net.item.weight):
        loss += 0.01 * paddle.norm(weight)
    loss.backward()
    opt.step()
    opt.clear_grad()
""",
    "a copy, and averages": """
net = Net()
opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())
shadow, copied, second = {}, None, None
for step, (user, items, rating) in enumerate(DataLoader(Ratings(), batch_size=16)):
    loss = F.mse_loss(net(user, items), rating)
    if copied is not None:
        distilled = F.mse_loss(copied(user, items), net(user, items).detach())
        distilled.backward()
        second.step()
        second.clear_grad()
    loss.backward()
    opt.step()
    opt.clear_grad()
    with paddle.no_grad():
        for name, weight in net.named_parameters():
            shadow[name] = 0.5 * shadow[name] + 0.5 * weight if name in shadow else weight.clone()
    if step == 1:
        net.set_state_dict(shadow)
        copied = copy.deepcopy(net)
        second = paddle.optimizer.Adagrad(0.05, parameters=copied.parameters())
""",
    "changed in place, accumulated, read whole": """
net = Net()
opt = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), weight_decay=0.1)
for step, (user, items, rating) in enumerate(DataLoader(Ratings(), batch_size=8)):
    weights = paddle.ones([8])
    weights[rating < 0.3] = 2.0
    error = (net(user, items) - rating) ** 2 * weights
    penalty = paddle.matmul(net.user.weight, net.user.weight, transpose_y=True).mean()
    if error.max() > 2.0:
        error = error * 0.5
    (error.mean() + 0.01 * penalty).backward()
    if step % 2:
        opt.minimize(error)
        opt.clear_gradients()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_makes_the_steps_that_it_makes_in_paddle(name: str, tmp_path: Path) -> None:
    program = HEAD + PROGRAMS[name]
    found = verified(tmp_path, program, program, Settings(steps=8))
    assert {comparison.stage for comparison in found.comparisons} == {"initial", "loss", "gradient", "step"}
    assert unequal(found) == []


def test_another_initializer_another_rate_and_another_loss_are_found(tmp_path: Path) -> None:
    text = HEAD + PROGRAMS["a model that is fitted"]
    changes = {"Adagrad(0.1": "Adagrad(0.11", "nn.MSELoss()": "nn.L1Loss()"}
    changes["padding_idx=0"] = "padding_idx=0, weight_attr=nn.initializer.Uniform(-0.3, 0.3)"
    changed = text
    for before, after in changes.items():
        changed = changed.replace(before, after)
    found = verified(tmp_path, text, changed, Settings(steps=3))
    assert {"initial", "loss", "gradient", "step"} <= differing(found)


CANCELS = """
net = nn.Linear(3, 4)
opt = paddle.optimizer.SGD(0.05, parameters=net.parameters())
data = np.random.RandomState(1).rand(64, 3).astype("float32")
for x in DataLoader(data, batch_size=16):
    out = net(x) + 100.0
    loss = (out * out).mean() - out.mean() ** 2
    loss.backward()
    opt.step()
    opt.clear_grad()
"""


def test_float64_tells_what_cancels_in_the_original(tmp_path: Path) -> None:
    text, variance = HEAD + CANCELS, "(out * out).mean() - out.mean() ** 2"
    found = verified(tmp_path, text, text.replace(variance, "((out - out.mean()) ** 2).mean()"))
    assert unequal(found) == []
    assert "as the original in float64" in next(one.note for one in found.comparisons if one.stage == "loss")
    found = verified(tmp_path, text, text.replace(variance, "((out - out.mean()) ** 2).mean() * 1.1"))
    assert "loss" in differing(found)


def test_a_program_that_goes_another_way_in_float64_has_no_reference(tmp_path: Path) -> None:
    wide = "if paddle.get_default_dtype() == 'float64':\n        loss.backward(retain_graph=True)\n    loss.backward()"
    text = HEAD + CANCELS
    found = verified(tmp_path, text.replace("loss.backward()", wide), text.replace("SGD(0.05", "SGD(0.1"))
    assert "no float64 reference, because the original makes other steps in float64" in found.notes
    assert "step" in differing(found)


TOOL = """
import os
import sys
import paddle

folder = os.path.dirname(os.path.abspath(sys.argv[-1].split("=")[-1]))
sys.path.append(folder)
import net

net.train(float(open(os.path.join(folder, "rate.txt")).read()), sys.argv[1])
"""
NET = """
import paddle

def train(rate, mode):
    layer = paddle.nn.Linear(2, 1)
    opt = paddle.optimizer.SGD(rate, parameters=layer.parameters())
    for _ in range(2 if mode == "train" else 0):
        layer(paddle.ones([3, 2])).sum().backward()
        opt.step()
        opt.clear_grad()
"""


@pytest.mark.parametrize("argument", ["models/m/rate.txt", "--config=models/m/rate.txt"])
def test_paths_are_those_of_the_working_directory_and_of_each_program(
    argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for root, rate in (("repository", "0.5"), ("converted", "0.25")):
        write(tmp_path / root, {"tools/trainer.py": TOOL, "models/m/net.py": NET, "models/m/rate.txt": rate})
    monkeypatch.chdir(tmp_path / "repository")
    (tmp_path / "repository" / "train").mkdir()  # a word that is no path
    settings = Settings(steps=2, arguments=("train", argument))
    found = pair.verify("tools/trainer.py", str(tmp_path / "converted" / "tools" / "trainer.py"), None, settings)
    assert differing(found) == {"step"}
    write(tmp_path / "converted", {"models/m/rate.txt": "0.5"})
    found = pair.verify("tools/trainer.py", str(tmp_path / "converted" / "tools" / "trainer.py"), None, settings)
    assert unequal(found) == []


def test_the_converted_program_has_the_data_of_the_original_and_its_own_modules(tmp_path: Path) -> None:
    tool = (
        "import sys\nimport paddle\nsys.path.append('..')\nimport net\nnet.train(float(open('rate').read()), 'train')\n"
    )
    write(tmp_path, {"a/tools/rate": "0.5", "a/tools/tool.py": tool, "b/tools/tool.py": tool})
    write(tmp_path, {"a/net.py": NET, "b/net.py": NET})
    pairs = [str(tmp_path / side / "tools" / "tool.py") for side in "ab"]
    assert pair.verify(*pairs, None, Settings(steps=2)).passed
    (tmp_path / "b" / "net.py").write_text(NET.replace("SGD(rate", "SGD(2 * rate"), encoding="utf-8")
    assert not pair.verify(*pairs, None, Settings(steps=2)).passed


def test_batches_that_are_others_in_each_run_are_no_difference(tmp_path: Path) -> None:
    drawn = "paddle.to_tensor(__import__('numpy').frombuffer(__import__('os').urandom(6), 'uint8').astype('float32'))"
    text = NET.replace("paddle.ones([3, 2])", f"{drawn}.reshape([3, 2])") + "\ntrain(1e-4, 'train')\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    found = pair.verify(str(tmp_path / "train.py"), str(tmp_path / "train.py"), None, Settings(steps=2))
    assert not found.passed and "differs" not in {one.verdict for one in found.comparisons}
    assert "not-comparable" in {one.verdict for one in found.comparisons}
    assert any("have different losses, from batch 1 of those compared" in note for note in found.notes)


def test_a_program_without_steps_is_said(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="ends without a step of an optimizer; give the file that trains"):
        verified(tmp_path, HEAD, HEAD)


KINK = """
class Bent(nn.Layer):
    def __init__(self):
        super().__init__()
        self.bend = self.create_parameter([1], default_initializer=nn.initializer.Constant(0.3))
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))

    def forward(self, x):
        return F.relu(self.bend - 0.29999998) * x + self.scale * x

net = Bent()
opt = paddle.optimizer.SGD(1e-12, parameters=net.parameters())
for x in DataLoader(np.arange(1.0, 9.0, dtype="float32"), batch_size=2):
    net(x).mean().backward()
    opt.step()
    opt.clear_grad()
"""


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        ("bend - 0.29999998", "bend - 0.3", {"equal"}),
        ("self.scale * x", "self.scale * x * 1.001", {"equal", "differs"}),
    ],
)
def test_a_relu_that_opens_by_a_last_place_is_one_of_the_originals_own(
    before: str, after: str, verdicts: set[str], tmp_path: Path
) -> None:
    found = verified(tmp_path, HEAD + KINK, HEAD + KINK.replace(before, after))
    assert {one.verdict for one in found.comparisons if one.stage == "gradient"} == verdicts
    assert any("with its weights moved by a last place" in note for note in found.notes) == (verdicts == {"equal"})
