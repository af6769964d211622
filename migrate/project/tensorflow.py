"""Extracts and converts the TensorFlow model of a file, for the tables of a project.

The model is a function `f(features)`, or a class with a method `m(features)`, that returns all tasks' predictions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from migrate.errors import MigrateError
from migrate.project import placeholders
from migrate.schema import Schema
from migrate.source.driver.sanity_check import split_lines
from migrate.source.settings.options import Options

METHODS = ("__call__", "call", "forward", "build", "build_model", "model", "inference")
TRAINING = ("is_training", "is_train", "training", "train")
#: Attributes that a model must not use, because main.py does the same -> remedy.
FOREIGN = {
    "placeholder": 'take the ids as features["NAME"] of the argument `features`',
    "sparse_placeholder": 'take dense ids as features["NAME"] of the argument `features`',
    "minimize": "remove the training step, which main.py has, and return the predictions",
    "apply_gradients": "remove the training step, which main.py has, and return the predictions",
    "compute_gradients": "remove the training step, which main.py has, and return the predictions",
    "Session": "remove the session, which main.py has",
    "MonitoredTrainingSession": "remove the session, which main.py has",
    "EstimatorSpec": "return the predictions; `--style estimator` writes a model_fn",
}
#: Entries of a batch besides the ids of features.
BATCH = ("dense_feature", "label", "sparse_feature", "timestamp")
IMPORT = "from mx_rec.core.embedding import "
Function = ast.FunctionDef
Model = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class ConvertedModel:
    """A converted model and its call in main.py."""

    name: str
    module: str
    call: str


def converted(source: Path, text: str, schema: Schema, entry: str) -> ConvertedModel:
    """Convert the code that builds the model; `entry` is `FUNCTION`, `CLASS`, `CLASS.METHOD` or empty.

    Raises:
        MigrateError: there is no such model, it has unknown parameters, or it cannot be converted.
    """
    for feature in schema.input.sparse:
        if feature.name in BATCH:
            raise MigrateError(
                f"{schema.path}: the name of the sparse feature `{feature.name}` is reserved; rename the feature"
            )
    tree = ast.parse(text)
    name, _, method = (entry or schema.model.name).partition(".")
    model = _model(source, tree, name)
    function = _function(source, model, method)
    text = placeholders.fed(source, text, function, schema)
    tree = ast.parse(text)
    model = _model(source, tree, model.name)
    function = _function(source, model, function.name if isinstance(model, ast.ClassDef) else "")
    call = _call(source, model, function, schema.model.arguments)
    sliced = _version_1(_sliced(text, tree, model.name))
    _check(source, sliced)
    return ConvertedModel(model.name, _for_project(source, sliced, schema), call)


def _model(source: Path, tree: ast.Module, name: str) -> Model:
    models = {node.name: node for node in tree.body if isinstance(node, Model)}
    if name:
        if name not in models:
            raise MigrateError(f"{source} has no function or class `{name}`; give the model's name with --entry")
        return models[name]
    public = [node for node in models.values() if not node.name.startswith("_") and _looks_up(node)]
    if len(public) != 1:
        listed = ", ".join(f"`{node.name}`" for node in public) or "none"
        raise MigrateError(f"{source}: the model is ambiguous (with lookups: {listed}); choose one with --entry NAME")
    return public[0]


def _looks_up(model: Model) -> bool:
    return any(isinstance(node, ast.Attribute) and "embedding_lookup" in node.attr for node in ast.walk(model))


def _function(source: Path, model: Model, method: str) -> Function:
    """Return the function with the parameter for features: the model itself, or a method of it."""
    if isinstance(model, ast.FunctionDef):
        if method:
            raise MigrateError(
                f"{source}: `{model.name}` is a function and has no method `{method}`; give --entry {model.name}"
            )
        return model
    methods = {node.name: node for node in model.body if isinstance(node, ast.FunctionDef)}
    candidates = [method] if method else [name for name in METHODS if name in methods]
    if len(candidates) != 1 or candidates[0] not in methods:
        asked = f"no method `{method}`" if method else f"{len(candidates)} methods that may build the model"
        raise MigrateError(f"{source}: `{model.name}` has {asked}; give --entry {model.name}.METHOD")
    return methods[candidates[0]]


def _call(source: Path, model: Model, function: Function, arguments: Mapping[str, object]) -> str:
    """Return the call of the model in main.py, where `features` and `is_train` are defined."""
    parameters = function.args.posonlyargs + function.args.args
    is_method = isinstance(model, ast.ClassDef)
    where = f"{source}: line {function.lineno}: `{function.name}`"
    own = parameters[is_method:]
    if not own:
        raise MigrateError(f"{where} has no parameter; add the parameter `features`, a dict of feature to ids [batch]")
    required = own[1 : len(own) - len(function.args.defaults)]
    required += [
        arg for arg, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if not value
    ]
    known = set() if is_method else set(arguments)
    for argument in required:
        if argument.arg not in {*TRAINING, *known}:
            raise MigrateError(
                f"{where} requires `{argument.arg}`, which the project does not have; add a default value, or a value "
                "in `model.arguments` of the schema"
            )
    training = [f"{arg.arg}=is_train" for arg in own + function.args.kwonlyargs if arg.arg in TRAINING]
    settings = ["**MODEL_ARGUMENTS"] if arguments else []
    if is_method:
        chosen = "" if function.name == "__call__" else f".{function.name}"
        return f"{model.name}({', '.join(settings)}){chosen}({', '.join(['features', *training])})"
    return f"{model.name}({', '.join(['features', *training, *settings])})"


def _sliced(text: str, tree: ast.Module, name: str) -> str:
    """Return the statements of a file that a model depends on, with comments above them; other lines are empty."""
    lines, needed = split_lines(text), _needed(tree, name)
    kept, end = [""] * len(lines), 0
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(one.lineno for one in decorators)]) - 1
        while start > end and lines[start - 1].startswith("#"):
            start -= 1
        end = node.end_lineno or node.lineno
        if node in needed:
            kept[start:end] = lines[start:end]
    return "\n".join(kept).rstrip("\n") + "\n"


def _needed(tree: ast.Module, name: str) -> set[ast.stmt]:
    binding: dict[str, list[ast.stmt]] = {}
    kept: set[ast.stmt] = set(tree.body[:1] if ast.get_docstring(tree) is not None else [])
    for node in tree.body:
        for bound in _bound(node):
            binding.setdefault(bound, []).append(node)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            kept.add(node)
    wanted = [name]
    while wanted:
        for node in binding.pop(wanted.pop(), []):
            kept.add(node)
            wanted += [used.id for used in ast.walk(node) if isinstance(used, ast.Name)]
    return kept


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement of a module binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [used.id for used in ast.walk(node) if isinstance(used, ast.Name) and isinstance(used.ctx, ast.Store)]


def _version_1(text: str) -> str:
    """Import `tensorflow.compat.v1` as `tf` if the text uses `tf.get_variable`, which TensorFlow 2 does not have."""
    for node in ast.walk(ast.parse(text)):
        owner = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(owner, ast.Name) and isinstance(node, ast.Attribute) and node.attr == "get_variable":
            plain = f"import tensorflow as {owner.id}"
            return "\n".join(
                f"import tensorflow.compat.v1 as {owner.id}" if line == plain else line for line in text.split("\n")
            )
    return text


def _check(source: Path, text: str) -> None:
    """Raise MigrateError if the model contains what main.py does, or imports other files."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in FOREIGN:
            where = f"{source}: line {node.lineno}"
            raise MigrateError(f"{where}: the model uses `{ast.unparse(node)}`; {FOREIGN[node.attr]}")
        names = ["." * node.level + (node.module or "")] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            top = name.partition(".")[0]
            beside = (source.parent / f"{top}.py").exists() or (source.parent / top / "__init__.py").exists()
            if not top or beside:
                raise MigrateError(f"{source}: the model imports the file `{name}`; put both into one file")


def _for_project(source: Path, text: str, schema: Schema) -> str:
    """Convert for Rec SDK, with tables and lookups of the project's tables.py."""
    from migrate.source.driver.convert_file import convert_text

    result = convert_text(str(source), text, Options(schema=schema, target="rec_sdk", assume=True), {})
    for finding in result.findings:
        if finding.remains:
            where = f"{source}: line {finding.location.line}"
            raise MigrateError(f"{where}: {finding.message}; use only dense lookups in variables")
    lines = result.converted.replace(", modify_graph=True", "").split("\n")
    imports = [line for line in lines if line.startswith(IMPORT)]
    if len(imports) != 1 or "sparse_lookup" not in imports[0] or "create_table" not in imports[0]:
        raise MigrateError(f"{source}: the model has no embedding lookup; give a file with embedding tables")
    ours = "from tables import create_table, sparse_lookup"
    joined = "\n".join(ours if line in imports else line for line in lines).strip() + "\n"
    return re.sub(r"\n{4,}", "\n\n\n", joined)
