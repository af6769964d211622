"""What optimizers and schedulers have in eager programs besides what `runtime.nn.optimizer` has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from runtime.checkpoint.live_tables import replace_rows
from runtime.compat.paddle import recording
from runtime.compat.paddle.files import values_of
from runtime.nn.optimizer.base import Optimizer
from runtime.nn.optimizer.scheduler import LRScheduler
from runtime.nn.optimizer.sgd import Momentum
from runtime.nn.optimizer.state import load_table_slots, table_slots
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Weight

_SCHEDULE = "LR_Scheduler"
#: Slots with another name in Paddle's files, those of shape [1] there first.
_POWERS = {"beta1_pow": "beta1_pow_acc", "beta2_pow": "beta2_pow_acc"}
_OF_PADDLE = {
    **_POWERS,
    "avg_squared_grad": "_avg_squared_grad",
    "avg_squared_update": "_avg_squared_update",
}


class ReduceOnPlateau(LRScheduler):
    """A rate that is multiplied by `factor` when a measured value has not become better for `patience` calls."""

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        """Take the first rate, and when and how it falls.

        Raises:
            ValueError: a mode is another word, or `factor` is not below 1.
        """
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceOnPlateau got mode={mode!r}, threshold_mode={threshold_mode!r}: give min or max, and rel or abs"
            )
        if factor >= 1.0:
            raise ValueError(f"ReduceOnPlateau got factor={factor}: give a number below 1")
        super().__init__(learning_rate)
        self.mode, self.factor, self.patience, self.cooldown = mode, factor, patience, cooldown
        self.threshold, self.threshold_mode, self.min_lr, self.epsilon = threshold, threshold_mode, min_lr, epsilon
        self.best: float | None = None
        self.cooldown_counter = self.num_bad_epochs = 0
        self._rate = float(learning_rate)

    def get_lr(self) -> float:
        """Return the rate."""
        return self._rate

    def step(self, metrics: Any = None, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take a measured value."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if metrics is None:
            return
        value = float(np.asarray(metrics).reshape(-1)[0])
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
            return
        self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            lower = max(self._rate * self.factor, self.min_lr)
            self._rate = lower if self._rate - lower > self.epsilon else self._rate

    def _is_better(self, value: float, best: float) -> bool:
        sign = 1.0 if self.mode == "min" else -1.0
        step = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return value < best - step if sign > 0 else value > best + step


_step = Optimizer.step


def _step_unrecorded(self: Optimizer) -> None:
    """Apply the gradients that the weights hold; no gradient goes through that."""
    with recording.stopped():
        _step(self)


def _set_lr(self: Optimizer, value: float) -> None:
    """Set the learning rate of an optimizer without a scheduler."""
    if isinstance(self._learning_rate, LRScheduler):
        raise RuntimeError(f"{self._name} has a scheduler, which sets its rate: call the scheduler's step")
    if isinstance(self, Momentum) and self.rules() and float(value) != self._learning_rate:
        raise ValueError(
            f"{self._name} trains tables, and their momentum would keep the earlier learning rate: create their "
            "embeddings with nn.Embedding(..., table=False), or do not change the rate"
        )
    self._learning_rate = float(value)


def _set_lr_scheduler(self: Optimizer, scheduler: LRScheduler) -> None:
    self._learning_rate = scheduler


def _state_dict(self: Optimizer) -> dict[str, Any]:
    """Return the slots of the weights that were trained, as Paddle has them, and the state of the scheduler.

    A table has its rows, too, which Paddle ignores.
    """
    weights = _weights(self)
    kept = {key: variable for key, variable in self.slots().items() if key[0] in weights}
    state: dict[str, Any] = {
        _key(weights[number], slot): variable.numpy().reshape([1] if slot in _POWERS else variable.shape)
        for (number, slot), variable in kept.items()
    }
    squares = [(weights[number], variable) for (number, slot), variable in kept.items() if slot == "mean_square"]
    for weight, variable in squares:  # Paddle's RMSProp has a mean of gradients also where it does not center them
        state.setdefault(_key(weight, "mean_grad"), np.zeros_like(variable.numpy()))
    for weight, rule in self.rules():
        state |= {_key(weight, slot): values for slot, values in table_slots(weight, rule).items()}
        parts = weight.table.snapshot()
        state[f"{weight.name}_rows"] = [part.numpy() for part in parts]
    if isinstance(self._learning_rate, LRScheduler):
        state[_SCHEDULE] = self._learning_rate.state_dict()
    return state


def _set_state_dict(self: Optimizer, state_dict: Mapping[str, Any]) -> None:
    """Take what `state_dict` returned, here or in Paddle; a slot without values there begins as in a new optimizer."""
    weights = list(_weights(self).values())
    stored = _slots_by_name({weight.name for weight in weights}, state_dict)
    for weight in weights:
        slots, rows = stored.get(weight.name, {}), state_dict.get(f"{weight.name}_rows")
        if isinstance(weight, TableWeight):
            matrices = {slot: value for slot, value in slots.items() if value.shape == weight.declared_shape}
            if matrices and rows is None:
                load_table_slots(weight, self.rule_of(weight), matrices)
            slots = {slot: value for slot, value in slots.items() if slot not in matrices}
        for slot, value in slots.items():
            self.slot(weight, slot, 0.0, value.shape).assign(value)
        if rows is not None and isinstance(weight, TableWeight):
            replace_rows(weight.table, [part if isinstance(part, np.ndarray) else values_of(part) for part in rows])
    if _SCHEDULE in state_dict and isinstance(self._learning_rate, LRScheduler):
        self._learning_rate.set_state_dict(state_dict[_SCHEDULE])


def _slots_by_name(names: Iterable[str], state_dict: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the slots of weights by the names of both, also as Paddle has them: `w_0_beta1_pow_acc_0`, [1]."""
    slots: dict[str, dict[str, Any]] = {}
    for key, value in state_dict.items():
        name = max((one for one in names if key.startswith(f"{one}_")), key=len, default=None)
        match = None if name is None else re.fullmatch(r"_?(\w+?)(_acc)?_\d+", key[len(name) + 1 :])
        if name is not None and match is not None:
            array = value if isinstance(value, np.ndarray) else values_of(value)
            slots.setdefault(name, {})[match[1]] = array.reshape(()) if match[2] else array
    return slots


def _weights(optimizer: Optimizer) -> dict[int, Weight]:
    return {id(weight): weight for group in optimizer._groups for weight in group.weights}


def _key(weight: Weight, slot: str) -> str:
    return f"{weight.name}_{_OF_PADDLE.get(slot, slot)}_0"


#: What optimizers have in Paddle's eager programs besides what `runtime.nn.optimizer.Optimizer` has.
methods = {
    "step": _step_unrecorded,
    "set_lr": _set_lr,
    "set_lr_scheduler": _set_lr_scheduler,
    "state_dict": _state_dict,
    "set_state_dict": _set_state_dict,
    "set_dict": _set_state_dict,
}
