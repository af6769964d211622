"""Runs the original by the methods of its trainer, as PaddleRec does (runs in the Paddle process)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import paddle
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.verify.loading import class_in
from migrate.verify.paddle.trainer.common import CLASS, TRAINER, watched
from migrate.verify.paddle.trainer.kernels import trained_by

_METHODS = ("create_loss", "create_model", "train_forward")
#: Attributes of Paddle's optimizers with a weight decay; Momentum has several.
_DECAYS = ("regularization", "_regularization_method", "_weight_decay", "_lamb_weight_decay")

Array = NDArray[Any]


class Driver:
    """The trainer in the same folder as a model, if there is one."""

    def __init__(self, path: str, config: Mapping[str, Any], layout: tuple[int, Mapping[int, int]]) -> None:
        """Import the trainer and create it.

        Args:
            path: the model's file.
            config: the values of config.yaml by dotted names.
            layout: the index of the input in a batch, and index -> column for the labels.
        """
        self.path, self.config, self.layout = path, dict(config), layout
        self.trainer = _trainer(path)
        self.metrics: Any = []

    def has(self, name: str) -> bool:
        """Return whether there is a trainer and it has this method."""
        return hasattr(self.trainer, name)

    def create_model(self, kind: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the model of `create_model`, with the arguments of the schema instead of its own."""
        stock = kind.__init__

        def init(self: Any, *given: Any, **named: Any) -> None:
            bound = inspect.signature(stock).bind_partial(self, *given, **named).arguments
            bound.pop(next(iter(bound)))
            stock(self, **{**bound, **arguments})

        with mock.patch.object(kind, "__init__", init):
            return self._called("create_model", self.config)

    def beyond(self, model: Any) -> tuple[str, list[str]]:
        """Create the optimizer; return its class and a description of each setting that cannot be compared."""
        if not self.has("create_optimizer"):
            return "", []
        made = self._called("create_optimizer", model, self.config)
        return type(made).__name__, [*_beyond(made, model)]

    def step(self, model: Any, x: Any, labels: Any) -> tuple[list[Any], Any]:
        """Run `train_forward`; return the outputs of the model and the loss."""
        if self.has("create_metrics") and not self.metrics:
            self.metrics = self._called("create_metrics")[0]
        with watched(model, paddle.Tensor) as outputs:
            returned = self._called("train_forward", model, self.metrics, self._batch(x, labels), self.config)
        loss = returned[0] if isinstance(returned, list | tuple) else returned
        if not outputs or not isinstance(loss, paddle.Tensor):
            raise MigrateError(f"{TRAINER}: train_forward must call the model and return the loss; correct it")
        return outputs, loss

    def _batch(self, x: Any, labels: Any) -> list[Any]:
        place, columns = self.layout
        items = {place: x, **{item: labels[:, column : column + 1] for item, column in columns.items()}}
        return [items.get(i, x[:, :1]) for i in range(max(items) + 1)]

    def _called(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self.trainer, name)(*arguments)
        except Exception as error:
            config = "" if self.config else ", and there is no config.yaml in its folder"
            told = str(error).strip().splitlines()
            raise MigrateError(
                f"{Path(self.path).parent / TRAINER}: {name} fails with {type(error).__name__}: "
                f"{told[-1] if told else ''}{config}; the original is run by its trainer: correct it or the schema"
            ) from error


def _trainer(path: str) -> Any:
    beside = Path(path).resolve().parent / TRAINER
    if not beside.is_file():
        return None
    chosen = class_in(beside, CLASS, lambda owner: any(hasattr(owner, name) for name in _METHODS))
    return chosen() if chosen else None


def _beyond(made: Any, model: Any) -> Sequence[str]:
    if not isinstance(made, paddle.optimizer.Optimizer) or not hasattr(paddle.optimizer, type(made).__name__):
        return [f"create_optimizer returns {type(made).__name__}, not a single optimizer"]
    found = [] if isinstance(made._learning_rate, int | float) else ["the learning rate is scheduled"]
    found += ["gradients are clipped"] if made._grad_clip is not None else []
    found += ["weights decay"] if any(getattr(made, name, None) not in (None, "", 0) for name in _DECAYS) else []
    groups = [group for group in made._parameter_list or () if isinstance(group, dict)]
    found += (
        ["a group of parameters has settings of its own"] if any(group.keys() - {"params"} for group in groups) else []
    )
    if set(map(id, trained_by(made))) != set(map(id, model.parameters())):
        found.append("not all parameters of the model are trained")
    return found
