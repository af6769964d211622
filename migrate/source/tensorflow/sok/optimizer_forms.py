"""Optimizers that SOK wraps, and the runtime's with the same update formula.

SOK applies an optimizer only to the rows of a batch of a DynamicVariable, so Adam is lazy there. On a static variable
the optimizer works as on any variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Form:
    """An optimizer, and the runtime's with the same update formula."""

    module: str  #: updates only the rows of the batch
    parameters: tuple[str, ...]
    renamed: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)  #: those that differ
    static: str = ""  #: the module for a static variable, where it differs
    none: tuple[str, ...] = ()  #: arguments that must be absent, None, False or 0
    static_renamed: dict[str, str] = field(default_factory=dict)
    counts: bool = False  #: whether the number of its steps changes an update
    constant: bool = False  #: whether its learning rate must be a number
    momentum: Form | None = None  #: the form with momentum, of the rows of a batch


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_RATE = _same("learning_rate")
_SGD = Form("gradient_descent", ("learning_rate", "use_locking", "name"), _RATE)
_ADAGRAD = Form(
    "adagrad",
    ("learning_rate", "initial_accumulator_value", "use_locking", "name"),
    _RATE | _same("initial_accumulator_value"),
    {"initial_accumulator_value": "0.1"},
)
_ADAM = Form(
    "lazy_adam",
    ("learning_rate", "beta1", "beta2", "epsilon", "use_locking", "name"),
    _RATE | _same("beta1", "beta2", "epsilon"),
    static="adam",
    counts=True,
)
_MOMENTUM = Form(
    "momentum",
    ("learning_rate", "momentum", "use_locking", "name", "use_nesterov"),
    _RATE | _same("momentum", "use_nesterov"),
)
_KERAS_MOMENTUM = Form(
    "momentum",
    ("learning_rate", "momentum", "nesterov", "name"),
    _RATE | {"momentum": "momentum", "nesterov": "use_nesterov"},
    {"learning_rate": "0.01"},
    constant=True,
)
_KERAS_SGD = Form(
    "gradient_descent",
    ("learning_rate", "momentum", "nesterov", "name"),
    _RATE,
    {"learning_rate": "0.01"},
    none=("momentum", "nesterov"),
    momentum=_KERAS_MOMENTUM,
)
KERAS_ADAGRAD = Form(
    "adagrad",
    ("learning_rate", "initial_accumulator_value", "epsilon", "name"),
    _RATE | _same("initial_accumulator_value", "epsilon"),
    {"initial_accumulator_value": "0.1", "epsilon": "1e-07"},
)
_KERAS_ADAM = Form(
    "lazy_adam",
    ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad", "name"),
    _RATE | {"beta_1": "beta1", "beta_2": "beta2", "epsilon": "epsilon"},
    {"epsilon": "1e-07"},
    static="keras_adam",
    none=("amsgrad",),
    static_renamed=_RATE | _same("beta_1", "beta_2", "epsilon"),
    counts=True,
)
FORMS = {
    "train.GradientDescentOptimizer": _SGD,
    "train.AdagradOptimizer": _ADAGRAD,
    "train.AdamOptimizer": _ADAM,
    "train.MomentumOptimizer": _MOMENTUM,
    **{f"{home}SGD": _KERAS_SGD for home in ("keras.optimizers.", "optimizers.", "keras.optimizers.legacy.")},
    **{f"{home}Adagrad": KERAS_ADAGRAD for home in ("keras.optimizers.", "optimizers.", "keras.optimizers.legacy.")},
    **{f"{home}Adam": _KERAS_ADAM for home in ("keras.optimizers.", "optimizers.", "keras.optimizers.legacy.")},
}
_LAZY = Form("lazy_adam", _ADAM.parameters, _ADAM.renamed, counts=True)
OWN = {
    "SGD": Form("gradient_descent", ("lr",), {"lr": "learning_rate"}),
    "optimizers.Adam": _KERAS_ADAM,
    "optimizers.LazyAdamOptimizer": _LAZY,
}
