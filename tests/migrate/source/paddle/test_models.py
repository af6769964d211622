"""Converted models compute what Paddle computes: outputs, loss and every gradient, from random weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.schema import load_schema
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from tests.support.paddle import cases as cases
from tests.support.paddle import oracle as oracle

pytestmark = pytest.mark.paddle


@pytest.mark.parametrize("name", cases.MODELS)
@pytest.mark.one_case
def test_models_agree(name: str, tmp_path: Path) -> None:
    source, schema = cases.MODELS[name]
    side = oracle.compare(cases.source(source), schema, tmp_path, seed=3)
    assert all(output.std() > 1e-4 for output in side.outputs)
    assert any(abs(gradient).max() > 0 for gradient in side.gradients.values())


def test_what_keeps_all_columns_of_the_input_is_left_out(tmp_path: Path) -> None:
    source, schema = cases.MODELS["dnn"]
    text = cases.source(source).replace("y = input_data", "y = paddle.assign(input_data).detach().clone()")
    assert text != cases.source(source) and "y = input_data\n" in oracle.converted(text, schema).converted
    oracle.compare(text, schema, tmp_path)


def test_a_loss_of_tasks_needs_no_layers_of_the_runtime(tmp_path: Path) -> None:
    tasks = ("{name: b, output: 1, label: b, loss: cross_entropy}", "{name: a, output: 0, label: a, weight: 2}")
    sizes = {"feature_size": 20, "task_num": 2, "bottom_size": 7, "tower_size": 4}
    schema = cases.schema("ShareBottomLayer", sizes, tasks)
    side = oracle.compare(cases.source("share_bottom"), schema, tmp_path, target="rec_sdk")
    assert all(abs(gradient).max() > 0 for gradient in side.gradients.values())


@pytest.mark.parametrize("target", ["runtime", "sok"])
@pytest.mark.one_case
def test_sizes_of_a_batch_are_those_of_the_graph(target: str, tmp_path: Path) -> None:
    source, schema = cases.MODELS["share-bottom"]
    line = "        output_layers = []\n"
    reshaped = "        sizes = bottom_out.shape\n        bottom_out = paddle.reshape(bottom_out, sizes)\n"
    text = cases.source(source).replace(line, line + reshaped)
    assert text != cases.source(source)
    side = oracle.compare(text, schema, tmp_path, target=target)
    assert all(output.std() > 1e-4 for output in side.outputs)


STEP = """\
    def train_forward(self, dy_model, metrics_list, batch_data, config):
        x, y, z = self.create_feeds(batch_data, config)
        {forward}
        return {call}, metrics_list, None
"""
CALLS = {
    "names": ("preds_a, preds_b = dy_model(x)", "self.create_loss(preds_b, preds_a, y, z)", "outputs[1], outputs[0]"),
    "items": ("preds = dy_model.forward(x)", "self.create_loss(preds[1], preds[0], y, z)", "outputs[1], outputs[0]"),
    "changed": ("a, b = dy_model(x)", "self.create_loss(a * 2, b, y, z)", ""),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_loss_gets_the_outputs_as_the_trainer_passes_them(name: str) -> None:
    forward, call, expected = CALLS[name]
    files = cases.example_files()
    trainer = files["dygraph_model.py"]
    trainer = trainer[: trainer.index("    def train_forward")]
    trainer += STEP.format(forward=forward, call=call)
    schema = load_schema(cases.EXAMPLE / "schema.yaml")
    result = convert("net.py", files["net.py"], Options(schema=schema), files | {"dygraph_model.py": trainer})
    if expected:
        assert f"create_loss({expected}, labels[:, 0:1], labels[:, 1:2])" in result.converted
    else:
        assert not result.changed and "the loss must be called with unchanged outputs" in result.findings[0].message


def test_labels_that_the_trainer_calls_otherwise_are_not_guessed() -> None:
    files = cases.example_files()
    trainer = files["dygraph_model.py"].replace("label_income", "first").replace("label_marital", "second")
    schema = load_schema(cases.EXAMPLE / "schema.yaml")
    with pytest.raises(MigrateError, match="use the same names"):
        convert("net.py", files["net.py"], Options(schema=schema), files | {"dygraph_model.py": trainer})
