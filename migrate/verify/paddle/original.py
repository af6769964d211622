"""Worker that runs the original Paddle model in one precision: `run(job)`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import paddle

from migrate.errors import MigrateError
from migrate.verify.loading import load_module
from migrate.verify.paddle import float64_model
from migrate.verify.paddle.driver import Driver
from migrate.verify.paddle.initial import distributions_of, watched_distributions
from migrate.verify.paddle.inputs import Batch, random_weights, raw_input
from migrate.verify.paddle.loss import Loss, find_loss
from migrate.verify.paddle.trainer import original as trainer
from migrate.verify.paddle.trainer.common import Array, optimizer, watched
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings


class Original(trainer.Original):
    """The original model and its loss, in one precision."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Import the file, build the model, and record its initial values and their distributions."""
        path, self.dtype = job["path"], job["dtype"]
        paddle.set_default_dtype(self.dtype)
        paddle.seed(1)
        if self.dtype == "float64":
            float64_model.complete()
        module = load_module(path)
        sys.modules["net"] = module  # the name that trainers import
        model_class = getattr(module, job["class"])
        self.driver = Driver(path, job["config"], job["layout"])
        with watched_distributions() as drawn:
            if self.driver.has("create_model"):
                self.model = self.driver.create_model(model_class, job["arguments"])
            else:
                self.model = build(model_class, path, job["arguments"])
        self.optimizer, self.beyond = self.driver.beyond(self.model)
        self.state = self.parameters = dict(self.model.named_parameters())
        self.own, self.again, self.trainer = [], {}, None  # what a trainer has besides
        self.spec = job["schema"].input
        self.initial = self.values()
        self.distributions = distributions_of(drawn, self.parameters, self.initial)
        self.loss, self.loss_note = self._loss(job)

    def _loss(self, job: Mapping[str, Any]) -> tuple[Loss | None, str]:
        if not self.driver.has("train_forward"):
            return find_loss(self.driver.trainer, job["path"], job["schema"])
        names = ("create_model", "create_feeds", "train_forward")
        used = ", ".join(name for name in names if self.driver.has(name))
        return None, f"the original is run by its trainer: {used} of dygraph_model.py"

    def forward(self, items: Batch, training: bool = True) -> tuple[list[Any], Any]:
        """Return outputs [B, ...] and the scalar loss as Paddle tensors."""
        given = [paddle.to_tensor(one.astype(self.dtype)) for one in (raw_input(self.spec, items), items.labels)]
        if self.loss is None:
            return self.driver.step(self.model, *given)
        with watched(self.model, paddle.Tensor) as outputs:
            self.model(given[0])
        return outputs, self.loss(outputs, given[1])


def build(model_class: Any, path: str, arguments: Mapping[str, object]) -> Any:
    """Call the constructor; raises MigrateError if it fails."""
    try:
        return model_class(**arguments)
    except Exception as error:
        raise MigrateError(
            f"{path}: {model_class.__name__}({', '.join(map(str, arguments))}) fails with {type(error).__name__}: "
            f"{error}; correct `model.arguments` in the schema"
        ) from error


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure initial values and distributions; then, from random weights, outputs, losses, gradients and steps."""
    settings: Settings = job["settings"]
    side, batches = Original(job), job["batches"]
    shapes = {name: value.shape for name, value in side.initial.items()}
    weights = random_weights(shapes, side.spec, settings.seed)
    training = _deterministic(side, weights, batches[0])
    recording = Recording(side.initial, weights=weights, distributions=side.distributions, varied=True)
    recording.passes = [trainer.passes(side, weights, items) for items in batches[: settings.batches]]
    for kind, rate in job["rates"].items():
        recording.steps[kind] = _steps(side, weights, batches[: settings.steps], kind, rate)
    return {
        "recording": recording,
        "training": training,
        "notes": (side.loss_note,),
        "optimizer": side.optimizer,
        "beyond": side.beyond,
    }


def _deterministic(side: Original, weights: Mapping[str, Array], items: Batch) -> bool:
    """Return True if training mode is deterministic; else (dropout) switch to evaluation mode and return False."""
    side.model.train()
    side.load(weights)
    first, again = (side.forward(items)[1].numpy() for _ in range(2))
    if not np.array_equal(first, again):
        side.model.eval()
        return False
    return True


def _steps(
    side: Original, weights: Mapping[str, Array], batches: Sequence[Batch], kind: str, rate: float
) -> list[Moment]:
    side.load(weights)
    stepped = optimizer(paddle.optimizer, kind, rate, list(side.parameters.values()))
    steps = []
    for items in batches:
        stepped.clear_grad()  # Paddle accumulates gradients
        _, loss = side.forward(items)
        loss.backward()
        stepped.step()
        steps.append(Moment([loss.numpy().reshape(-1)], values=side.values()))
    return steps
