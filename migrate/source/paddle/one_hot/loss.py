"""Generates the loss of the converted model, from the trainer's `create_loss` or else the tasks of the schema."""

from __future__ import annotations

import ast

import libcst as cst

from migrate.errors import MigrateError
from migrate.schema import Task
from migrate.source.paddle.abstract.modules import imported_names, imports_of
from migrate.source.paddle.abstract.python_calls import BUILTINS
from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot import module
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.rewriting import Rewritten, rewritten


def check_tasks(program: Program) -> None:
    """Raise `MigrateError` if the schema's tasks do not match the model's outputs, or there is no loss."""
    schema = program.schema
    if program.loss is None and not schema.tasks:
        raise MigrateError(
            f"{schema.path}: `tasks` is missing, and there is no {TRAINER} with a create_loss; add `tasks`"
        )
    for task in schema.tasks:
        shape = program.outputs[task.output].shape
        width = shape[-1] if shape is not None and len(shape) > 1 else None
        if width is not None and task.loss != "square_error" and task.positive >= width:
            raise MigrateError(
                f"{schema.path}: task `{task.name}` uses column {task.positive} of output {task.output}, which has "
                f"{width}; correct `positive` (columns count from 0)"
            )


def loss_text(program: Program, names: Names) -> tuple[str, Rewritten | None]:
    """Return the text of `create_loss`, and the rewritten trainer if it is from there."""
    if program.loss is None or program.trainer is None:
        return _from_tasks(program), None
    _check_free_names(program, names)
    made = rewritten(program, program.trainer, names)
    node = program.loss.node
    assert isinstance(node, ast.FunctionDef)
    function = _find(made.tree, program.loss.owner.name if program.loss.owner else "", node.name)
    parameters = function.params.with_changes(params=function.params.params[1:])
    lines = [line for line in function.leading_lines if line.comment is not None]
    plain = function.with_changes(params=parameters, leading_lines=lines)
    first, last = node.lineno, node.end_lineno or node.lineno
    made.refused = {span: told for span, told in made.refused.items() if first <= span[0] <= last}
    return cst.Module([plain], default_indent=made.tree.default_indent).code, made


def _find(file: cst.Module, owner: str, name: str) -> cst.FunctionDef:
    for item in file.body:
        if isinstance(item, cst.ClassDef) and item.name.value == owner:
            for method in item.body.body:
                if isinstance(method, cst.FunctionDef) and method.name.value == name:
                    return method
    raise LookupError(f"{owner}.{name}")


def _check_free_names(program: Program, spelled: Names) -> None:
    """Record problems for names in `create_loss` that are neither its own nor Paddle's, as it becomes a function."""
    assert program.loss is not None and program.trainer is not None
    node, names = program.loss.node, imported_names(imports_of(program.trainer.tree))
    assert isinstance(node, ast.FunctionDef)
    local = {item.arg for item in node.args.args[1:]} | BUILTINS.keys() | {"isinstance", "getattr", "hasattr", "print"}
    local |= {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    allowed = local | {name for name, dotted in names.items() if dotted.partition(".")[0] == "paddle"}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load) and item.id not in allowed:
            told = f"the loss uses `{item.id}` of {program.trainer.path}; define it in create_loss"
            program.run.problem_in(program.trainer, item, told)
        bound = item.arg if isinstance(item, ast.arg) else item.id if isinstance(item, ast.Name) else ""
        if bound in local & (module.reserved(spelled) | names.keys()):
            program.run.problem_in(
                program.trainer, item, f"the name `{bound}` is used by the converted code; rename it"
            )


def _from_tasks(program: Program) -> str:
    terms = ",\n".join(f"        {_term(program, task)}" for task in program.schema.tasks)
    return f'''\
def create_loss(outputs: list[tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
    """Return the sum of the tasks' losses, a scalar."""
    losses = [
{terms},
    ]
    return tf.add_n(losses)
'''


def _term(program: Program, task: Task) -> str:
    index = program.schema.labels.index(task.label)
    output, label = f"outputs[{task.output}]", f"labels[:, {index}:{index + 1}]"
    shape = program.outputs[task.output].shape
    if shape is not None and len(shape) == 1:
        output = f"tf.expand_dims({output}, 1)"
    column = f"{output}[:, {task.positive}:{task.positive + 1}]"
    factor = "" if task.weight == 1.0 else f"{task.weight!r} * "
    if task.loss == "log_loss":
        return f"{factor}tf.losses.log_loss({label}, {column}, epsilon={task.epsilon!r})"
    if task.loss == "square_error":
        return f"{factor}tf.reduce_mean(tf.math.squared_difference({output}, {label}))"
    sparse = f"tf.cast(labels[:, {index}], tf.int64)"
    return f"{factor}tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels={sparse}, logits={output}))"
