"""Worker that runs an eager Paddle program in Paddle, and follows the steps of the converted one: `run(job)`.

Two programs that step by themselves drift apart by rounding alone: Adam makes a full step of a gradient that is 0 but
for rounding. So each weight begins as that of the converted program; at each step the gradients are compared, then the
optimizer applies those of the converted program, and the weights it leaves are compared, then set to the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import paddle
from paddle.base.layer_helper_base import LayerHelperBase

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.values import mapped
from migrate.verify.paddle import patches
from migrate.verify.paddle.patches import distributions_of, is_dense, textbook, trained_by, watched_distributions
from migrate.verify.paddle.program.common import STAGE, Steps, run_script
from migrate.verify.paddle.trainer.following import give_gradients, gradients_of, nudged
from migrate.verify.paddle.trainer.random_tensors import Chance
from migrate.verify.recording import Moment, Recording, packed, unpacked
from migrate.verify.replacing import replaced


class _Side:
    """The original's weights as they began, and its steps."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.moved: Recording = job["moved"]
        self.theirs: list[Moment] = self.moved.steps[STAGE]
        self.steps = Steps(len(self.theirs))
        self.initial: dict[str, Any] = {}
        self.created_by_name: dict[str, Any] = {}
        self.last: dict[str, Any] = {}  #: the weights of the converted program behind its last step
        self.inside = False
        #: Moves each weight by at most one last place, to show how sure the original is of its own gradients.
        self.nudges = np.random.RandomState(job["nudged"]) if "nudged" in job else None
        self.wide = job.get("dtype") == "float64"

    def nudge(self, values: Any) -> Any:
        """Return the values of the converted program, nudged where that is wanted."""
        return values if self.nudges is None else nudged(values, self.nudges)

    def created(self, parameter: Any) -> None:
        """Keep what a weight begins with, and let it begin as that of the converted program."""
        name = parameter.name
        self.initial[name], self.created_by_name[name] = parameter.numpy(), parameter
        start = self.moved.initial.get(name)
        if start is not None:
            if tuple(start.shape) != tuple(parameter.shape):
                raise MigrateError(
                    f"the weight `{name}` has shape {list(parameter.shape)}, that of the converted program "
                    f"{list(start.shape)}; convert the program again"
                )
            parameter.set_value(self.nudge(start.astype(self.initial[name].dtype)))

    def stepped(self, optimizer: Any, step: Any) -> None:
        """Make a step with the gradients of the converted program, and record it."""
        number = len(self.steps.steps)
        theirs = self.theirs[number]
        parameters = {parameter.name: parameter for parameter in trained_by(optimizer)}
        own = {name: parameter for name, parameter in parameters.items() if parameter.grad is not None}
        gradients = gradients_of(own)
        known = {**self.moved.initial, **self.last}
        before = {name: known.get(name, parameter.numpy()) for name, parameter in parameters.items()}
        self.inside = True
        try:
            give_gradients(own, theirs.gradients, is_dense(optimizer))
            with textbook():
                step(optimizer)
        finally:
            self.inside = False
        after = {name: packed(parameter.numpy(), before[name]) for name, parameter in parameters.items()}
        for name, parameter in parameters.items():
            if name in theirs.values:
                self.last[name] = unpacked(theirs.values[name], before[name])
                parameter.set_value(self.nudge(self.last[name].astype(parameter.numpy().dtype)))
        self.steps.step(gradients, after)


@contextlib.contextmanager
def _watching(side: _Side) -> Iterator[None]:
    create, backward = LayerHelperBase.create_parameter, paddle.Tensor.backward

    def created(self: Any, *positional: Any, **named: Any) -> Any:
        parameter = create(self, *positional, **named)
        if parameter is not None:
            side.created(parameter)
        return parameter

    def recorded(self: Any, *positional: Any, **named: Any) -> Any:
        backward(self, *positional, **named)
        if not side.inside:
            side.steps.loss(self.numpy())

    def stepping(step: Any) -> Any:
        def stepped(self: Any) -> None:
            if side.inside:
                step(self)
            else:
                side.stepped(self, step)

        return stepped

    load, batches = paddle.io.DataLoader.__init__, paddle.io.DataLoader.__iter__

    def loading(self: Any, *positional: Any, **named: Any) -> None:
        # A thread that reads ahead would draw random numbers of the program at any moment.
        load(self, *positional, **{**named, "use_buffer_reader": False, "num_workers": 0})

    def iterated(self: Any) -> Any:
        return (mapped(_widened, batch) for batch in batches(self))

    changes: list[tuple[Any, str, Any]] = [
        (LayerHelperBase, "create_parameter", created),
        (paddle.Tensor, "backward", recorded),
        (paddle.io.DataLoader, "__init__", loading),
        *([(paddle.io.DataLoader, "__iter__", iterated)] if side.wide else []),
    ]
    for kind in vars(paddle.optimizer).values():
        if isinstance(kind, type) and issubclass(kind, paddle.optimizer.Optimizer):
            own = vars(kind)
            changes += [(kind, "step", stepping(own["step"]))] if "step" in own else []
            changes += [(kind, "minimize", lambda self, *_, **__: self.step())] if "minimize" in own else []
    with replaced(*changes), Chance().replacing():
        yield


def _widened(value: Any) -> Any:
    """Return float64 in the place of float32."""
    return value.astype("float64") if isinstance(value, paddle.Tensor) and value.dtype == paddle.float32 else value


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program of a job until it has made its steps; return what it records.

    With `dtype` float64 in the job it computes in that what it says in float32; with `nudged`, a seed, each weight that
    it takes over is moved by a last place.
    """
    side = _Side(job)
    if side.wide:
        paddle.set_default_dtype("float64")
        patches.complete()
    with watched_distributions() as drawn, _watching(side):
        run_script(job)
    steps, weights = {STAGE: side.steps.steps}, side.moved.initial
    distributions = distributions_of(drawn, side.created_by_name, side.initial)
    return {"recording": Recording(side.initial, [], steps, weights, distributions, follows=True)}
