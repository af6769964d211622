"""What the templates of a project are filled with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.project.literal import literal
from migrate.schema import Schema, parse_schema
from migrate.schema_file import load_yaml, read_text
from migrate.source.options import Options


@dataclass(frozen=True)
class ProjectFacts:
    """A converted model with what its schema says of the data."""

    source: str  #: the file's name
    module: str  #: the text of `model.py`
    model: str  #: the class
    arguments: dict[str, Any]  #: of its constructor
    schema: Schema
    schema_text: str
    has_data: bool  #: the schema says how raw files are read
    has_timestamp: bool
    label_type: str  #: of the labels in TFRecords: `int64` or `float32`

    def values(self) -> dict[str, Any]:
        """Return the templates' variables; collections are Python text."""
        spec, labels = self.schema.input, self.schema.labels
        tasks = {task.name: labels.index(task.label) for task in self.schema.tasks}
        return {
            "source": self.source,
            "model": self.model,
            "arguments": literal("MODEL_ARGUMENTS", self.arguments),
            "labels": literal("LABELS", list(labels)),
            "label_count": len(labels),
            "tasks": literal("TASKS", tasks or {name: i for i, name in enumerate(labels)}),
            "sizes": literal("SPARSE_SIZES", [feature.size for feature in spec.sparse]),
            "sparse_count": len(spec.sparse),
            "dense_size": spec.dense_size,
            "has_data": self.has_data,
            "has_timestamp": self.has_timestamp,
            "label_type": self.label_type,
        }


def project_facts(source: Path, schema_path: Path) -> ProjectFacts:
    """Convert the model and read its schema.

    Raises:
        MigrateError: a file cannot be read, the source is no Paddle model or does not convert, or the schema does not
            say what the project needs.
    """
    if not source.is_file():
        raise MigrateError(f"{source} is no file; give the file of a Paddle model")
    text, schema_text = read_text(source), read_text(schema_path)
    schema = parse_schema(schema_text, str(schema_path))
    if not schema.tasks:
        raise MigrateError(f"{schema_path}: `tasks` is missing, name for each output the label that it predicts")
    if not schema.input.sparse:
        raise MigrateError(f"{schema_path}: `input.sparse` is empty, a project needs sparse features to look up")
    name, arguments, module = _converted(source, text, schema)
    has_data, has_timestamp, label_type = _data(schema_text, str(schema_path), schema)
    return ProjectFacts(source.name, module, name, arguments, schema, schema_text, has_data, has_timestamp, label_type)


def _converted(source: Path, text: str, schema: Schema) -> tuple[str, dict[str, Any], str]:
    """Return the model's class, its constructor's arguments and the text of the converted module."""
    from migrate.source.discover import framework_of
    from migrate.source.frontends import paddle
    from migrate.source.run import siblings_of

    try:
        framework = framework_of(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise MigrateError(f"{source} is not valid Python ({error}), correct it") from error
    if framework == "tensorflow":
        raise MigrateError(
            f"{source} is a TensorFlow model, and projects are made from Paddle models only: it has a training loop "
            "already, so convert it with `migrate convert --target rec_sdk`"
        )
    beside = siblings_of(source)
    result = paddle.convert(str(source), text, Options(schema=schema, target="rec_sdk"), beside)
    for finding in result.findings:
        if finding.remains:
            raise MigrateError(f"{source}: line {finding.location.line}: {finding.message}")
    if not result.changed:
        raise MigrateError(f"{source} has no model to convert; give the file of a Paddle model")
    name, arguments = paddle.model_arguments(str(source), text, schema, beside)
    return name, dict(arguments), result.converted


def _data(text: str, path: str, schema: Schema) -> tuple[bool, bool, str]:
    """Return whether the schema has a section `data`, whether that has a timestamp, and the type of labels."""
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
            raise MigrateError(f"{path}: `data.{name}` has {count} columns and `input` {wanted}, correct either")
    return True, spec.timestamp is not None, "float32" if spec.label_type == "float" else "int64"
