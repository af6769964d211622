"""Folders of models in the styles of public ones: converted, compared with Paddle in all stages, and trained.

Paddle and TensorFlow run in this process, one after the other, as the workers of `migrate verify` do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle import folder
from migrate.source.paddle.abstract.program import Program, settings
from migrate.source.paddle.emission.files import Written
from migrate.source.paddle.model_files import beside, texts_of
from migrate.verify.comparer import Comparer
from migrate.verify.paddle import batches as batch_worker
from migrate.verify.paddle.running import followed
from migrate.verify.paddle.trainer import common, converted, original
from migrate.verify.settings import Settings
from runtime import nn

pytestmark = pytest.mark.paddle

FOLDERS = Path(__file__).parent / "folders"
NAMES = ["wide_deep", "sessions", "experts"]


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Forget what the programs import, and where they run."""
    here, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    yield
    os.chdir(here)
    sys.path[:] = path
    forget(modules)


def forget(known: set[str]) -> None:
    for name in set(sys.modules) - known:
        if name.partition(".")[0] in {"net", "dygraph_model", "parts"} or name.endswith("_reader"):
            del sys.modules[name]


def texts(name: str) -> dict[str, str]:
    return {path.relative_to(FOLDERS / name).as_posix(): path.read_text() for path in texts_of(FOLDERS / name)}


def results(name: str) -> dict[str, SourceResult]:
    files = texts(name)
    return {
        one: folder.convert(str(FOLDERS / name / one), text, beside(one, files))
        for one, text in files.items()
        if one.endswith(".py")
    }


def test_files_of_a_folder_are_written_once_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    written_files: list[str] = []
    write_file = folder.write

    def counting(program: Program, path: str, rules: str = "", unbucket: bool = False) -> Written:
        written_files.append(path)
        return write_file(program, path, rules, unbucket)

    monkeypatch.setattr(folder, "write", counting)
    folder._texts.cache_clear()
    assert any(result.changed for result in results("wide_deep").values())
    assert written_files and len(written_files) == len(set(written_files))


def written(name: str, target: Path) -> Path:
    """Write the converted files."""
    for one, result in results(name).items():
        (target / one).parent.mkdir(parents=True, exist_ok=True)
        (target / one).write_text(result.converted)
    return target


def begun(name: str) -> tuple[original.Original, dict[str, Any], dict[str, Any]]:
    """Return the original, the job of both sides, and what the original measures before the converted one runs."""
    job: dict[str, Any] = {
        "path": str(FOLDERS / name),
        "config": settings(texts(name)),
        "settings": Settings(steps=3, batches=2),
        "rates": common.RATES,
        "dtype": "float32",
        "count": 3,
        "passes": True,
    }
    known = set(sys.modules)
    job["batches"] = batch_worker.run(job)["batches"]
    side = original.Original(job)
    single = original.measured(side, job)
    forget(known)
    return side, {**job, "weights": single["recording"].weights, "loose": single["loose"]}, single


def ended(side: original.Original, job: dict[str, Any], single: dict[str, Any], target: Path) -> Comparer:
    known = set(sys.modules)
    moved = converted.run({**job, "path": str(target)})["recording"]
    forget(known)
    follows = original.measured(side, {**job, "passes": False, "moved": moved})["recording"]
    return Comparer(followed(single["recording"], follows), moved)


def compared(name: str, target: Path) -> Comparer:
    return ended(*begun(name), target)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_case
def test_a_folder_computes_what_paddle_computes(name: str, tmp_path: Path) -> None:
    pair = compared(name, written(name, tmp_path))
    comparisons = list(pair.comparisons())
    assert [c for c in comparisons if c.verdict == "differs"] == []
    losses = {c.stage: c.series[0] for c in comparisons if c.series}
    assert {*common.RATES, "own"} <= losses.keys()
    assert list(losses["adam"].converted) == [float(step.losses[0][0]) for step in pair.converted.steps["adam"]]
    assert pair.memory()
    assert all(
        one.before == pair.original.weights[one.table].nbytes * (1 + one.slots) <= one.after for one in pair.memory()
    )
    assert {"forward", "loss", "gradient", "sgd", "adagrad", "adam", "own"} <= {c.stage for c in comparisons}
    assert all(c.scale > 0 for c in comparisons if c.stage in {"forward", "loss", "metrics"})
    assert [c.name for c in comparisons if c.stage == "metrics"] == (["Misses"] if name == "sessions" else [])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_case
@pytest.mark.soak
def test_a_folder_trains_on_its_sample_data(name: str, tmp_path: Path) -> None:
    target = written(name, tmp_path)
    trainer = common.trainer_of(str(target))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.set_random_seed(1)  # else one run in fourteen ends with a larger loss, as dropout falls
        training = nn.Training(trainer, settings(texts(name)), str(target), data_folder=str(FOLDERS / name))
        history = training.run(session, 15, schedule="step")
    assert training.config["config_abs_dir"] == str(
        FOLDERS / name
    )  # PaddleRec's tool sets it; readers open files by it
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1].get("train auc", 1.0) > 0.6


def test_an_embedding_that_is_read_whole_stays_dense() -> None:
    result = results("sessions")["net.py"]
    assert "self.items = nn.Embedding(items, width, table=False)" in result.converted
    assert "self.bias = nn.Embedding(items, 1)\n" in result.converted
    assert [table.name for table in result.tables] == ["bias"]
    messages = [finding.message for finding in result.findings]
    assert any(
        "`items` [12, 6] stays a dense variable, because its whole matrix is read at net.py:" in m for m in messages
    )


def test_the_second_conversion_changes_nothing() -> None:
    files = texts("wide_deep") | {one: result.converted for one, result in results("wide_deep").items()}
    for one in ("net.py", "slot_reader.py"):
        rest = {name: text for name, text in files.items() if name != one}
        assert not folder.convert(str(FOLDERS / "wide_deep" / one), files[one], rest).changed


def test_training_converts_alone_where_evaluation_cannot() -> None:
    files = texts("wide_deep")
    head, name, body = files["dygraph_model.py"].partition("    def infer_forward")
    files["dygraph_model.py"] = head + name + body.replace("both = ", "print(pred.sum().item())\n        both = ")
    rest = {one: text for one, text in files.items() if one != "dygraph_model.py"}
    path = str(FOLDERS / "wide_deep" / "dygraph_model.py")
    result = folder.convert(path, files["dygraph_model.py"], rest)
    assert result.changed and result.remains
    [finding] = [one for one in result.findings if one.remains]
    assert (
        finding.message.startswith("`infer_forward` is not converted: dygraph_model.py:")
        and ".item()" in finding.message
    )
    evaluation = result.converted.partition("def infer_forward")[2]
    assert "raise NotImplementedError" in evaluation and "create_feeds" not in evaluation
    assert "nn.functional.log_loss" in result.converted


#: name -> what is added to `__init__`, what to `forward`, and the reason.
REFUSED = {
    "a seed that each step sets": ("", "np.random.seed(1)", "a seed that each step sets is set once"),
    "a weight that is frozen in a step": (
        "",
        "self._deep[0].weight.stop_gradient = True",
        "is set in the forward pass; set it",
    ),
    "a schedule that goes on": (
        "self.rate = paddle.optimizer.lr.NoamDecay(8, 4)",
        "self.rate.step()",
        '`run(session, schedule="step")` of `nn.Training`',
    ),
    "a copy of the model": (
        "",
        "y = copy.deepcopy(self._deep[0])(y)",
        "a layer with weights is created in the forward pass",
    ),
}


def with_lines(init: str, forward: str) -> dict[str, str]:
    """Return the files of `wide_deep` with lines added to its network."""
    files = texts("wide_deep")
    place = "        scale = paddle.ones"
    net = files["net.py"].replace("import math\n", "import copy\nimport math\n\nimport numpy as np\n")
    net = net.replace("        self._deep = []\n", f"        self._deep = []\n        {init or 'pass'}\n")
    net = net.replace("import copy\n", "import copy\nimport nltk\n") if "nltk" in forward else net
    return files | {"net.py": net.replace(place, f"        {forward}\n{place}")}


def converted_net(files: dict[str, str]) -> SourceResult:
    rest = {one: text for one, text in files.items() if one != "net.py"}
    return folder.convert(str(FOLDERS / "wide_deep" / "net.py"), files["net.py"], rest)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_converted_is_refused_at_its_line(name: str) -> None:
    init, forward, message = REFUSED[name]
    files = with_lines(init, forward)
    line = files["net.py"].splitlines().index(f"        {forward.splitlines()[0]}") + 1
    result = converted_net(files)
    assert not result.changed
    assert any(message in finding.message and finding.location.line == line for finding in result.findings)


LACKING = "paddle.static.nn.sparse_embedding"  #: in a branch of `net.py` that its configuration does not take
#: What a refused folder has besides -> whether the façade has all names that its program uses.
BESIDE = {
    "x.py": ("import paddle\n\n\ndef f():\n    paddle.vision\n", True),  # the trainer does not use it
    "y.py": ("import paddle\n\npaddle.vision\n", False),
    "z.py": ("import pgl\n", False),
    "static_model.py": ("import paddle\n\npaddle.enable_static()\n", True),
    "net.py": (LACKING, False),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_refused_folder_is_told_whether_it_runs_as_it_is(name: str) -> None:
    text, runs = BESIDE[name]
    files = with_lines("", "np.random.seed(1)")
    files["net.py"] = files["net.py"].replace(LACKING, text if name == "net.py" else "paddle.nn.Embedding")
    [refusal] = [one for one in converted_net({name: text} | files).findings if one.remains]
    assert ("without a conversion: `python -m runtime.compat.paddle SCRIPT`" in refusal.action) is runs


def test_a_folder_without_a_batch_is_told_whether_it_runs_as_it_is() -> None:
    files = {name: text.replace(LACKING, "paddle.nn.Embedding") for name, text in texts("wide_deep").items()}
    files["config.yaml"] = files["config.yaml"].replace("slot_reader", "other_reader")
    trainer = files.pop("dygraph_model.py")
    result = folder.convert(str(FOLDERS / "wide_deep" / "dygraph_model.py"), trainer, files)
    assert result.remains and result.findings[0].action.endswith(
        "without a conversion: `python -m runtime.compat.paddle SCRIPT`"
    )
