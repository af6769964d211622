"""Whether a schema and a model say the same: sizes, names and outputs."""

from __future__ import annotations

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.values import (
    OneHot,
    Stop,
    Tensor,
    Unknown,
    Value,
    mentions,
)
from migrate.source.paddle.one_hot.program import Program


def check_sizes(program: Program) -> None:
    """Raise `MigrateError` if no layer can read the input."""
    size = program.schema.input.size
    sizes = {int(layer.arguments["in_features"]): layer for layer in program.linears}
    if program.linears and size not in sizes:
        first = program.linears[0]
        raise MigrateError(
            f"{program.schema.path}: `input.size` is {size}, but line {first.span[0]} of {program.shown} "
            f"creates a layer for {first.arguments['in_features']} input columns; correct the schema or "
            "`model.arguments`"
        )


def check_input_name(program: Program) -> None:
    name = program.schema.input.name
    found = program.run.model_class.find("forward")
    wanted = found[0].args.args[1].arg if found and len(found[0].args.args) > 1 else name
    if name and name != wanted:
        raise MigrateError(
            f"{program.schema.path}: `input.name` is `{name}`, but the parameter of `forward` of {program.name} is "
            f"`{wanted}`; use that name or remove the key"
        )


def check_outputs(program: Program, result: Value) -> None:
    """Keep what the model returns.

    Raises:
        Stop: it is not a list of tensors, or one of them is not known.
    """
    if mentions(result, Unknown):
        raise Stop
    program.returns_list = isinstance(result, list | tuple)
    outputs = list(result) if program.returns_list else [result]
    if outputs and all(isinstance(item, Tensor) and not isinstance(item, OneHot) for item in outputs):
        program.outputs = outputs
        for item in outputs:
            _check_output(program, item)
        _check_tasks(program)
        return
    _not_returned(program, "`forward` must return tensors or a list of them")
    raise Stop


def _not_returned(program: Program, told: str) -> None:
    found = program.run.model_class.find("forward")
    program.run.problem_in(program.net, found[0] if found else program.run.model_class.node, told)


def _check_output(program: Program, output: Tensor) -> None:
    """Record a problem for an output from which the loss and predictions of the schema cannot be made."""
    if not output.shape:
        what = "a scalar" if output.shape == () else "a tensor whose rank is not known"
        _not_returned(program, f"`forward` returns {what}; the first dimension of an output must be the batch")
    elif output.dtype != "float32":
        _not_returned(program, f"`forward` returns {output.dtype}; outputs must be float32")


def _check_tasks(program: Program) -> None:
    """Raise `MigrateError` if the schema's tasks do not match the model's outputs."""
    schema, outputs = program.schema, program.outputs
    for task in schema.tasks:
        if task.output >= len(outputs):
            raise MigrateError(
                f"{schema.path}: task `{task.name}` uses output {task.output}, but {program.name} returns "
                f"{len(outputs)}; correct `tasks` (outputs count from 0)"
            )
        shape = outputs[task.output].shape
        width = shape[-1] if shape is not None and len(shape) > 1 else None
        if width is not None and task.loss != "square_error" and task.positive >= width:
            raise MigrateError(
                f"{schema.path}: task `{task.name}` uses column {task.positive} of output {task.output}, which has "
                f"{width}; correct `positive` (columns count from 0)"
            )
