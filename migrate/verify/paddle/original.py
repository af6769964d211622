"""Worker that runs the original Paddle model of a file in one precision: `run(job)`.

What the trainer beside it has is run, as PaddleRec does; what that lacks is done without.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any
from unittest import mock

import paddle

from migrate.errors import MigrateError
from migrate.verify.paddle.patches import distributions_of, trained_by, watched_distributions
from migrate.verify.paddle.random_batches import Batch, raw_input
from migrate.verify.paddle.trainer import original as trainer
from migrate.verify.paddle.trainer.common import CLASS, TRAINER, metrics_of
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
        self.beside, note = _beside(self.path, job["default"])
        with watched_distributions() as drawn:
            self.model = self._created(getattr(module, job["class"]), job["arguments"])
        optimizer = self._called("create_optimizer", self.model, self.config) if self._has("create_optimizer") else None
        self.details = {
            "optimizer": type(optimizer).__name__,
            "beyond": [] if optimizer is None else _beyond(optimizer, self.model),
        }
        self.state = self.parameters = dict(self.model.named_parameters())
        self.own, self.again, self.loose, self.trainer = [], {}, [], None  # what the trainer of a folder has besides
        self.distributions = distributions_of(drawn, self.parameters, self.values())
        self.metrics = metrics_of(self.beside)
        self.details |= {"note": note, "keys": self.spec.key_columns}

    def _has(self, name: str) -> bool:
        return hasattr(self.beside, name)

    def _created(self, kind: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the model, of `create_model` with the arguments of the schema instead of its own."""
        if not self._has("create_model"):
            return build(kind, self.path, arguments)
        stock = kind.__init__

        def init(self: Any, *args: Any, **named: Any) -> None:
            bound = inspect.signature(stock).bind_partial(self, *args, **named).arguments
            bound.pop(next(iter(bound)))
            stock(self, **{**bound, **arguments})

        with mock.patch.object(kind, "__init__", init):
            return self._called("create_model", self.config)

    def _loss_of(self, items: Batch, training: bool, outputs: list[Any]) -> Any:
        x, labels = (paddle.to_tensor(one.astype(self.dtype)) for one in (raw_input(self.spec, items), items.labels))
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
            lines = str(error).strip().splitlines()
            raise MigrateError(
                f"{Path(self.path).parent / TRAINER}: {name} fails with {type(error).__name__}: "
                f"{lines[-1] if lines else ''}{config}; the original is run by its trainer: correct it or the schema"
            ) from error


def _beside(path: str, default: str) -> tuple[Any, str]:
    """Return the trainer in the folder of a model's file with the methods that it lacks, and a note on what is run.

    `default` is the text of the trainer that the schema tells of; it is empty where the folder's has all.
    """
    file = Path(path).resolve().parent / TRAINER
    chosen = None
    if file.is_file():
        chosen = class_in(file, CLASS, lambda owner: any(hasattr(owner, name) for name in _METHODS))
    beside = chosen() if chosen else SimpleNamespace()
    used = [name for name in ("create_model", "create_feeds", "train_forward") if hasattr(beside, name)]
    note = f"the original is run by its trainer: {', '.join(used)} of {TRAINER}"
    if "train_forward" not in used:
        own = hasattr(beside, "create_loss")
        note = f"the loss is create_loss of {TRAINER}" if own else "the loss is that of the schema's tasks"
    names: dict[str, Any] = {CLASS: object}
    exec(compile(default, TRAINER, "exec"), names)
    for name in {"create_loss", "train_forward"} & vars(names[CLASS]).keys():
        if not hasattr(beside, name):
            setattr(beside, name, MethodType(getattr(names[CLASS], name), beside))
    return beside, note


def build(model_class: Any, path: str, arguments: Mapping[str, object]) -> Any:
    """Call the constructor; raises MigrateError if it fails."""
    try:
        return model_class(**arguments)
    except Exception as error:
        raise MigrateError(
            f"{path}: {model_class.__name__}({', '.join(map(str, arguments))}) fails with {type(error).__name__}: "
            f"{error}; correct `model.arguments` in the schema"
        ) from error


def _beyond(optimizer: Any, model: Any) -> Sequence[str]:
    """Return a description of each setting of an optimizer that cannot be compared."""
    if not isinstance(optimizer, paddle.optimizer.Optimizer) or not hasattr(paddle.optimizer, type(optimizer).__name__):
        return [f"create_optimizer returns {type(optimizer).__name__}, not a single optimizer"]
    groups = [group for group in optimizer._parameter_list or () if isinstance(group, dict)]
    beyond = {
        "the learning rate is scheduled": not isinstance(optimizer._learning_rate, int | float),
        "gradients are clipped": optimizer._grad_clip is not None,
        "weights decay": any(getattr(optimizer, name, None) not in (None, "", 0) for name in _DECAYS),
        "a group of parameters has settings of its own": any(group.keys() - {"params"} for group in groups),
        "not all parameters of the model are trained": {*map(id, trained_by(optimizer))}
        != {*map(id, model.parameters())},
    }
    return [text for text, holds in beyond.items() if holds]


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure initial values and distributions, outputs, losses and gradients, and steps; see `trainer.measured`."""
    side = Original(job)
    return {**trainer.measured(side, job), **side.details}
