"""The loss of the original: its `create_loss`, or else the tasks of the schema (runs in the Paddle process)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import paddle
import paddle.nn.functional as F

from migrate.errors import MigrateError
from migrate.schema import Schema, Task

#: (outputs, labels [B, L]) -> scalar loss
Loss = Callable[[Sequence[Any], Any], Any]


def find_loss(trainer: Any, path: str, schema: Schema) -> tuple[Loss, str]:
    """Return the loss of a trainer without `train_forward`, or of a schema, and a note on its origin.

    Raises:
        MigrateError: the trainer has no `create_loss`, and the schema has no tasks.
    """
    if hasattr(trainer, "create_loss"):
        return _of_create_loss(trainer.create_loss, schema), "the loss is create_loss of dygraph_model.py"
    if not schema.tasks:
        raise MigrateError(
            f"{schema.path}: `tasks` is missing and no dygraph_model.py beside {path} has a create_loss, "
            "so there is no loss to compare; add `tasks`"
        )
    return lambda outputs, labels: _of_tasks(schema, outputs, labels), "the loss is that of the schema's tasks"


def _of_create_loss(create_loss: Callable[..., Any], schema: Schema) -> Loss:
    names = [p.name for p in inspect.signature(create_loss).parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]

    def loss(outputs: Sequence[Any], labels: Any) -> Any:
        together = len(names) == 1 + len(schema.labels) and len(outputs) > 1
        given = [list(outputs)] if together else list(outputs)
        if len(names) != len(given) + len(schema.labels):
            raise MigrateError(
                f"{schema.path}: create_loss takes {len(names)} arguments, but the model has {len(outputs)} outputs "
                f"and `labels` lists {len(schema.labels)}; correct `labels`"
            )
        places = [_label_place(name, i, schema.labels) for i, name in enumerate(names[len(given) :])]
        return create_loss(*given, *(labels[:, i : i + 1] for i in places))

    return loss


def _label_place(name: str, position: int, labels: Sequence[str]) -> int:
    """Return the column for a parameter of the loss: that of the label with its name, else by position."""
    plain = name.removeprefix("label_").removesuffix("_label")
    return labels.index(plain) if plain in labels else position


def _of_tasks(schema: Schema, outputs: Sequence[Any], labels: Any) -> Any:
    total = 0.0
    for task in schema.tasks:
        column = schema.labels.index(task.label)
        total = total + task.weight * _task_loss(task, outputs[task.output], labels[:, column : column + 1])
    return total


def _task_loss(task: Task, output: Any, label: Any) -> Any:
    output = output if len(output.shape) > 1 else output.reshape([-1, 1])
    if task.loss == "cross_entropy":
        return F.cross_entropy(output, label.astype("int64"))
    chosen = output if output.shape[1] == 1 else output[:, task.positive : task.positive + 1]
    if task.loss == "log_loss":
        return paddle.mean(F.log_loss(chosen, label, epsilon=task.epsilon))
    return paddle.mean(F.square_error_cost(chosen, label))
