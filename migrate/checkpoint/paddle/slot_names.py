"""Which slot of which weight an entry of `.pdopt` is, such as `embedding_0.w_0_moment1_0`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from migrate.checkpoint.paddle.state_file import NAMES, SCHEDULE
from migrate.errors import MigrateError

#: Paddle's name of a slot -> that of `runtime.nn`.
_SLOTS = {
    "moment1": "moment1",
    "moment2": "moment2",
    "beta1_pow_acc": "beta1_pow",
    "beta2_pow_acc": "beta2_pow",
    "moment": "moment",
    "inf_norm": "inf_norm",
    "velocity": "velocity",
    "momentum": "momentum",
    "mean_square": "mean_square",
    "mean_grad": "mean_grad",
    "_avg_squared_grad": "avg_squared_grad",
    "_avg_squared_update": "avg_squared_update",
}
#: What Paddle adds to a slot's name: how many optimizers the program made before.
_END = re.compile(r"_\d+$")


def slot_keys(
    keys: Iterable[str], weights: Mapping[str, Any], source: Path
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return key -> (path of the weight, slot), and the keys of parameters that the model's state dict does not have.

    Args:
        keys: of a `.pdopt` file.
        weights: the entries of the `.pdparams` file.
        source: the `.pdopt` file, for messages.

    Raises:
        MigrateError: the names of the parameters are not known, or a slot is not.
    """
    names = weights.get(NAMES)
    if not isinstance(names, dict):
        raise MigrateError(
            f"{source}: the .pdparams beside it has no names of parameters, by which slots are found; save it with "
            "paddle.save(model.state_dict(), ...)"
        )
    paths: dict[str, str] = {}
    for path, name in names.items():
        paths.setdefault(name, path)
    by_key, strange = {}, []
    for key in keys:
        if key in (NAMES, SCHEDULE):
            continue
        name = max((name for name in paths if key.startswith(f"{name}_")), key=len, default=None)
        if name is None:
            strange.append(key)
            continue
        slot = _SLOTS.get(_END.sub("", key.removeprefix(f"{name}_")))
        if slot is None:
            raise MigrateError(f"{source}: `{key}` is a slot that the converted optimizers do not have; leave it out")
        by_key[key] = paths[name], slot
    return by_key, strange


def full_key(name: str, slot: str) -> str:
    """Return Paddle's key of a slot of `runtime.nn`, for the parameter of this name in a program with one optimizer."""
    paddle = next(theirs for theirs, ours in _SLOTS.items() if ours == slot)
    return f"{name}_{paddle}_0"
