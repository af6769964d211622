"""Worker that runs an eager Paddle program on the façade, and records its steps: `run(job)`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

from migrate.verify.distributions import Distribution
from migrate.verify.paddle.graph_side import array_of, distribution_of
from migrate.verify.paddle.program.common import STAGE, Steps, run_script
from migrate.verify.paddle.trainer.graph_random_numbers import drawn
from migrate.verify.recording import Recording, packed
from migrate.verify.without_buckets import CLIPPED, Shared, by_bucket, clips_by_norm, gave_up, of_buckets
from runtime.compat.paddle import InstalledOtherwise, install
from runtime.compat.paddle.files import values_of
from runtime.compat.paddle.tensor import Tensor
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Parameter, Weight


class _Side:
    """The weights that there are, as each began, and the steps."""

    def __init__(self, steps: int) -> None:
        self.steps = Steps(steps)
        self.initial: dict[str, Any] = {}
        self.distributions: dict[str, Distribution | None] = {}
        self.padding: dict[str, int] = {}
        self.freed: list[str] = []  #: weights whose ids gave up their buckets, once a step trains one of them
        self.apart: dict[str, str] = {}  #: see `Recording`

    def built(self, weight: Weight) -> None:
        """Keep what a weight begins with."""
        self.initial.setdefault(weight.name, values_of(weight))
        self.distributions.setdefault(weight.name, distribution_of(weight))
        padding = getattr(weight, "padding", None)  # also of a table that has become a variable
        if padding is not None:
            self.padding[weight.name] = padding

    def stepped(self, chosen: Optimizer, step: Any) -> None:
        """Make a step of an optimizer, and record it."""
        weights = [weight for group in chosen._groups for weight in group.weights]
        before = {weight.name: values_of(weight) for weight in weights if weight.built}
        gradients = {
            weight.name: of_buckets(weight, array_of(weight.accumulated))
            for weight in weights
            if weight.trainable and weight.accumulated is not None
        }
        self.freed = [weight.name for weight in weights if weight.name in gradients and gave_up(weight)]
        step(chosen)
        after, shared = dict[str, Any](), dict[str, Shared]()
        for weight in weights:
            if weight.name in before:
                values = values_of(weight)
                if isinstance(weight, TableWeight) and weight.name in self.freed:
                    values, shared[weight.name] = by_bucket(weight.rules.buckets, values, *weight.own_rows())
                after[weight.name] = packed(values, before[weight.name])
        if self.freed:
            self.steps.wanted = len(self.steps.steps) + 1
            if clips_by_norm(chosen) and any(len(rows) for rows, _ in shared.values()):
                self.apart = {STAGE: CLIPPED}
        self.steps.step(gradients, after, shared)


@contextlib.contextmanager
def _watching(side: _Side) -> Iterator[None]:
    backward, step = Tensor.backward, Optimizer.step

    def recorded(self: Tensor, *positional: Any, **named: Any) -> None:
        backward(self, *positional, **named)
        side.steps.loss(self.numpy())

    def building(build: Any) -> Any:
        def built(self: Any, name: str) -> None:
            new = not self.built
            build(self, name)
            if new:
                side.built(self)

        return built

    with (
        mock.patch.object(Tensor, "backward", recorded),
        mock.patch.object(Optimizer, "step", lambda self: side.stepped(self, step)),
        mock.patch.object(Parameter, "build", building(Parameter.build)),
        mock.patch.object(TableWeight, "build", building(TableWeight.build)),
        drawn(),
    ):
        yield


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program of a job until it has made its steps; return what it records.

    With `unbucket` in the job, ids give up their buckets. Without, it has no recording if the program asks for that.
    """
    install(unbucket=job.get("unbucket", False))
    side = _Side(job["steps"])
    with _watching(side):
        try:
            run_script(job)
        except InstalledOtherwise:
            return {"gives up buckets": True}
    recording = Recording(side.initial, steps={STAGE: side.steps.steps}, distributions=side.distributions)
    recording.padding, recording.freed, recording.apart = side.padding, side.freed, side.apart
    return {"recording": recording}
