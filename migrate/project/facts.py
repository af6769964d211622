"""Computes the values for the templates of a project."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.project.bound import check_bound
from migrate.project.literal import literal
from migrate.project.trained import Trained, trained
from migrate.schema import Schema, Task, parse_schema
from migrate.schema_file import load_yaml, read_text
from migrate.source.settings.options import Options

#: Names that main.py imports from a converted Paddle model, besides its class.
MODEL_NAMES = ("DENSE_SIZE", "SPARSE_FEATURES", "SPARSE_ROWS", "build_model", "sparse_keys")


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
    training: Trained = field(default_factory=Trained)

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

        found = tensorflow.converted(source, text, schema, entry)
        check_bound(source, text, found.module)
        arguments = dict(schema.model.arguments)
        return ProjectFacts(source.name, found.module, found.name, arguments, schema, schema_text, *data, found.call)
    if entry:
        raise MigrateError(f"--entry is for TensorFlow models, and {source} is none; remove it")
    name, arguments, module, training = _from_paddle(source, text, schema)
    check_bound(source, text, module)
    return ProjectFacts(source.name, module, name, arguments, schema, schema_text, *data, training=training)


def _from_paddle(source: Path, text: str, schema: Schema) -> tuple[str, dict[str, Any], str, Trained]:
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
    name, arguments = convert.model_arguments(str(source), text, schema, beside)
    _, program = convert.follow(str(source), text, schema, beside)
    training = trained(str(source), program.optimizer if program else None)
    return name, dict(arguments), result.converted, training


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
