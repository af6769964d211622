"""Computes the values for the templates of a project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.project.bound import check_bound
from migrate.schema import Schema, Task, parse_schema
from migrate.schema_file import load_yaml, read_text
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot.watched import Optimizer
from migrate.source.settings.options import Options

#: Names that main.py imports from a converted Paddle model, besides its class.
MODEL_NAMES = ("DENSE_SIZE", "SPARSE_FEATURES", "SPARSE_ROWS", "build_model", "sparse_keys")
_WIDTH = 88
#: Paddle's class -> (Rec SDK's module, its functions, TensorFlow's class of the dense variables)
_KINDS = {
    "Adam": ("lazy_adam", "create_hash_optimizer_by_address", "AdamOptimizer"),
    "SGD": ("gradient_descent", "create_hash_optimizer_by_addr", "GradientDescentOptimizer"),
}
#: Supported arguments besides the learning rate -> their names; None: no effect on values.
_SETTINGS: Mapping[str, Mapping[str, str | None]] = {
    "Adam": {"beta1": "beta1", "beta2": "beta2", "epsilon": "epsilon", "lazy_mode": None, "use_multi_tensor": None},
    "SGD": {},
}


@dataclass(frozen=True)
class _Trained:
    """The optimizer of a project."""

    kind: str = "Adam"
    learning_rate: float = 0.001
    settings: str = ""  #: further arguments as source text: `, beta1=0.8`

    def values(self) -> dict[str, Any]:
        """Return the variables of the templates."""
        module, by_address, dense = _KINDS[self.kind]
        return {
            "sparse_module": module,
            "by_address": by_address,
            "dense_optimizer": dense,
            "settings": self.settings,
            "learning_rate": self.learning_rate,
        }


def _trained(path: str, optimizer: Optimizer | None) -> _Trained:
    """Return the optimizer of a project that trains as the trainer beside a model does.

    Args:
        path: the file of the model.
        optimizer: the optimizer that `create_optimizer` returns; None without a trainer.

    Raises:
        MigrateError: projects do not support the optimizer, or one of its arguments.
    """
    if optimizer is None:
        return _Trained()
    where = f"{path}: line {optimizer.span[0]} of {TRAINER}"
    if optimizer.name not in _KINDS:
        raise MigrateError(
            f"{where}: projects support Adam and SGD, not {optimizer.name}; use one of these there, and change "
            "train_step of main.py afterwards"
        )
    allowed, arguments = _SETTINGS[optimizer.name], dict(optimizer.arguments)
    rate = arguments.pop("learning_rate", _Trained.learning_rate)
    unknown = [name for name, value in arguments.items() if name not in allowed and value is not False]
    if unknown:
        raise MigrateError(f"{where}: projects do not support `{unknown[0]}` of {optimizer.name}; remove it")
    named = [(allowed.get(name), value) for name, value in arguments.items()]
    return _Trained(optimizer.name, float(rate), "".join(f", {name}={value!r}" for name, value in named if name))


@dataclass(frozen=True)
class ProjectFacts:
    """A converted model and the contents of its schema."""

    source: str  #: the file's name
    module: str  #: the text of `model.py`
    model: str  #: the name of the model class
    arguments: dict[str, Any]  #: arguments of its constructor
    schema: Schema
    schema_text: str
    has_data: bool  #: the schema describes raw files
    has_timestamp: bool
    label_type: str  #: dtype of labels in TFRecords: `int64` or `float32`
    call: str = ""  #: for a TensorFlow model: the call in main.py
    training: _Trained = field(default_factory=_Trained)

    def values(self) -> dict[str, Any]:
        """Return the variables of the templates; collections are Python source text."""
        spec, labels = self.schema.input, self.schema.labels
        tasks = [
            f"Task({literal('', task.name)}, {labels.index(task.label)}, {literal('', task.loss)}, {task.epsilon!r})"
            for task in self.schema.tasks
        ]
        return {
            "source": self.source,
            "tensorflow": bool(self.call),
            "call": self.call,
            "has_arguments": bool(self.arguments),
            "losses": [self._loss(index, task) for index, task in enumerate(self.schema.tasks)],
            "outputs": literal(
                "OUTPUTS", [task.name for task in sorted(self.schema.tasks, key=lambda task: task.output)]
            ),
            "columns": [self._column(task) for task in self.schema.tasks],
            "model": self.model,
            "model_imports": [*MODEL_NAMES, self.model],
            "arguments": literal("MODEL_ARGUMENTS", self.arguments),
            "labels": literal("LABELS", list(labels)),
            "label_count": len(labels),
            "tasks": tasks,
            "metrics": self._metrics(),
            "predictions": literal("PREDICTIONS", [task.name for task in self.schema.tasks]),
            "features": literal("FEATURES", [feature.name for feature in spec.sparse]),
            "sizes": literal("SPARSE_SIZES", [feature.size for feature in spec.sparse]),
            "sparse_count": len(spec.sparse),
            "dense_size": spec.dense_size,
            "has_data": self.has_data,
            "has_timestamp": self.has_timestamp,
            "label_type": self.label_type,
            **self.training.values(),
        }

    def _loss(self, index: int, task: Task) -> str:
        """Return the loss expression of a task, from the outputs of a TensorFlow model."""
        column = self.schema.labels.index(task.label)
        factor = "" if task.weight == 1.0 else f"{task.weight!r} * "
        if task.loss == "cross_entropy":
            return f"{factor}tf.losses.sparse_softmax_cross_entropy(classes[:, {column}], outputs[{task.output}])"
        if task.loss == "log_loss":
            return f"{factor}tf.losses.log_loss(labels[:, {column}], pred[{index}], epsilon={task.epsilon!r})"
        return f"{factor}tf.losses.mean_squared_error(labels[:, {column}], pred[{index}])"

    def _column(self, task: Task) -> str:
        if task.loss == "cross_entropy":
            return f"tf.nn.softmax(outputs[{task.output}])[:, {task.positive}]"
        return f"tf.reshape(outputs[{task.output}], [-1])"

    def _metrics(self) -> str:
        names = ["loss", *(f"loss_{task.name}" for task in self.schema.tasks)]
        names += [f"auc_{task.name}" for task in self.schema.tasks if task.loss != "square_error"]
        return ", ".join(f"`{name}`" for name in names)


def project_facts(source: Path, schema_path: Path, entry: str = "") -> ProjectFacts:
    """Convert the model and read its schema.

    Raises:
        MigrateError: a file cannot be read, the source has no suitable model, or the schema is incomplete.
    """
    from migrate.source.project.discovery import framework_of

    if not source.is_file():
        raise MigrateError(f"{source} is not a file; give the file of a model")
    text, schema_text = read_text(source, "the model", "give a Python file in UTF-8"), read_text(schema_path)
    schema = parse_schema(schema_text, str(schema_path))
    if not schema.tasks:
        raise MigrateError(f"{schema_path}: `tasks` is missing; add a task with a label for each output")
    if not schema.input.sparse:
        raise MigrateError(f"{schema_path}: `input.sparse` is empty; add at least one sparse feature")
    try:
        framework = framework_of(text)
    except SyntaxError as error:
        raise MigrateError(f"{source}: line {error.lineno} is not valid Python ({error.msg}); correct it") from error
    except (ValueError, RecursionError) as error:
        raise MigrateError(f"{source} is not valid Python ({error}); correct it") from error
    data = _data(schema_text, str(schema_path), schema)
    if framework == "tensorflow":
        from migrate.project import tensorflow

        facts = tensorflow.converted(source, text, schema, entry)
        check_bound(source, text, facts.module)
        arguments = dict(schema.model.arguments)
        return ProjectFacts(source.name, facts.module, facts.name, arguments, schema, schema_text, *data, facts.call)
    if entry:
        raise MigrateError(f"--entry is for TensorFlow models, and {source} is none; remove it")
    name, arguments, module, training = _from_paddle(source, text, schema)
    check_bound(source, text, module)
    return ProjectFacts(source.name, module, name, arguments, schema, schema_text, *data, training=training)


def _from_paddle(source: Path, text: str, schema: Schema) -> tuple[str, dict[str, Any], str, _Trained]:
    """Return the model class, its arguments, the text of the converted module, and its optimizer."""
    from migrate.source.driver.run import siblings_of
    from migrate.source.paddle import convert

    beside = siblings_of(source)
    result = convert.convert(str(source), text, Options(schema=schema, target="rec_sdk"), beside, False)
    for finding in result.findings:
        if finding.remains:
            raise MigrateError(f"{finding.location.path}: line {finding.location.line}: {finding.message}")
    if not result.changed:
        raise MigrateError(f"{source} has no model to convert; give the file of a Paddle or TensorFlow model")
    program = convert.follow(str(source), text, schema, beside)
    return program.name, dict(program.arguments), result.converted, _trained(str(source), program.trained_by)


def _data(text: str, path: str, schema: Schema) -> tuple[bool, bool, str]:
    """Return whether the schema has a section `data`, whether that has a timestamp, and the dtype of labels."""
    from migrate.dataset.spec import load_spec

    top = load_yaml(text, path)
    if not isinstance(top, dict) or "data" not in top:
        return False, False, "int64"
    spec = load_spec(path)
    for name, count, wanted in (
        ("dense", len(spec.dense), schema.input.dense_size),
        ("sparse", len(spec.single), len(schema.input.sparse)),
    ):
        if count != wanted:
            raise MigrateError(
                f"{path}: `data.{name}` has {count} columns, but `input` has {wanted}; correct one of the two"
            )
    return True, spec.timestamp is not None, "float32" if spec.label_type == "float" else "int64"


def literal(name: str, value: object) -> str:
    """Return the text of `value` for the line `name = value`: one line, or one for each item where that is long."""
    return _laid_out(value, len(name) + 3, 0)


def _laid_out(value: object, used: int, indent: int) -> str:
    flat = _flat(value)
    if not isinstance(value, list | dict) or not value or used + len(flat) <= _WIDTH:
        return flat
    inner = " " * (indent + 4)
    if isinstance(value, dict):
        items = [f"{_flat(key)}: " for key in value]
        items = [
            lead + _laid_out(item, indent + 5 + len(lead), indent + 4)
            for lead, item in zip(items, value.values(), strict=True)
        ]
        opened, closed = "{", "}"
    else:
        items = [_laid_out(item, indent + 5, indent + 4) for item in value]
        opened, closed = "[", "]"
    lines = "".join(f"{inner}{item},\n" for item in items)
    return f"{opened}\n{lines}{' ' * indent}{closed}"


def _flat(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_flat, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flat(key)}: {_flat(item)}' for key, item in value.items())}}}"
    return repr(value)
