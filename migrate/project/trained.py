"""The optimizer of a project: that of a Paddle model's trainer, or Adam with learning rate 0.001."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from migrate.errors import MigrateError
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot.optimizer import Optimizer

#: Paddle's class -> (Rec SDK's module, its functions, TensorFlow's class of the dense variables)
_KINDS = {
    "Adam": ("lazy_adam", "create_hash_optimizer_by_address", "AdamOptimizer"),
    "SGD": ("gradient_descent", "create_hash_optimizer_by_addr", "GradientDescentOptimizer"),
}
#: Supported arguments besides the learning rate -> their names; None: no effect on values.
_SETTINGS: Mapping[str, Mapping[str, str | None]] = {
    "Adam": {"beta1": "beta1", "beta2": "beta2", "epsilon": "epsilon", "lazy_mode": None, "use_multi_tensor": None},
    "SGD": {},
}


@dataclass(frozen=True)
class Trained:
    """The optimizer of a project."""

    kind: str = "Adam"
    learning_rate: float = 0.001
    settings: str = ""  #: further arguments as source text: `, beta1=0.8`

    def values(self) -> dict[str, Any]:
        """Return the variables of the templates."""
        module, by_address, dense = _KINDS[self.kind]
        return {
            "sparse_module": module,
            "by_address": by_address,
            "dense_optimizer": dense,
            "settings": self.settings,
            "learning_rate": self.learning_rate,
        }


def trained(path: str, made: Optimizer | None) -> Trained:
    """Return the optimizer of a project that trains as the trainer beside a model does.

    Args:
        path: the file of the model.
        made: the optimizer that `create_optimizer` returns; None without a trainer.

    Raises:
        MigrateError: projects do not support the optimizer, or one of its arguments.
    """
    if made is None:
        return Trained()
    where = f"{path}: line {made.line} of {TRAINER}"
    if made.name not in _KINDS:
        raise MigrateError(
            f"{where}: projects support Adam and SGD, not {made.name}; use one of these there, and change train_step "
            "of main.py afterwards"
        )
    allowed, given = _SETTINGS[made.name], dict(made.arguments)
    rate = given.pop("learning_rate", Trained.learning_rate)
    unknown = [name for name, value in given.items() if name not in allowed and value is not False]
    if unknown:
        raise MigrateError(f"{where}: projects do not support `{unknown[0]}` of {made.name}; remove it")
    named = [(allowed.get(name), value) for name, value in given.items()]
    return Trained(made.name, float(rate), "".join(f", {name}={value!r}" for name, value in named if name))
