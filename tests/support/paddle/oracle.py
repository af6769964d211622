"""Runs a Paddle model and its conversion on the same weights and rows, and compares every tensor."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

import paddle  # isort: skip  (after TensorFlow, see conftest.py)

from migrate.schema import Schema
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from runtime import nn
from tests.support.programs import imported

TOLERANCE = 1e-5
#: in float64 nothing is lost to cancellation, so random models can be held to this
DOUBLE_TOLERANCE = 1e-9
BATCH = 16


@dataclass
class Side:
    """What one framework computed."""

    outputs: list[np.ndarray]
    loss: float
    gradients: dict[str, np.ndarray]
    initial: dict[str, np.ndarray] = field(default_factory=dict)


def converted(
    source: str, schema: Schema, siblings: Mapping[str, str] | None = None, target: str = "runtime"
) -> SourceResult:
    """Convert, and fail with the findings when something was refused."""
    result = convert("net.py", source, Options(schema=schema, target=target), siblings or {}, False)
    assert result.changed, [(finding.location.line, finding.message) for finding in result.findings]
    return result


def load(text: str, folder: Path, name: str = "converted_net") -> types.ModuleType:
    """Import a module from its text."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return imported(path, name)


@dataclass(frozen=True)
class Rows:
    """A random batch in both forms."""

    dense: np.ndarray
    ids: np.ndarray
    labels: np.ndarray
    full: np.ndarray


def rows(schema: Schema, rng: np.random.Generator) -> Rows:
    """Draw a batch: normal dense columns, one category for every group, binary labels."""
    spec = schema.input
    dense = rng.normal(size=(BATCH, spec.dense_size)).astype(np.float32)
    ids = (
        np.stack([rng.integers(0, f.size, BATCH) for f in spec.sparse], 1) if spec.sparse else np.zeros((BATCH, 0), int)
    )
    full = np.zeros((BATCH, spec.size), np.float32)
    full[:, list(spec.dense_columns)] = dense
    for position, feature in enumerate(spec.sparse):
        full[np.arange(BATCH), feature.start + ids[:, position]] = 1.0
    return Rows(dense, ids, rng.integers(0, 2, (BATCH, len(schema.labels))), full)


def run_paddle(
    source: str, schema: Schema, trainer: str | None, batch: Rows, rng: np.random.Generator, double: bool = False
) -> tuple[Side, dict[str, np.ndarray]]:
    """Return what Paddle computes from random weights, and these weights; `double`: in float64, the loss is `mixed`."""
    before, kind = paddle.get_default_dtype(), "float64" if double else "float32"
    paddle.set_default_dtype(kind)
    try:
        return _run(source, schema, trainer, batch, rng, kind)
    finally:
        paddle.set_default_dtype(before)  # other tests of this process make layers too


def _run(
    source: str, schema: Schema, trainer: str | None, batch: Rows, rng: np.random.Generator, kind: str
) -> tuple[Side, dict[str, np.ndarray]]:
    net = types.ModuleType("net")
    exec(compile(source, "net.py", "exec"), net.__dict__)
    model = _model_class(net, schema)(**schema.model.arguments)
    initial = {name: parameter.numpy() for name, parameter in model.named_parameters()}
    weights = {name: (rng.normal(size=value.shape) * 0.3).astype(kind) for name, value in initial.items()}
    for name, parameter in model.named_parameters():
        parameter.set_value(weights[name])
    outputs = _listed(model(paddle.to_tensor(batch.full.astype(kind))))
    if kind == "float64":
        loss = sum(paddle.sum(output * paddle.to_tensor(mixed(output.shape))) for output in outputs)
    else:
        loss = _trainer_loss(trainer, net, outputs, batch) if trainer else _task_loss(schema, outputs, batch)
    loss.backward()
    gradients = {
        name: np.zeros_like(weights[name]) if parameter.grad is None else parameter.grad.numpy()
        for name, parameter in model.named_parameters()
    }
    return Side([output.numpy() for output in outputs], float(loss), gradients, initial), weights


def mixed(shape: Any) -> np.ndarray:
    """Return fixed random factors, to make one number of an output."""
    return np.random.default_rng(7).normal(size=[int(size) for size in shape])


def _model_class(net: types.ModuleType, schema: Schema) -> Any:
    return getattr(net, schema.model.name)


def _trainer_loss(trainer: str, net: types.ModuleType, outputs: list[Any], batch: Rows) -> Any:
    sys.modules["net"] = net
    module = types.ModuleType("dygraph_model")
    try:
        exec(compile(trainer, "dygraph_model.py", "exec"), module.__dict__)
    finally:
        del sys.modules["net"]
    labels = [paddle.to_tensor(batch.labels[:, i : i + 1].astype(np.float32)) for i in range(batch.labels.shape[1])]
    return module.DygraphModel().create_loss(*outputs, *labels)


def _task_loss(schema: Schema, outputs: list[Any], batch: Rows) -> Any:
    functional = paddle.nn.functional
    total = 0.0
    for task in schema.tasks:
        index = schema.labels.index(task.label)
        label = paddle.to_tensor(batch.labels[:, index : index + 1].astype(np.float32))
        output = outputs[task.output]
        output = output if len(output.shape) > 1 else output.reshape([-1, 1])
        if task.loss == "log_loss":
            column = output[:, task.positive : task.positive + 1]
            loss = functional.log_loss(column, label, epsilon=task.epsilon)
        elif task.loss == "cross_entropy":
            loss = functional.cross_entropy(output, label.astype("int64"))
        else:
            loss = functional.square_error_cost(output, label)
        total = total + task.weight * paddle.mean(loss)
    return total


def run_tensorflow(
    module: types.ModuleType, schema: Schema, weights: dict[str, np.ndarray], batch: Rows, double: bool = False
) -> Side:
    """Return what the converted module computes from Paddle's weights; the lookup is a gather from a fed matrix."""
    kind = np.float64 if double else np.float32
    spec = schema.input
    with tf.Graph().as_default(), tf.Session() as session:
        model = _model_class(module, schema)(**schema.model.arguments)
        split = _split(model)
        embedding = _embedding(module, split, schema, weights, batch, kind) if split else None
        dense = tf.constant(batch.dense.astype(kind))
        if double:
            outputs, loss, trainable = _double(model, _given(module, model, dense, embedding) if split else dense)
        else:
            built = module.build_model(model, embedding, dense, tf.constant(batch.labels))
            assert set(built) == {"loss", "pred", "label", "variable"}
            loss, trainable = built["loss"], built["variable"]
            outputs = _listed(model(_given(module, model, dense, embedding) if split else dense))
        variables = {_paddle_name(variable.name): variable for variable in trainable}
        assert set(variables) == set(weights)
        session.run(tf.global_variables_initializer())
        initial = session.run(variables)
        for path, variable in variables.items():
            is_split = path.rpartition(".")[0] in split and path.endswith("weight")
            variable.load(weights[path][list(spec.dense_columns)] if is_split else weights[path], session)
        slots = {path: _or_zeros(tf.gradients(loss, variable)[0], variable) for path, variable in variables.items()}
        rows_slot = tf.gradients(loss, embedding)[0] if split else tf.zeros([])
        got, number, gradients, row_gradient = session.run([outputs, loss, slots, rows_slot])
        for path, columns in split.items():
            gradients[f"{path}.weight"] = _whole(
                module, schema, columns, gradients[f"{path}.weight"], row_gradient, batch
            )
        return Side(got, float(number), gradients, initial)


def _split(model: Any) -> dict[str, slice]:
    """Return path of a layer that reads the input -> its columns of the tables, side by side."""
    if isinstance(model, nn.Layer):
        return nn.one_hot.placed(model.input_layers)
    return {layer.path: layer.columns for layer in getattr(model, "input_layers", ())}


def _given(module: Any, model: Any, dense: Any, embedding: Any) -> Any:
    own = nn if isinstance(model, nn.Layer) else module.nn
    return own.one_hot.Input(dense, embedding)


def _double(model: Any, inputs: Any) -> tuple[list[Any], Any, list[Any]]:
    for _, weight in model.named_weights():
        weight.declared_dtype = tf.float64
    model.build("model")
    outputs = _listed(model(inputs))
    loss = tf.add_n([tf.reduce_sum(output * mixed(output.shape)) for output in outputs])
    return outputs, loss, tf.trainable_variables()


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


def _embedding(
    module: types.ModuleType,
    split: Mapping[str, slice],
    schema: Schema,
    weights: dict[str, np.ndarray],
    batch: Rows,
    kind: Any,
) -> Any:
    """Return the summed rows of the table that Paddle's kernels make."""
    columns = list(schema.input.key_columns)
    kernels = np.concatenate([weights[f"{path}.weight"][columns] for path in split], axis=1)
    assert kernels.shape == (module.SPARSE_ROWS, max(part.stop for part in split.values()))
    keys = module.sparse_keys(tf.constant(batch.ids))
    return tf.reduce_sum(tf.gather(tf.constant(kernels.astype(kind)), keys), axis=1)


def _or_zeros(gradient: Any, variable: Any) -> Any:
    return tf.zeros_like(variable) if gradient is None else gradient


def _whole(
    module: types.ModuleType, schema: Schema, columns: slice, dense: np.ndarray, row_gradient: np.ndarray, batch: Rows
) -> np.ndarray:
    """Return the gradient of a whole kernel from that of its dense rows and of the looked-up rows."""
    full = np.zeros((schema.input.size, columns.stop - columns.start), dense.dtype)
    full[list(schema.input.dense_columns)] = dense
    keys = batch.ids + np.array(module.SPARSE_OFFSETS)
    for position in range(batch.ids.shape[1]):
        np.add.at(full, np.array(schema.input.key_columns)[keys[:, position]], row_gradient[:, columns])
    return full


def _paddle_name(variable: str) -> str:
    return variable.split(":")[0].partition("/")[2].replace("/", ".")


def difference(expected: np.ndarray, actual: np.ndarray) -> float:
    """Return max |Δ| / max |expected|."""
    assert np.shape(expected) == np.shape(actual), (np.shape(expected), np.shape(actual))
    gap = float(np.max(np.abs(np.asarray(expected, np.float64) - actual), initial=0.0))
    return gap / max(float(np.max(np.abs(expected), initial=0.0)), 1e-6)


def compare(
    source: str,
    schema: Schema,
    folder: Path,
    siblings: Mapping[str, str] | None = None,
    seed: int = 0,
    double: bool = False,
    tolerance: float = TOLERANCE,
    target: str = "runtime",
) -> Side:
    """Convert and compare outputs, loss and all gradients with Paddle; returns Paddle's side.

    `double` compares in float64, to DOUBLE_TOLERANCE, the gradients of a mixture of the outputs in place of the loss.
    """
    rng = np.random.default_rng(seed)
    result = converted(source, schema, siblings, target)
    batch = rows(schema, rng)
    trainer = (siblings or {}).get("dygraph_model.py")
    expected, weights = run_paddle(source, schema, trainer, batch, rng, double)
    actual = run_tensorflow(load(result.converted, folder), schema, weights, batch, double)
    gaps = differences(expected, actual)
    bad = {name: gap for name, gap in gaps.items() if not gap <= (DOUBLE_TOLERANCE if double else tolerance)}
    assert not bad, bad
    return expected


def differences(expected: Side, actual: Side) -> dict[str, float]:
    """Return max |Δ| / max |expected| of every output, the loss and every gradient."""
    outputs = zip(expected.outputs, actual.outputs, strict=True)
    gaps = {f"output {i}": difference(*pair) for i, pair in enumerate(outputs)}
    gaps["loss"] = difference(np.array(expected.loss), np.array(actual.loss))
    return gaps | {f"d {name}": difference(value, actual.gradients[name]) for name, value in expected.gradients.items()}
