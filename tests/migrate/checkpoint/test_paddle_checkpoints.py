"""`migrate checkpoint` of Paddle's files: the converted trainer goes on as Paddle does, and Paddle as the trainer."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner, Result

from migrate.checkpoint.paddle import moving, process
from migrate.checkpoint.paddle.state_file import read_state, write_state
from migrate.cli.main import cli
from migrate.errors import MigrateError
from migrate.source.paddle import folder
from runtime import nn

pytestmark = pytest.mark.paddle

NET = """
import paddle
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self, rows, width):
        super().__init__()
        self.items = nn.Embedding(rows, width, padding_idx=0, weight_attr=paddle.ParamAttr(name="Items"))
        self.kinds = nn.Embedding(5, width)
        self.first = nn.Linear(width, width)
        self.norm = nn.BatchNorm1D(width)
        self.again = self.first
        self.still = nn.Linear(width, width, weight_attr=paddle.ParamAttr(trainable=False))
        self.scale = self.create_parameter(shape=[width])

    def forward(self, items, kinds):
        whole = paddle.mean(self.kinds.weight)
        rows = paddle.mean(self.items(items), axis=1) + paddle.squeeze(self.kinds(kinds), axis=1)
        hidden = self.norm(self.first(rows))
        hidden = self.still(nn.functional.relu(self.again(hidden))) * self.scale
        return paddle.sum(hidden, axis=1, keepdim=True) + whole
"""
TRAINER = """
import net
import paddle


class DygraphModel():
    def create_model(self, config):
        return net.Net(config.get("hyper_parameters.rows"), config.get("hyper_parameters.width"))

    def create_loss(self, out, label):
        return paddle.mean(paddle.square(out - label))

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.OPTIMIZER, parameters=dy_model.parameters())

    def create_metrics(self):
        return [], []

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        loss = self.create_loss(dy_model.forward(batch_data[0], batch_data[1]), batch_data[2])
        return loss, metrics_list, {"loss": loss}
"""
READER = """
import numpy as np
from paddle.io import IterableDataset


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super().__init__()
        self.file_list = file_list

    def __iter__(self):
        for file in self.file_list:
            with open(file, "r") as lines:
                for line in lines:
                    parts = line.strip().split(" ")
                    ids = [int(part) for part in parts[:4]]
                    yield [
                        np.array(ids[:3]).astype("int64"),
                        np.array(ids[3:]).astype("int64"),
                        np.array([float(parts[4])]).astype("float32"),
                    ]
"""
CONFIG = """
runner:
  train_data_dir: data
  train_reader_path: plain_reader
  train_batch_size: 8
  epochs: 2
hyper_parameters: {rows: 30, width: 4}
"""
ADAM = "Adam(learning_rate=0.05"
SCHEDULE = "paddle.optimizer.lr.ExponentialDecay(0.1, 0.9)"
ADAGRAD = f"Adagrad(learning_rate={SCHEDULE}, initial_accumulator_value=0.1"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Build trainers in this process, and forget what they import, and where they run."""
    where, path = Path.cwd(), list(sys.path)
    monkeypatch.setattr(moving, "_run", run)
    yield
    os.chdir(where)
    sys.path[:] = path
    forget()


def forget() -> None:
    for name in ("net", "dygraph_model", "plain_reader"):
        sys.modules.pop(name, None)


def run(job: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    where = Path.cwd()
    forget()
    process.main(*(str(path) for path in written_job(job, scratch)))
    os.chdir(where)
    found: dict[str, Any] = pickle.loads((scratch / "result").read_bytes())
    if "error" in found:
        raise MigrateError(found["error"])
    return found


def written_job(job: Mapping[str, Any], scratch: Path) -> tuple[Path, Path]:
    (scratch / "job").write_bytes(pickle.dumps(dict(job)))
    return scratch / "job", scratch / "result"


def folders(root: Path, optimizer: str = ADAM, net: str = NET, unbucket: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """Write a model's folder, and the converted one."""
    first, second = root / "original", root / "converted"
    files = {"net.py": net, "dygraph_model.py": TRAINER.replace("OPTIMIZER", optimizer)}
    files |= {"plain_reader.py": READER, "config.yaml": CONFIG}
    drawn = np.random.RandomState(3)
    lines = [
        " ".join(map(str, (*drawn.randint(0, 30, 3), drawn.randint(5), round(drawn.rand(), 3)))) for _ in range(80)
    ]
    for place in (first, second):
        (place / "data").mkdir(parents=True)
        (place / "data" / "part").write_text("\n".join(lines))
        (place / "config.yaml").write_text(CONFIG)
    for name, text in files.items():
        (first / name).write_text(text)
        if name.endswith(".py"):
            others = {other: files[other] for other in files if other != name}
            (second / name).write_text(folder.convert(str(first / name), text, others, unbucket=unbucket).converted)
    return first, second


class Original:
    """The trainer in Paddle."""

    def __init__(self, where: Path, state: Path | None = None) -> None:
        import paddle

        forget()
        sys.path.insert(0, str(where))
        self.config = nn.settings(str(where / "config.yaml"))
        self.trainer = importlib.import_module("dygraph_model").DygraphModel()
        paddle.seed(1)
        self.names = paddle.base.unique_name.UniqueNameGenerator()  # as in a process of its own
        with self.named():
            self.model = self.trainer.create_model(self.config)
            self.optimizer = self.trainer.create_optimizer(self.model, self.config)
        if state is not None:
            self.model.set_state_dict(paddle.load(str(state)))
            self.optimizer.set_state_dict(paddle.load(str(state.with_suffix(".pdopt"))))
        reader = importlib.import_module("plain_reader").RecDataset([str(where / "data" / "part")], {})
        samples = [*iter(reader)]
        groups = [samples[i : i + 8] for i in range(0, len(samples), 8)]
        self.batches = [[paddle.to_tensor(np.stack(part)) for part in zip(*group, strict=True)] for group in groups]
        sys.path.remove(str(where))

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        import paddle

        others = paddle.utils.unique_name.switch(self.names)
        yield
        paddle.utils.unique_name.switch(*others)

    def train(self, steps: int) -> list[float]:
        with self.named():
            return [self.step(items) for items in self.batches[:steps]]

    def step(self, items: Any) -> float:
        loss = self.trainer.train_forward(self.model, [], items, self.config)[0]
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        if not isinstance(self.optimizer._learning_rate, float):
            self.optimizer._learning_rate.step()
        return float(loss)

    def save(self, state: Path) -> Path:
        import paddle

        paddle.save(self.model.state_dict(), str(state))
        paddle.save(self.optimizer.state_dict(), str(state.with_suffix(".pdopt")))
        return state


def go_on(where: Path, model_dir: Path, epochs: int = 2, steps: int | None = None) -> float:
    """Train the converted program for ten steps, or fewer, from a checkpoint; return the mean loss."""
    forget()
    sys.path.insert(0, str(where))
    trainer = importlib.import_module("dygraph_model").DygraphModel()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        training = nn.Training(trainer, nn.settings(str(where / "config.yaml")), str(where))
        return training.run(session, epochs, steps, model_dir=str(model_dir), schedule="step")[0]["loss"]


def command(*given: Any) -> Result:
    return CliRunner().invoke(cli, ["checkpoint", *map(str, given)])


def refused(*given: Any) -> str:
    result = command(*given)
    assert isinstance(result.exception, MigrateError), (result.output, result.exception)
    assert "\n" not in str(result.exception)
    return str(result.exception)


def done(*given: Any) -> str:
    result = command(*given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def assert_equal(first: Path, second: Path, tolerance: float = 2e-5) -> None:
    """Compare two files entry by entry; slots relative to the largest element, as training rounds."""
    sides = read_state(first), read_state(second)
    assert set(sides[0]) == set(sides[1])
    for key, value in sides[0].items():
        other = sides[1][key]
        if isinstance(value, dict):
            assert {k: pytest.approx(v) for k, v in value.items()} == other, key
            continue
        assert value.shape == other.shape and value.dtype == other.dtype, key
        scale = max(float(np.abs(value).max()), 1e-6)
        assert np.abs(value - other).max() <= tolerance * scale + 1e-7, key


@pytest.mark.parametrize(
    "optimizer", [ADAM, ADAGRAD, "Momentum(learning_rate=0.02"], ids=["adam", "adagrad", "momentum"]
)
@pytest.mark.one_case
def test_training_goes_on_in_the_other_program_and_back(optimizer: str, tmp_path: Path) -> None:
    first, second = folders(tmp_path, optimizer)
    (tmp_path / "saved").mkdir()
    original = Original(first)
    original.train(3)
    saved = original.save(tmp_path / "saved" / "rec.pdparams")
    told = done(saved.parent, tmp_path / "run" / "model.ckpt-1", "--converted", second)
    assert "new slots" not in told and "no slots" not in told
    same = tmp_path / "back" / "same.pdparams"
    done(tmp_path / "run" / "model.ckpt-1", same, "--converted", second, "--like", saved.parent)
    assert_equal(saved, same, 0.0)
    assert_equal(saved.with_suffix(".pdopt"), same.with_suffix(".pdopt"), 3e-7)

    losses = original.train(10)
    assert Original(first, same).train(10) == pytest.approx(losses, rel=1e-5)
    assert go_on(second, tmp_path / "run") == pytest.approx(np.mean(losses), rel=1e-5)
    moved = tmp_path / "back" / "moved.pdparams"
    done(tmp_path / "run" / "model.ckpt-2", moved, "--converted", second, "--like", saved)
    later = original.save(tmp_path / "saved" / "later.pdparams")
    assert_equal(later, moved)
    assert_equal(later.with_suffix(".pdopt"), moved.with_suffix(".pdopt"))
    assert Original(first, moved).train(10) == pytest.approx(original.train(10), rel=1e-4)


BUCKETED = NET.replace("Embedding(rows,", "Embedding(7,").replace("self.items(items)", "self.items(items % 7)")


@pytest.mark.parametrize("optimizer", [ADAM, ADAGRAD], ids=["adam", "adagrad"])
@pytest.mark.one_case
def test_rows_that_paddle_trained_are_those_of_the_buckets(optimizer: str, tmp_path: Path) -> None:
    """The first step is Paddle's, slots included, then ids part; a matrix has no place for what they learn."""
    first, second = folders(tmp_path, optimizer, BUCKETED, unbucket=("items",))
    net = (second / "net.py").read_text()
    assert "table=nn.TableRules(base_buckets=7))" in net and "operators.divided(items, 7)" in net
    original = Original(first)
    original.train(3)
    (tmp_path / "saved").mkdir()
    saved = original.save(tmp_path / "saved" / "rec.pdparams")
    done(saved.parent, tmp_path / "run" / "model.ckpt-1", "--converted", second)
    same = tmp_path / "back" / "same.pdparams"
    done(tmp_path / "run" / "model.ckpt-1", same, "--converted", second, "--like", saved.parent)
    assert_equal(saved, same, 0.0)
    assert_equal(saved.with_suffix(".pdopt"), same.with_suffix(".pdopt"), 3e-7)
    shutil.copytree(tmp_path / "run", tmp_path / "more")
    losses = original.train(10)
    for steps in (1, 2):
        shutil.copytree(tmp_path / "run", tmp_path / f"first-{steps}")
        mean = go_on(second, tmp_path / f"first-{steps}", steps=steps)
        assert bool(mean == pytest.approx(np.mean(losses[:steps]), rel=1e-5)) is (steps == 1)
    go_on(second, tmp_path / "more")
    words = refused(
        tmp_path / "more" / "model.ckpt-2", tmp_path / "n.pdparams", "--converted", second, "--like", saved.parent
    )
    assert "have rows of their own, in place of buckets, which do not fit into a matrix" in words


def test_embeddings_whose_ids_are_not_divided_keep_their_rows(tmp_path: Path) -> None:
    """As are ids of 32 bits, another number than that of the rows, and what stands between."""
    for ids in ("items", "items % 6", "paddle.cast(items, 'int32') % 7", "paddle.reshape(items % 7, [-1, 3])"):
        net = BUCKETED.replace("items % 7", ids)
        _, second = folders(tmp_path / ids.replace("/", ""), ADAM, net, unbucket=("all",))
        assert "TableRules" not in (second / "net.py").read_text(), ids
        result = folder.convert(
            "net.py",
            net,
            {"dygraph_model.py": TRAINER.replace("OPTIMIZER", ADAM), "config.yaml": CONFIG},
            unbucket=("all",),
        )
        assert not result.tables or "keeps the buckets of its ids" in "".join(one.message for one in result.findings)


def files_in(root: Path) -> list[Path]:
    """Return all that stands in a folder, but for what Python keeps of modules."""
    return sorted(path for path in root.rglob("*") if "__pycache__" not in path.parts)


def saved_once(root: Path) -> tuple[Path, Path]:
    """Return a file of Paddle's after three steps of Adam, and the converted folder."""
    first, second = folders(root)
    original = Original(first)
    original.train(3)
    return original.save(root / "rec.pdparams"), second


def test_bad_files_are_one_sentence_and_write_nothing(tmp_path: Path) -> None:
    saved, converted = saved_once(tmp_path)
    weights, slots = read_state(saved), read_state(saved.with_suffix(".pdopt"))
    few = {key: value for key, value in weights.items() if key != "norm.weight"}
    cases = {
        "there are no values for the weight `norm.weight`": (few, slots),
        "the weight `scale` has shape [4]": (weights | {"scale": weights["scale"][:2]}, slots),
        "no values for the slot `moment2` of the weight `items.weight`": (
            weights,
            {key: value for key, value in slots.items() if key != "Items_moment2_0"},
        ),
        "`Items_speed_0` is a slot that": (weights, slots | {"Items_speed_0": weights["scale"]}),
        "has no names of parameters": ({k: v for k, v in weights.items() if isinstance(v, np.ndarray)}, slots),
    }
    bad = tmp_path / "bad.pdparams"
    for told, (first, second) in cases.items():
        write_state(bad, first)
        write_state(bad.with_suffix(".pdopt"), second)
        before = files_in(tmp_path)
        assert told in refused(bad, tmp_path / "new" / "model.ckpt-1", "--converted", converted)
        assert files_in(tmp_path) == before, told


class Planted:
    """What a file must not be able to run."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("planted",)


def test_only_plain_data_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, converted = folders(tmp_path)
    bad = tmp_path / "bad.pdparams"
    for content in (pickle.dumps({"a": Planted()}), b"no pickle", pickle.dumps([1]), pickle.dumps({"a": ["b"]})):
        bad.write_bytes(content)
        assert refused(bad, "new", "--converted", converted).startswith(f"{bad}: ")
    assert not Path("planted").exists()
    for protocol in (2, 4):
        bad.write_bytes(pickle.dumps({"a": np.arange(3.0), "b": {"last_epoch": 1}}, protocol))
        assert read_state(bad)["a"].tolist() == [0.0, 1.0, 2.0]


def test_wrong_use_is_one_sentence(tmp_path: Path) -> None:
    saved, converted = saved_once(tmp_path)
    (tmp_path / "empty").mkdir()
    new, back = tmp_path / "model.ckpt-1", tmp_path / "back.pdparams"
    cases: dict[str, tuple[Any, ...]] = {
        "has no dygraph_model.py": (saved, new, "--converted", tmp_path / "empty"),
        "has no .pdparams file": (tmp_path / "empty", new, "--converted", converted),
        "cannot be read (No such file": (tmp_path / "no.pdparams", new, "--converted", converted),
        "give --report FILE, which `migrate convert --report FILE` writes, or for a Paddle model": (saved, new),
        "give --like a .pdparams": (new, back, "--converted", converted),
        "--map: is for a checkpoint of TensorFlow": (saved, new, "--converted", converted, "--map", "a=b"),
        "--like": (saved, new, "--converted", converted, "--like", saved),
        "--data": (saved, new, "--data", converted, "--report", saved),
        "already exists": (new, saved, "--converted", converted, "--like", saved),
        "does not fit the trainer": (new, back, "--converted", converted, "--like", saved),
        "with --data": (saved, new, "--converted", converted, "--data", tmp_path / "empty"),
    }
    before = files_in(tmp_path)
    for told, given in cases.items():
        assert told in refused(*given)
    assert files_in(tmp_path) == before


def test_a_process_of_its_own_writes_what_the_trainer_restores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved, converted = saved_once(tmp_path)
    monkeypatch.undo()
    saved.with_suffix(".pdopt").unlink()
    told = done(saved, tmp_path / "run" / "model.ckpt-1", "--converted", converted)
    assert "no rec.pdopt beside it: the optimizer starts with new slots" in told
    assert tf.train.latest_checkpoint(str(tmp_path / "run")) == str(tmp_path / "run" / "model.ckpt-1")
    assert "already exists" in refused(saved, tmp_path / "run" / "model.ckpt-1", "--converted", converted)


@pytest.mark.soak
def test_weights_in_plain_lists_begin_anew_and_rows_beyond_are_refused(tmp_path: Path) -> None:
    net = NET.replace(
        "        self.scale =",
        "        self.loose = [paddle.create_parameter([width], 'float32')]\n        self.scale =",
    ).replace("* self.scale", "* self.scale + self.loose[0]")
    first, second = folders(tmp_path, net=net)
    original = Original(first)
    original.train(3)
    saved = original.save(tmp_path / "rec.pdparams")
    told = done(saved, tmp_path / "model.ckpt-1", "--converted", second)
    assert (
        "1 weights belong to no layer, so no state dict has them: they get new initial values, as in Paddle\n" in told
    )
    data = second / "data" / "part"
    data.write_text(data.read_text().replace(" 7 ", " 70 "))
    go_on(second, tmp_path)
    why = refused(tmp_path / "model.ckpt-2", tmp_path / "back.pdparams", "--converted", second, "--like", saved)
    assert "the table `items.weight` has a row of the id 70, but the largest id of the model's embedding is 29" in why
