"""Executes a model with its schema, and its trainer; the result is a `Program`."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from pathlib import Path

from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.source.paddle.abstract import layers
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.run import Frame
from migrate.source.paddle.abstract.values import (
    Class,
    Function,
    Instance,
    Module,
    OneHot,
    Refuse,
    Stop,
    Tensor,
    Value,
)
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot import consistency, trainer
from migrate.source.paddle.one_hot import labels as labels_of
from migrate.source.paddle.one_hot import model as models
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.watched import Watched


def model_arguments(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[str, dict[str, Value]]:
    """Return the model class name and the constructor arguments, from the schema or else the trainer.

    Raises:
        MigrateError: they are unknown, or the file is not valid Python.
    """
    run = Watched(files=siblings)
    try:
        module = _loaded(run, path, text)
    except SyntaxError as error:
        raise MigrateError(f"{path}: line {error.lineno} is not valid Python ({error.msg}); correct it") from error
    cls = models.model_class(schema, module)
    return cls.name, models.arguments(schema, cls, siblings)


def follow(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[Watched, Program | None]:
    """Execute the model and its trainer; the program is None if that was not possible to the end.

    The machine has the problems that were found.

    Raises:
        SyntaxError: `text` is not Python.
        MigrateError: schema and source contradict each other.
    """
    run, program, whole = _followed(path, text, schema, siblings)
    return run, program if whole else None


def _loaded(run: Watched, path: str, text: str) -> Module:
    module = load(run, Path(path).name, text)
    run.modules["net"] = module
    return module


def _followed(
    path: str, text: str, schema: Schema, siblings: Mapping[str, str]
) -> tuple[Watched, Program | None, bool]:
    """Return the machine, the program as far as it was executed, and whether that is complete."""
    run = Watched(files=siblings)
    module = _loaded(run, path, text)
    cls = models.model_class(schema, module)
    arguments = models.arguments(schema, cls, siblings)
    run.frames.append(Frame(module, ""))
    program = None
    try:
        program = _executed(run, path, module, cls, arguments, schema)
        if program is not None:
            _follow_trainer(program, siblings)
    except Stop:
        return run, program, False
    finally:
        run.frames.clear()
    return run, program, program is not None


def batch_layout(path: str, text: str, schema: Schema, siblings: Mapping[str, str]) -> tuple[int, dict[int, int]]:
    """Return the index of the model's input in a reader's batch, and index -> column for the labels.

    The default is that of PaddleRec's multi-task models: the input first, then the labels.
    """
    program = None
    with contextlib.suppress(SyntaxError, MigrateError):
        _, program, _ = _followed(path, text, schema, siblings)
    place = (program.batch_input if program else None) or 0
    rest = [i for i in range(len(schema.labels) + 1) if i != place]
    known = program.batch_labels if program else {}
    return place, known or {item: column for column, item in enumerate(rest)}


def _executed(
    run: Watched, path: str, module: Module, cls: Class, arguments: dict[str, Value], schema: Schema
) -> Program | None:
    node = ast.copy_location(ast.Call(ast.Name(cls.name, ast.Load()), [], []), cls.node)
    size = schema.input.size
    try:
        model = layers.instantiate(run, node, cls, [], arguments)
        assert isinstance(model, Instance)
        program = Program(schema, run, path, module, model, arguments)
        run.lasting.begin([*run.modules.values(), *run.made, model, *run.defaults.values()])
        value = OneHot((None, size)) if schema.input.sparse else Tensor((None, size))
        consistency.check_sizes(program)
        result = layers.forward(run, node, model, [value], {})
        program.written = frozenset(run.lasting.written)
    except Refuse as reason:
        run.problem(cls.node, str(reason))
        return None
    consistency.check_input_name(program)
    return program if consistency.check_outputs(program, result) else None


def _follow_trainer(program: Program, siblings: Mapping[str, str]) -> None:
    """Execute the methods of the trainer, and `create_loss` with the model's outputs and the schema's labels."""
    run = program.run
    run.watch(program.model)
    at = trainer.trainer_of(run, program.model.cls, siblings)
    if at is None:
        return
    program.trainer = at.module
    program.overridden = trainer.overridden(program.schema.model.arguments, trainer.judge_model(at))
    program.optimizer = trainer.judge_optimizer(at)
    step = trainer.judge_step(at, program.schema)
    program.batch_input = step.input if step else None
    program.loss = at.method("create_loss")
    if program.loss is not None:
        _follow_loss(program, at, program.loss, step)


def _follow_loss(program: Program, at: trainer.Driver, function: Function, step: trainer.Step | None) -> None:
    run, labels = program.run, program.schema.labels
    assert isinstance(function.node, ast.FunctionDef)
    names = [item.arg for item in function.node.args.args][-len(labels) :]
    columns = labels_of.label_order(names, labels) if labels and step else None
    for name, column in zip(names, columns or (), strict=False):
        if step is not None and name in step.labels:
            program.batch_labels[step.labels[name]] = column
    if function.node.decorator_list:
        at.problem(function.node.decorator_list[0], "a decorator is not supported in the trainer")
    values = _loss_arguments(program, at, function, step)
    run.frames.append(Frame(at.module, at.cls.name))
    try:
        result = run.call_function(function, values, {})
    except Refuse as reason:
        at.problem(function.node, str(reason))
        raise Stop from None
    finally:
        run.frames.pop()
    if isinstance(result, Tensor) and result.shape not in ((), (1,), None):
        at.problem(function.node, f"the loss is a tensor of shape {list(result.shape or ())}; it must be a scalar")


def _loss_arguments(program: Program, at: trainer.Driver, function: Function, step: trainer.Step | None) -> list[Value]:
    """Match the parameters of `create_loss` with outputs, by the call in `train_forward`, and with labels, by name."""
    names = [item.arg for item in function.node.args.args][1:]
    labels = program.schema.labels
    single = len(names) == 1 + len(labels) and program.returns_list and len(program.outputs) > 1
    count = 1 if single else len(program.outputs)
    if len(names) != count + len(labels):
        raise MigrateError(
            f"{program.schema.path}: create_loss of {TRAINER} takes {len(names)} arguments, but the model has "
            f"{count} outputs and `labels` lists {len(labels)}; correct `labels`"
        )
    order = _output_order(step, names[:count], len(program.outputs))
    if order is None:
        if not program.run.problems:
            at.problem(function.node, "`train_forward` does not pass all outputs of the model unchanged to the loss")
        raise Stop
    program.loss_arguments += ["outputs"] if single else [f"outputs[{i}]" for i in order]
    indices = labels_of.label_order(names[count:], labels)
    if indices is None:
        raise MigrateError(
            f"{program.schema.path}: `labels` are {', '.join(labels)}, but the parameters of create_loss of "
            f"{TRAINER} are {', '.join(names[count:])}; use the same names, which determine the order"
        )
    labels_of.check_labels(at, program.schema, function, step, dict(zip(names[count:], indices, strict=True)))
    whole = [labels_of.only_classes(function.node, name) for name in names[count:]]
    for index, classes in zip(indices, whole, strict=True):
        column = f"labels[:, {index}:{index + 1}]"
        program.loss_arguments.append(f"tf.cast({column}, tf.int64)" if classes else column)
    heads: list[Value] = [list(program.outputs)] if single else [program.outputs[i] for i in order]
    return [*heads, *(Tensor((None, 1), "int64" if classes else "float32", fed=True) for classes in whole)]


def _output_order(step: trainer.Step | None, names: list[str], outputs: int) -> list[int] | None:
    """Return the outputs in the order of the loss's parameters; None unless each output occurs once."""
    if step is None:
        return list(range(outputs))
    found = [step.outputs.get(name) for name in names]
    every = list(range(outputs))
    if len(found) == 1 and isinstance(found[0], list):
        return every if found[0] == every else None
    plain = [index for index in found if isinstance(index, int)]
    return plain if sorted(plain) == every and len(plain) == len(found) else None
