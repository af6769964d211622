"""Paddle programs in float64, with drawn weights, in part, behind the words of an SDK, and their batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
import tensorflow as tf
from paddle import nn

from migrate.errors import MigrateError
from migrate.schema import parse_schema
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from migrate.verify.distributions import Distribution
from migrate.verify.paddle import patches
from migrate.verify.paddle.converted import facade
from migrate.verify.paddle.graph_side import distribution_of
from migrate.verify.paddle.pair import measure
from migrate.verify.paddle.trainer import following, graph_random_numbers
from migrate.verify.paddle.trainer.random_tensors import Chance
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings
from runtime.nn import functional
from runtime.nn.initializer import Assign
from runtime.nn.weights.weight import Parameter

pytestmark = pytest.mark.paddle


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Paddle compute in float64 during a test."""
    for owner, name, function in patches.patches():
        monkeypatch.setattr(owner, name, function)
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


class Made(nn.Layer):
    """Makes weights in all ways, each with its own words for float32."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = self.create_parameter([2, 2])
        self.told = self.create_parameter([2, 2], dtype="float32")
        self.free = paddle.create_parameter([2, 2], "float32")
        self.named = paddle.create_parameter(shape=[2, 2], dtype=paddle.float32)
        self.linear = nn.Linear(2, 2)


@pytest.mark.usefixtures("wide")
def test_weights_that_are_made_as_float32_are_float64_and_take_such_values() -> None:
    model = Made()
    third = np.full([2, 2], 1 / 3)
    for name, weight in model.named_parameters():
        assert weight.dtype == paddle.float64, name
        if weight.shape == [2, 2]:
            weight.set_value(third)
            np.testing.assert_array_equal(weight.numpy(), third)


@pytest.mark.usefixtures("wide")
def test_tensors_that_are_made_as_float32_meet_float64() -> None:
    x = paddle.full([2, 2], 0.5, dtype="float64")
    made = {
        "full": paddle.full(shape=[2, 2], fill_value=1.0, dtype="float32"),
        "zeros": paddle.zeros([2, 2], "float32"),
        "ones_like": paddle.ones_like(x.astype("bool"), dtype="float32"),
        "assign": paddle.assign(np.ones([2, 2], np.float32)),
        "cast": paddle.cast(x > 0, "float32"),
        "method": (x > 0).astype(paddle.float32),
        "one_hot": F.one_hot(paddle.to_tensor([0, 1]), 2),
        "arange": paddle.arange(0, 2, dtype="float32"),
    }
    for name, tensor in made.items():
        assert paddle.maximum(x, tensor).dtype == paddle.float64, name
    assert paddle.zeros([2], "int64").dtype == paddle.int64


WEIGHTS = [0.0, 0.5, 3.0, 0.1, 0.4]
#: name -> a call of one of both modules; the last is how its weights become a tensor.
CALLS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "rand": lambda of, tensor: of.rand([3, 2]),
    "uniform": lambda of, tensor: of.uniform([4], min=-3.0, max=0.5),
    "randn": lambda of, tensor: of.randn([2, 2]),
    "normal": lambda of, tensor: of.normal(1.0, 0.5, [3]),
    "normal of tensors": lambda of, tensor: of.normal(tensor(WEIGHTS), 2.0),
    "randint": lambda of, tensor: of.randint(2, 9, [5]),
    "randint below": lambda of, tensor: of.randint(4, shape=[3], dtype="int32"),
    "randint_like": lambda of, tensor: of.randint_like(tensor(WEIGHTS), 1, 7),
    "randperm": lambda of, tensor: of.randperm(6),
    "choices": lambda of, tensor: of.multinomial(tensor(WEIGHTS), 4),
    "choices again": lambda of, tensor: of.multinomial(tensor([WEIGHTS, WEIGHTS[::-1]]), 9, True),
    "bernoulli": lambda of, tensor: of.bernoulli(tensor(WEIGHTS) / 4.0),
}


def test_all_that_is_drawn_is_the_same() -> None:
    with Chance().replacing():
        expected = [call(paddle, paddle.to_tensor).numpy() for call in CALLS.values()]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session, graph_random_numbers.drawn():
        found = session.run([call(functional, tf.constant) for call in CALLS.values()])
    for name, first, second in zip(CALLS, expected, found, strict=True):
        assert first.dtype == second.dtype, name
        np.testing.assert_allclose(first, second, rtol=1e-6, err_msg=name)
    assert len(set(expected[9])) == 4 and 0 not in expected[9], "an index is drawn once, and never one of weight 0"


def test_paddle_draws_by_itself_afterwards() -> None:
    stock = paddle.rand, paddle.nn.functional.dropout, paddle.Tensor.multinomial
    chance = Chance()
    with chance.replacing():
        first = paddle.rand([4]).numpy()
    with chance.replacing():  # counts anew
        np.testing.assert_array_equal(paddle.rand([4]).numpy(), first)
    assert (paddle.rand, paddle.nn.functional.dropout, paddle.Tensor.multinomial) == stock


def test_a_parameter_gets_the_gradient_that_is_given() -> None:
    table, bias = paddle.nn.Embedding(6, 2, sparse=True), paddle.create_parameter([2], "float32")
    idle = paddle.create_parameter([1], "float32")
    parameters = {"table": table.weight, "bias": bias, "idle": idle}
    (table(paddle.to_tensor([1, 4])) * bias).sum().backward()
    rows = np.array([4, 2, 4]), np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    third = np.full([2], 1 / 3, np.float32)
    following.give_gradients(parameters, {"table": rows, "bias": third, "idle": np.ones([1], np.float32)})
    found = following.gradients_of(parameters)
    assert isinstance(found["table"], tuple) and found["idle"] is None, "rows stay rows, and none stays none"
    np.testing.assert_array_equal(following.dense(found["table"], (6, 2))[[2, 4]], [[3, 4], [6, 8]])
    np.testing.assert_array_equal(found["bias"], third)
    following.give_gradients(parameters, {"table": np.ones([6, 2], np.float32)})
    found = following.gradients_of(parameters)
    assert found["bias"].tolist() == [0, 0], "none is given"
    assert sorted(set(found["table"][0])) == [2, 4]


NET = """
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 1)

    def forward(self, ids):
        return self.out(self.rows(ids))
"""
TRAINER = """
import paddle

import net


class DygraphModel:
    def create_model(self, config):
        return net.Net()

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.SGD(0.5, parameters=PARAMETERS)

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        return paddle.mean(dy_model(batch_data[0])), metrics_list, {}
"""
#: id -> (what the optimizer gets, which weights these are)
PARTS = {
    "all": ("dy_model.parameters()", {"rows.weight", "out.weight", "out.bias"}),
    "one-layer": ("dy_model.out.parameters()", {"out.weight", "out.bias"}),
    "one-weight": ("[dy_model.rows.weight]", {"rows.weight"}),
    "groups": ("[{'params': [dy_model.out.bias]}, {'params': [dy_model.rows.weight]}]", {"out.bias", "rows.weight"}),
}


@pytest.mark.parametrize("name", PARTS)
def test_steps_of_an_optimizer_are_those_of_the_weights_that_it_has(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from migrate.verify.paddle.trainer.original import Original, measured

    given, trained = PARTS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "dygraph_model.py").write_text(TRAINER.replace("PARAMETERS", given))
    batches = [[np.array([0, 1, 1, 3])]]
    job: dict[str, Any] = {"path": str(tmp_path), "config": {}, "dtype": "float32", "rates": {}, "batches": batches}
    side = Original(job)
    weights, gradients = side.values(), _gradients(side.values())
    applied = {key: value for key, value in gradients.items() if key in trained}
    step = Moment(gradients=applied, values=weights)  # the converted program is put back, so that both steps are alike
    moved = Recording({}, [Moment(gradients=gradients)], {"own": [step, step]})
    job |= {"settings": Settings(steps=2, batches=1), "passes": False, "weights": weights, "moved": moved}
    for one in measured(side, job)["recording"].steps["own"]:
        assert one.gradients.keys() == trained
        for key, value in one.values.items():
            assert np.allclose(value, weights[key] - 0.5 * applied.get(key, 0.0), atol=1e-6), key
        for key, value in applied.items():
            assert np.allclose(one.gradients[key], value, atol=1e-6), key


def _gradients(weights: dict[str, Any]) -> dict[str, Any]:
    """Return the gradients of the mean of `rows[0, 1, 1, 3] · out + bias`, by hand."""
    counts = np.array([1.0, 2.0, 0.0, 1.0, 0.0])[:, None] / 4
    return {
        "rows.weight": (counts * weights["out.weight"].T).astype(np.float32),
        "out.weight": (counts * weights["rows.weight"]).sum(0)[:, None],
        "out.bias": np.ones(1, np.float32),
    }


#: Two layers read the input; their kernels begin with different constants, so that there are two tables.
SDK_NET = """
import paddle.nn as nn
import paddle.nn.functional as F


class Net(nn.Layer):
    def __init__(self, size):
        super().__init__()
        start = nn.initializer.Constant
        self.first = nn.Linear(size, 3, weight_attr=start(0.25))
        self.second = nn.Linear(size, 2, weight_attr=start(-0.5))
        self.last = nn.Linear(2, 1, weight_attr=nn.initializer.Normal(0.0, 0.3))

    def forward(self, x):
        return F.sigmoid(self.last(F.relu(self.first(x))[:, 0:2] * self.second(x)))
"""
SCHEMA = """
version: 1
model: {class: Net, arguments: {size: 20}}
input: {size: 20, dense: [[0, 3]], sparse: [{name: p, start: 3, size: 9}, {name: q, start: 12, size: 8}]}
labels: [a]
tasks: [{name: a, output: 0, label: a, positive: 0}]
"""
SETTINGS = Settings(steps=3, batches=2)


def converted(folder: Path, target: str, before: str = "", after: str = "") -> Path:
    """Write the model and what it becomes; return the path of the latter."""
    result = convert("net.py", SDK_NET, Options(parse_schema(SCHEMA, "schema"), target), {})
    assert result.changed
    (folder / "net.py").write_text(SDK_NET)
    path = folder / f"{target}.py"
    assert before in result.converted
    path.write_text(result.converted.replace(before, after))
    return path


@pytest.mark.parametrize("target", ["rec_sdk", "deeprec", "sok"])
@pytest.mark.one_case
def test_an_sdk_computes_what_paddle_does(target: str, tmp_path: Path) -> None:
    path = converted(tmp_path, target)
    assert "runtime" not in path.read_text()
    pair = measure(str(tmp_path / "net.py"), str(path), parse_schema(SCHEMA, "schema"), SETTINGS)
    found = list(pair.comparisons())
    assert [(one.stage, one.name) for one in found if one.verdict != "equal"] == []
    assert {one.stage for one in found} == {"initial", "forward", "loss", "gradient", "sgd", "adagrad", "adam"}
    assert {"first.weight", "second.weight"} <= {one.name for one in found if one.stage == "adam"}
    assert [one.before for one in pair.memory()] == [17 * width * 4 * 3 for width in (3, 2)], "two tables, and Adam"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="give the converted file"), facade(str(tmp_path / "none.py")):
        pass


READER = """
import numpy as np
from paddle.io import {base}


class RecDataset({base}):
    def __init__(self, files, config):
        super().__init__()
        self.files, self.most = files, config["most"]

    def sample(self, i):
        if i == self.most:
            raise ValueError("line 5 has no label")
        return {sample}

{methods}
"""
OF_ITERABLE = "    def __iter__(self):\n        for i in range(7):\n            yield self.sample(i)\n"
OF_MAP = "    def __len__(self):\n        return 7\n\n    def __getitem__(self, i):\n        return self.sample(i)\n"
SAMPLES = {
    "arrays": '[np.array([i, 2]), np.array([i / 2], "float32")]',
    "a mapping": '{"ids": [i, 1], "label": np.full([2], i, "int32"), "price": 0.5 * i}',
}


def given(folder: Path, base: str, sample: str, most: int, size: int | None) -> dict[str, Any]:
    methods = OF_ITERABLE if base == "IterableDataset" else OF_MAP
    (folder / "data").mkdir()
    (folder / "data" / "part").write_text("")
    (folder / "own_reader.py").write_text(READER.format(base=base, sample=sample, methods=methods))
    config = {"runner.train_data_dir": "data", "runner.train_reader_path": "own_reader", "most": most}
    return {
        "path": str(folder),
        "config": config | ({} if size is None else {"runner.train_batch_size": size}),
        "count": 9,
    }


def alike(mine: Any, of_paddle: Any) -> None:
    if isinstance(of_paddle, dict):
        assert list(mine) == list(of_paddle)
        mine, of_paddle = list(mine.values()), list(of_paddle.values())
    if isinstance(of_paddle, list | tuple):
        assert len(mine) == len(of_paddle)
        for one, other in zip(mine, of_paddle, strict=True):
            alike(one, other)
        return
    expected = np.asarray(of_paddle)
    assert (mine.dtype, mine.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize("base", ["IterableDataset", "Dataset"])
@pytest.mark.parametrize("size", [3, None])
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_batches_are_those_of_paddles_loader(tmp_path: Path, base: str, size: int | None, sample: str) -> None:
    from paddle.io import DataLoader

    from migrate.verify.paddle import batches

    job = given(tmp_path, base, sample, -1, size)
    mine = batches.run(job)["batches"]
    import own_reader  # type: ignore[import-not-found]

    dataset = own_reader.RecDataset([], job["config"])
    loader = DataLoader(dataset, batch_size=size, drop_last=size is not None, return_list=True)
    alike(mine, [items for items in loader])  # noqa: C416 - `list` asks for its length
    assert len(mine) == (7 if size is None else 2)


@pytest.mark.parametrize("base", ["IterableDataset", "Dataset"])
def test_a_reader_that_fails_is_an_error(tmp_path: Path, base: str) -> None:
    from migrate.verify.paddle import batches

    with pytest.raises(ValueError, match="line 5 has no label"):
        batches.run(given(tmp_path, base, SAMPLES["arrays"], 5, 3))


def test_values_that_are_set_as_they_were_drawn_compare_by_their_distribution() -> None:
    with patches.watched_distributions() as watched:
        layers = {name: nn.Linear(3, 2, bias_attr=False) for name in ("normal", "uniform", "scaled", "constant")}
        layers["normal"].weight.set_value(paddle.tensor.normal(mean=0.5, std=0.02, shape=[3, 2]))
        layers["uniform"].weight.set_value(paddle.uniform([3, 2], min=-0.2, max=0.4))
        layers["scaled"].weight.set_value(paddle.normal(0.0, 1.0, [3, 2]) * 2)
        layers["constant"].weight.set_value(paddle.full([3, 2], 0.5))
    weights = {name: layer.weight for name, layer in layers.items()}
    drawn = patches.distributions_of(watched, weights, {name: weight.numpy() for name, weight in weights.items()})
    assert drawn == {"normal": Distribution("normal", 0.5, 0.02), "uniform": Distribution("uniform", -0.2, 0.4)}
    with tf.Graph().as_default():
        values = {
            "normal": functional.normal(mean=0.5, std=0.02, shape=[3, 2]),
            "uniform": functional.uniform([3, 2], min=-0.2, max=0.4),
            "size": tf.abs(functional.normal(0.0, 1.0, [3, 2])),
        }
        made = {name: distribution_of(Parameter([3, 2], Assign(value), tf.float32)) for name, value in values.items()}
    assert made.pop("size") is None
    for name, distribution in made.items():
        assert distribution is not None and distribution.kind == name
        np.testing.assert_allclose([distribution.a, distribution.b], [drawn[name].a, drawn[name].b], rtol=1e-6)
