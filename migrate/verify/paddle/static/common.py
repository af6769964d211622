"""What both sides of a static model share: its class, the outputs that are compared, and the ids of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from migrate.errors import MigrateError
from migrate.verify.paddle.trainer.common import class_of

TRAINER, CLASS = "static_model.py", "StaticModel"
#: Ids are taken modulo this number, and tables have as many rows at most: in Paddle they are matrices here.
IDS = 50


def trainer_of(folder: str, config: Any) -> Any:
    """Import the static model of a folder and make it; the folder is where it runs."""
    return class_of(folder, TRAINER, CLASS, ("create_feeds", "net"))(config)


def minimized(trainer: Any, kind: type) -> tuple[Any, Any]:
    """Return the optimizer of this kind whose `minimize` the trainer calls, and the loss; its step is not added.

    Raises:
        MigrateError: it calls that of none, or of several.
    """
    calls: list[tuple[Any, Any]] = []
    with mock.patch.object(kind, "minimize", lambda own, loss: calls.append((own, loss))):
        trainer.create_optimizer()
    if len(calls) != 1:
        raise MigrateError("create_optimizer must call `minimize` of one optimizer with the loss; correct it")
    return calls[0]


def outputs_of(
    trainer: Any, fetches: Any, kinds: type | tuple[type, ...], compared: Callable[[Any], bool]
) -> Iterator[tuple[str, Any]]:
    """Yield (name, tensor) of all that `net` returned by name, and of the trainer's attributes that are compared."""
    for name, value in sorted(fetches.items()) if isinstance(fetches, dict) else ():
        if isinstance(value, kinds):
            yield f"fetched {name}", value
    for name, value in sorted(vars(trainer).items()):
        if isinstance(value, kinds) and compared(value):
            yield name, value
