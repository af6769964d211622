"""Paddle programs whose ids gave up their buckets: the first step is the original's, and what follows is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.source.paddle import folder
from migrate.verify import pair
from migrate.verify.settings import Settings
from tests.support.paths import ROOT
from tests.support.verified import differing, verified

pytestmark = pytest.mark.paddle

BUCKETED = """
import numpy as np
import paddle
import paddle.nn as nn

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rows, self.out = nn.Embedding(7, 4), nn.Linear(4, 1)
        self.kinds, self.whole = nn.Embedding(5, 4), nn.Embedding(3, 4)

    def forward(self, ids):
        return self.out(self.whole.weight.mean() + self.rows(ids % 7) + self.kinds(ids // 7 % 4) + self.whole(ids * 0))

paddle.seed(3)
net, first = Net(), paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(2.0))
opt = paddle.optimizer.Momentum(0.05, parameters=net.parameters())  # clip
before = paddle.optimizer.SGD(0.1, parameters=[first])
(first * 3).sum().backward()
before.step()
for seed in range(3):
    ids = paddle.to_tensor(np.random.RandomState(seed).choice(500, 9, replace=False))
    loss = ((net(ids) - ids.astype("float32").unsqueeze(-1) / 500) ** 2).mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
"""
FREES = "from runtime.compat.paddle import install\ninstall(unbucket=True)\n"
CLIP = "Momentum(0.05, grad_clip=nn.ClipGradByGlobalNorm(1e-3), "


@pytest.mark.parametrize(
    ("before", "after", "apart"),
    [
        ("", "", {"embedding_0.w_0 [ids that shared a bucket]"}),
        ("choice(500, 9, replace=False)", "choice(70, 3) // 7 * 7 + np.arange(3)", set()),
        ("Momentum(0.05, ", CLIP, {"linear_0.w_0", "embedding_1.w_0"}),
    ],
    ids=["ids share buckets", "none does", "a norm of all rows"],
)
def test_the_first_step_without_buckets_is_the_originals(
    before: str, after: str, apart: set[str], tmp_path: Path
) -> None:
    """What a step before it trained is compared; what follows it is said to be another by intention."""
    program = BUCKETED.replace(before, after) if before else BUCKETED
    found = verified(tmp_path, program, FREES + program)
    meant = {one.name for one in found.comparisons if one.verdict == "changes-values"}
    assert apart <= meant and bool(apart) is bool(meant) and (after == CLIP or meant == apart)
    assert [one for one in found.comparisons if one.verdict not in ("equal", "changes-values")] == []
    gradients = {one.name for one in found.comparisons if one.stage == "gradient"}
    assert gradients >= {"embedding_0.w_0", "embedding_1.w_0", "linear_0.w_0"} and len(gradients) == 6
    assert "for 2 steps" in found.notes[0]
    assert (
        "each id of `embedding_0.w_0` has a row of its own, in place of its bucket's: after the first step that trains"
        in found.notes[1]
    )


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ("ids % 7", "(ids + 1) % 7", "loss"),
        (").mean()", ").mean() * 1.01", "loss"),
        ("Momentum(0.05", "Momentum(0.051", "step"),
    ],
    ids=["other buckets", "a scaled loss", "another rate"],
)
def test_another_program_without_buckets_differs(before: str, after: str, wrong: str, tmp_path: Path) -> None:
    assert before in BUCKETED
    found = verified(tmp_path, BUCKETED, FREES + BUCKETED.replace(before, after))
    assert wrong in differing(found)


def test_another_number_of_buckets_is_said(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match=r"has shape \[7, 4\], that of the converted program \[5, 4\]"):
        verified(tmp_path, BUCKETED, FREES + BUCKETED.replace("% 7", "% 5").replace("(7, 4)", "(5, 4)"))


NET = """
import paddle
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(31, 4, padding_idx=0)
        self.kinds = nn.Embedding(5, 4)
        self.first = nn.Linear(4, 3)

    def forward(self, items, kinds):
        rows = paddle.mean(self.items(items % 31), axis=1) + paddle.squeeze(self.kinds(kinds), axis=1)
        return paddle.sum(paddle.nn.functional.relu(self.first(rows)), axis=1, keepdim=True)
"""
TRAINER = """
import net
import paddle


class DygraphModel():
    def create_model(self, config):
        return net.Net()

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.Adam(learning_rate=0.05, parameters=dy_model.parameters())

    def create_metrics(self):
        return [], []

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        out = dy_model.forward(batch_data[0], batch_data[1])
        loss = paddle.mean(paddle.square(out - batch_data[2]))
        return loss, metrics_list, {"loss": loss}

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        out = dy_model.forward(batch_data[0], batch_data[1])
        return metrics_list, {"out": out}
"""
READER = """
import numpy as np
from paddle.io import IterableDataset


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super().__init__()

    def __iter__(self):
        drawn = np.random.RandomState(3)
        for _ in range(40):
            yield [drawn.randint(1, 500, 3), drawn.randint(5, size=1), drawn.rand(1).astype("float32")]
"""
CONFIG = "runner: {train_data_dir: data, train_reader_path: plain_reader, train_batch_size: 6}\n"
FILES = {"net.py": NET, "dygraph_model.py": TRAINER, "plain_reader.py": READER, "config.yaml": CONFIG}


def proven(root: Path, before: str = "", after: str = "", original: str = "") -> Verification:
    """Verify the folder that gave up the buckets, with one text of its model or trainer changed."""
    first, second = root / "first", root / "second"
    for place in (first, second):
        (place / "data").mkdir(parents=True)
        (place / "data" / "part").write_text("")
        (place / "config.yaml").write_text(CONFIG)
    known = {**FILES, "dygraph_model.py": TRAINER.replace("Adam(", f"Adam({original}")}
    for name, text in known.items():
        (first / name).write_text(text)
        if name.endswith(".py"):
            others = {other: known[other] for other in known if other != name}
            written = folder.convert(str(first / name), text, others, unbucket=("items",)).converted
            if name == "net.py":
                assert "base_buckets=31" in written and "operators.divided(items, 31)" in written
            if before and before in written:
                written, before = written.replace(before, after), ""
            (second / name).write_text(written)
    assert not before
    return pair.verify(str(first), str(second), None, Settings(steps=3))


@pytest.mark.parametrize("clip", ["", "grad_clip=paddle.nn.ClipGradByNorm(1e-3), "])
def test_the_first_steps_of_a_folder_without_buckets_are_the_originals(clip: str, tmp_path: Path) -> None:
    found = proven(tmp_path, original=clip)
    assert [one for one in found.comparisons if one.verdict not in ("equal", "changes-values")] == []
    meant = {(one.stage, one.name) for one in found.comparisons if one.verdict == "changes-values"}
    kinds = ("sgd", "adagrad", "adam", "own")
    assert meant - {("own", "items.weight")} == {(kind, "items.weight [ids that shared a bucket]") for kind in kinds}
    assert (("own", "items.weight") in meant) is bool(clip)
    stages = {one.stage for one in found.comparisons if one.verdict == "equal" and one.name == "items.weight"}
    assert {"gradient", "sgd", "adagrad", "adam"} <= stages
    assert {"forward", "loss", "evaluation"} <= {one.stage for one in found.comparisons if one.verdict == "equal"}
    assert any("each id of `items.weight` has a row of its own" in note for note in found.notes)


def test_another_folder_without_buckets_differs(tmp_path: Path) -> None:
    assert "forward" in differing(proven(tmp_path, "divided(items, 31)", "divided(items + 1, 31)"))


def test_a_static_model_without_buckets_is_the_original_for_a_step(tmp_path: Path) -> None:
    """The original makes its steps by itself there."""
    clicks = ROOT / "tests" / "migrate" / "source" / "paddle" / "folders" / "clicks"
    first, second = (shutil.copytree(clicks, tmp_path / name) for name in ("first", "second"))
    texts = {path.name: path.read_text() for path in clicks.iterdir() if path.suffix in {".py", ".yaml"}}
    texts["net.py"] = texts["net.py"].replace("self.city(city)", "self.city(city % 7)").replace("ding(40", "ding(7")
    for name, text in texts.items():
        (first / name).write_text(text)
        if name.endswith(".py"):
            others = {other: texts[other] for other in texts if other != name}
            (second / name).write_text(folder.convert(str(first / name), text, others, unbucket=("all",)).converted)
    assert "base_buckets=7" in (second / "net.py").read_text()
    found = pair.verify(*(str(one / "static_model.py") for one in (first, second)), None, Settings(steps=2))
    assert {one.verdict for one in found.comparisons} == {"equal", "changes-values"}
    assert {one.name for one in found.comparisons if one.verdict != "equal"} == {"cities [ids that shared a bucket]"}
