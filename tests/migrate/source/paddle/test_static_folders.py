"""Folders with a static model compute what Paddle's static graphs compute, over sequences of uneven length."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

paddle = pytest.importorskip("paddle")

from migrate.report.model import Applicability, State  # noqa: E402
from migrate.source.files.conversion_result import SourceResult  # noqa: E402
from migrate.source.paddle import folder  # noqa: E402
from migrate.source.paddle.abstract.program import settings  # noqa: E402
from migrate.verify.comparer import Comparer  # noqa: E402
from migrate.verify.paddle import batches as batch_worker  # noqa: E402
from migrate.verify.paddle.static import common, converted, original  # noqa: E402
from migrate.verify.paddle.trainer.common import RATES  # noqa: E402
from migrate.verify.paddle.trainer.folder import feeds_of  # noqa: E402
from migrate.verify.settings import Settings  # noqa: E402
from runtime import nn  # noqa: E402

pytestmark = pytest.mark.paddle
CLICKS = Path(__file__).parent / "folders" / "clicks"
TEXTS = {path.name: path.read_text() for path in CLICKS.iterdir() if path.suffix in {".py", ".yaml"}}


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Forget what the programs import, where they run, and that Paddle makes static graphs."""
    here, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    yield
    paddle.disable_static()
    os.chdir(here)
    sys.path[:] = path
    forget(modules)


def forget(known: set[str]) -> None:
    for name in set(sys.modules) - known:
        if name in {"net", "static_model", "line_reader"}:
            del sys.modules[name]


def results(changes: dict[str, tuple[str, str]] | None = None) -> dict[str, SourceResult]:
    """Convert the files, with a text of some replaced by another."""
    texts = dict(TEXTS)
    for name, (before, after) in (changes or {}).items():
        assert before in texts[name]
        texts[name] = texts[name].replace(before, after)
    return {
        one: folder.convert(str(CLICKS / one), text, {k: v for k, v in texts.items() if k != one})
        for one, text in texts.items()
        if one.endswith(".py")
    }


def written(target: Path) -> Path:
    """Write the converted files."""
    for name, result in results().items():
        (target / name).write_text(result.converted)
    return target


def compared(target: Path, rates: dict[str, float]) -> Comparer:
    job: dict[str, Any] = {
        "path": str(CLICKS),
        "config": settings(TEXTS),
        "settings": Settings(steps=3, batches=2),
        "rates": rates,
        "dtype": "float32",
        "count": 2,
        "feeds": feeds_of(CLICKS, TEXTS),
    }
    known = set(sys.modules)
    job["batches"] = batch_worker.run(job)["batches"]
    values, lengths = job["batches"][0][3]  # the first slot, of which sequence 1 becomes empty
    start, end = lengths[0], lengths[:2].sum()
    lengths[1] = 0
    job["batches"][0][3] = [np.delete(values, slice(start, end), axis=0), lengths]
    single = original.run(job)["recording"]
    forget(known)
    moved = converted.run({**job, "path": str(target), "weights": single.weights})["recording"]
    return Comparer(single, moved)


@pytest.mark.one_case
def test_a_static_model_computes_what_paddle_computes(tmp_path: Path) -> None:
    pair = compared(written(tmp_path), RATES)
    comparisons = list(pair.comparisons())
    assert {*RATES, "own"} == {c.stage for c in comparisons if c.series}
    assert pair.memory() and all(one.before <= one.after for one in pair.memory())
    assert [c for c in comparisons if c.verdict == "differs"] == []
    assert {"forward", "loss", "gradient", "sgd", "adagrad", "adam", "own"} <= {c.stage for c in comparisons}
    gradients = {c.name: c.scale for c in comparisons if c.stage == "gradient"}
    assert {"shared", "sparse_embedding_2.w_0", "cities"} <= set(gradients) and all(gradients.values())
    assert sum(c.name.startswith("evaluated") for c in comparisons) == 2


#: what is wrong in a converted file, and the stages that must tell
WRONG = {
    "initializer": ("net.py", "Uniform(0.0, 0.5)", "Uniform(0.0, 0.6)", {"initial"}),
    "rate": ("static_model.py", "learning_rate=self.rate,", "learning_rate=1.01 * self.rate,", {"own"}),
    "slot": ("static_model.py", "lazy_mode=True", "beta1=0.8, lazy_mode=True", {"own"}),
    "rows": ("net.py", '"average"', '"sum"', {"forward", "evaluation", "loss", "gradient", "own"}),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.each_case
def test_a_wrong_conversion_is_found(name: str, tmp_path: Path) -> None:
    file, before, after, stages = WRONG[name]
    path = written(tmp_path) / file
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    assert {c.stage for c in compared(tmp_path, {}).comparisons() if c.verdict == "differs"} == stages


@pytest.mark.one_case
@pytest.mark.soak
def test_a_static_model_trains_on_its_sample_data(tmp_path: Path) -> None:
    config = settings(TEXTS)
    trainer = common.trainer_of(str(written(tmp_path)), config)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.set_random_seed(1)
        training = nn.static.StaticTraining(trainer, config, str(tmp_path), data_folder=str(CLICKS))
        history = training.run(session, 12)
    assert history[0]["steps"] == 5
    assert history[-1]["train cost"] < history[0]["train cost"]
    assert history[-1]["test auc"] > 0.8


def test_admission_by_chance_is_converted_and_told() -> None:
    net = results({"net.py": ("ShowClickEntry(show.name, click.name)", "ProbabilityEntry(0.5)")})["net.py"]
    assert "entry = nn.static.ProbabilityEntry(0.5)" in net.converted
    (told,) = (one for one in net.findings if one.rule == "paddle-entry")
    assert (told.state, told.applicability) == (State.APPLIED, Applicability.CHANGES_VALUES)
    assert "at each occurrence with probability 0.5" in told.message


@pytest.mark.parametrize(
    ("name", "before", "after", "told"),
    [
        ("net.py", "input=row, pool_type", "input=paddle.exp(row), pool_type", "has no sequences"),
        ("net.py", "counts, False)", "counts)", "counted by Paddle's servers"),
        ("net.py", "sparse_embedding(ids[-1],", "sparse_embedding(paddle.squeeze(city),", "last size of these ids"),
        (
            "static_model.py",
            "optimizer.Adam(learning_rate=self.rate, lazy_mode=True)",
            "optimizer.AdamW(0.1)",
            "every row",
        ),
        ("static_model.py", "        optimizer.minimize(self._cost)\n", "", "must call `minimize`"),
    ],
)
def test_what_has_no_form_is_refused_where_it_stands(name: str, before: str, after: str, told: str) -> None:
    found = results({name: (before, after)})
    messages = [one.message for result in found.values() for one in result.findings if one.state is State.UNSUPPORTED]
    assert len(messages) >= 1 and told in messages[0]
    assert all(result.converted == result.original for result in found.values() if result.path.endswith(name))


DYNAMIC = """
import paddle

import net


class DygraphModel:
    def create_model(self, config):
        return net.Net(config.get("hyper_parameters.size"))

    def create_optimizer(self, model, config):
        return paddle.optimizer.SGD(0.1, parameters=model.parameters())

    def train_forward(self, model, metrics, batch, config):
        x = model(batch[0])
        return paddle.mean(x), metrics, {}
"""
STATIC = """
import paddle

from net import Net


class StaticModel:
    def __init__(self, config):
        self.config = config

    def create_feeds(self, is_infer=False):
        return [paddle.static.data(name="x", shape=[None, 3], dtype="float32")]

    def net(self, input, is_infer=False):
        self.cost = paddle.mean(Net(self.config.get("hyper_parameters.size"))(input[0]))
        return {"cost": self.cost}

    def create_optimizer(self, strategy=None):
        paddle.optimizer.SGD(0.1).minimize(self.cost)
"""
NET = """
import paddle


class Net(paddle.nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.out = paddle.nn.Linear(3, size)

    def forward(self, x):
        return paddle.concat([self.out(x)], axis=1)
"""


HOLDER = """class Holder:
    def __init__(self, x):
        self.x = x

    def reshape(self, shape):
        return self.x


class StaticModel"""


def beside(**texts: str) -> dict[str, SourceResult]:
    """Convert a folder with both trainers."""
    files = {
        "dygraph_model.py": DYNAMIC,
        "static_model.py": STATIC,
        "net.py": NET,
        "config.yaml": "hyper_parameters: {size: 2}",
    }
    files |= {f"{name}.py": text for name, text in texts.items()}
    return {
        name: folder.convert(name, text, {k: v for k, v in files.items() if k != name})
        for name, text in files.items()
        if name.endswith(".py")
    }


def test_a_static_model_beside_a_trainer_converts_with_it() -> None:
    found = beside()
    assert all("import paddle" not in result.converted for result in found.values())
    assert "nn.optimizer.SGD(0.1).minimize(self.cost)" in found["static_model.py"].converted
    alone = beside(static_model=STATIC.replace("minimize", "minimise"))  # which is not converted
    assert found["net.py"].converted == alone["net.py"].converted


def test_a_static_model_that_needs_another_text_stays() -> None:
    other = STATIC.replace("(input[0])", "(Holder(input[0]))").replace("class StaticModel", HOLDER)
    net = NET.replace("        return", "        x = x.reshape([-1, 3])\n        return")
    found = beside(static_model=other, net=net)
    assert found["static_model.py"].converted == other and "import paddle" not in found["net.py"].converted
    assert (
        "because of net.py:11: the two trainers need different converted code here"
        in found["static_model.py"].findings[0].message
    )
    broken = beside(static_model=STATIC.replace("paddle.mean", "paddle.frobnicate"))["static_model.py"]
    assert broken.converted == broken.original and "`paddle.frobnicate` is not supported" in broken.findings[0].message
