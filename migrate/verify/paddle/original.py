"""Worker that runs the original Paddle model of a file in one precision: `run(job)`.

What the trainer beside it has is run, as PaddleRec does; what that lacks is done without.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import paddle
import paddle.nn.functional as F

from migrate.errors import MigrateError
from migrate.schema import Schema, Task
from migrate.verify.paddle.patches import distributions_of, trained_by, watched_distributions
from migrate.verify.paddle.random_batches import Batch, raw_input
from migrate.verify.paddle.trainer import original as trainer
from migrate.verify.paddle.trainer.common import CLASS, TRAINER
from migrate.verify.program_files import class_in, load_module

_METHODS = ("create_loss", "create_model", "train_forward")
#: Attributes of Paddle's optimizers with a weight decay; Momentum has several.
_DECAYS = ("regularization", "_regularization_method", "_weight_decay", "_lamb_weight_decay")


class Original(trainer.Original):
    """The original model and its loss."""

    varied = True

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Import the file, build the model, and record the distributions of its initial values."""
        self._begin(job)
        self.path, self.layout, self.spec = job["path"], job["layout"], job["schema"].input
        module = load_module(self.path)
        sys.modules["net"] = module  # the name that trainers import
        self.beside = _beside(self.path)
        with watched_distributions() as drawn:
            self.model = self._created(getattr(module, job["class"]), job["arguments"])
        made = self._called("create_optimizer", self.model, self.config) if self._has("create_optimizer") else None
        self.told = {"optimizer": type(made).__name__, "beyond": [] if made is None else _beyond(made, self.model)}
        self.state = self.parameters = dict(self.model.named_parameters())
        self.own, self.again, self.loose, self.trainer = [], {}, [], None  # what the trainer of a folder has besides
        self.distributions = distributions_of(drawn, self.parameters, self.values())
        self.loss, self.metrics = None, []
        if self._has("train_forward"):
            used = [name for name in ("create_model", "create_feeds", "train_forward") if self._has(name)]
            note = f"the original is run by its trainer: {', '.join(used)} of dygraph_model.py"
            self.metrics = self._called("create_metrics")[0] if self._has("create_metrics") else []
        else:
            self.loss, note = find_loss(self.beside, self.path, job["schema"])
        self.told |= {"note": note, "keys": self.spec.key_columns}

    def _has(self, name: str) -> bool:
        return hasattr(self.beside, name)

    def _created(self, kind: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the model, of `create_model` with the arguments of the schema instead of its own."""
        if not self._has("create_model"):
            return build(kind, self.path, arguments)
        stock = kind.__init__

        def init(self: Any, *given: Any, **named: Any) -> None:
            bound = inspect.signature(stock).bind_partial(self, *given, **named).arguments
            bound.pop(next(iter(bound)))
            stock(self, **{**bound, **arguments})

        with mock.patch.object(kind, "__init__", init):
            return self._called("create_model", self.config)

    def _loss_of(self, items: Batch, training: bool, outputs: list[Any]) -> Any:
        x, labels = (paddle.to_tensor(one.astype(self.dtype)) for one in (raw_input(self.spec, items), items.labels))
        if self.loss is not None:
            self.model(x)
            return self.loss(outputs, labels)
        place, columns = self.layout
        items_of = {place: x, **{item: labels[:, column : column + 1] for item, column in columns.items()}}
        batch = [items_of.get(i, x[:, :1]) for i in range(max(items_of) + 1)]
        returned = self._called("train_forward", self.model, self.metrics, batch, self.config)
        loss = returned[0] if isinstance(returned, list | tuple) else returned
        if not outputs or not isinstance(loss, paddle.Tensor):
            raise MigrateError(f"{TRAINER}: train_forward must call the model and return the loss; correct it")
        return loss

    def _called(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self.beside, name)(*arguments)
        except Exception as error:
            config = "" if self.config else ", and there is no config.yaml in its folder"
            told = str(error).strip().splitlines()
            raise MigrateError(
                f"{Path(self.path).parent / TRAINER}: {name} fails with {type(error).__name__}: "
                f"{told[-1] if told else ''}{config}; the original is run by its trainer: correct it or the schema"
            ) from error


def _beside(path: str) -> Any:
    """Return the trainer in the folder of a model's file, or None."""
    file = Path(path).resolve().parent / TRAINER
    if not file.is_file():
        return None
    chosen = class_in(file, CLASS, lambda owner: any(hasattr(owner, name) for name in _METHODS))
    return chosen() if chosen else None


def build(model_class: Any, path: str, arguments: Mapping[str, object]) -> Any:
    """Call the constructor; raises MigrateError if it fails."""
    try:
        return model_class(**arguments)
    except Exception as error:
        raise MigrateError(
            f"{path}: {model_class.__name__}({', '.join(map(str, arguments))}) fails with {type(error).__name__}: "
            f"{error}; correct `model.arguments` in the schema"
        ) from error


def _beyond(made: Any, model: Any) -> Sequence[str]:
    """Return a description of each setting of an optimizer that cannot be compared."""
    if not isinstance(made, paddle.optimizer.Optimizer) or not hasattr(paddle.optimizer, type(made).__name__):
        return [f"create_optimizer returns {type(made).__name__}, not a single optimizer"]
    groups = [group for group in made._parameter_list or () if isinstance(group, dict)]
    beyond = {
        "the learning rate is scheduled": not isinstance(made._learning_rate, int | float),
        "gradients are clipped": made._grad_clip is not None,
        "weights decay": any(getattr(made, name, None) not in (None, "", 0) for name in _DECAYS),
        "a group of parameters has settings of its own": any(group.keys() - {"params"} for group in groups),
        "not all parameters of the model are trained": {*map(id, trained_by(made))} != {*map(id, model.parameters())},
    }
    return [text for text, holds in beyond.items() if holds]


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure initial values and distributions, outputs, losses and gradients, and steps; see `trainer.measured`."""
    side = Original(job)
    return {**trainer.measured(side, job), **side.told}


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
