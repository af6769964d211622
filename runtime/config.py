"""Process-wide settings of `init`; tables and graphs have their own state and work without it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from runtime import _validation

_log = logging.getLogger("runtime")


@dataclass(frozen=True)
class Config:
    """The arguments of `init`; names, types and ranges are Rec SDK's."""

    max_steps: int = -1
    train_steps: int = -1
    eval_steps: int = -1
    save_steps: int = -1
    if_load: bool = False
    use_dynamic: bool = True
    use_dynamic_expansion: bool = False
    bind_cpu: bool = True
    use_lccl: bool = False
    is_incremental_checkpoint: bool = False
    save_checkpoint_due_time: int | None = None
    save_delta_checkpoints_secs: int | None = None
    restore_model_version: int | None = None
    recent_key_count_threshold: int = 0


def _steps(name: str, value: Any) -> None:
    _validation.integer(name, value, -1)


def _at_least(low: int) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value is not None:
            _validation.integer(name, value, low)

    return check


_RULES: Mapping[str, Callable[[str, Any], object]] = {
    "max_steps": _steps,
    "train_steps": _steps,
    "eval_steps": _steps,
    "save_steps": _steps,
    "if_load": _validation.boolean,
    "use_dynamic": _validation.boolean,
    "use_dynamic_expansion": _validation.boolean,
    "bind_cpu": _validation.boolean,
    "use_lccl": _validation.boolean,
    "is_incremental_checkpoint": _validation.boolean,
    "save_checkpoint_due_time": _at_least(1),
    "save_delta_checkpoints_secs": _at_least(1),
    "restore_model_version": _at_least(0),
    "recent_key_count_threshold": lambda name, value: _validation.integer(name, value, 0),
}

# Settings that request missing features, with the remedy.
_ABSENT: Mapping[str, str] = {
    "use_lccl": "leave it False; training runs in one process",
    "is_incremental_checkpoint": "leave it False and save full checkpoints",
    "save_checkpoint_due_time": "leave it out and let the Saver or RunConfig decide when to save",
    "save_delta_checkpoints_secs": "leave it out and save full checkpoints",
    "restore_model_version": "leave it out and restore the checkpoint by its path",
    "recent_key_count_threshold": "leave it 0 and save full checkpoints",
}

_current: Config | None = None


def init(**kwargs: Any) -> None:
    """Configure the process; optional, and allowed once.

    Tables work without it. Step counts are ints in [-1, 2**31 - 1]; -1 means until the data ends. Unknown keywords,
    such as `use_mpi` of older releases, are ignored with a warning that names them.

    Raises:
        ValueError: a value has a wrong type or range, all step counts are 0, or it requests a missing feature.
        EnvironmentError: called twice without `terminate_config_initializer` in between.
    """
    global _current
    if _current is not None:
        raise OSError("init was called twice in this process: call it once, or terminate_config_initializer() first")
    known = {field.name for field in fields(Config)}
    unknown = sorted(set(kwargs) - known)
    if unknown:
        _log.warning("init ignores the unknown keyword%s %s", "s"[: len(unknown) > 1], ", ".join(unknown))
    config = checked({name: value for name, value in kwargs.items() if name in known})
    _refuse_absent(config)
    _current = config


def terminate_config_initializer() -> None:
    """Discard the settings of `init`; without a preceding `init`, only log a warning."""
    global _current
    if _current is None:
        _log.warning("terminate_config_initializer has no effect: init was not called, or was already terminated")
    _current = None


def current() -> Config | None:
    """Return the settings of `init`, or None before it is called."""
    return _current


def use_dynamic_expansion() -> bool:
    """Return whether `init` enabled dynamic expansion, in which training works on rows and their addresses."""
    return _current is not None and _current.use_dynamic_expansion


def checked(settings: Mapping[str, Any]) -> Config:
    """Check the known keywords of `init` by Rec SDK's rules, and return them as settings.

    Raises:
        ValueError: a value has a wrong type or range, or all step counts are 0.
    """
    config = Config(**settings)
    for name, rule in _RULES.items():
        rule(name, getattr(config, name))
    if config.max_steps == config.train_steps == config.eval_steps == 0:
        raise ValueError(
            "`max_steps`, `train_steps` and `eval_steps` are all 0: set at least one of them to a step count"
        )
    return config


def _refuse_absent(config: Config) -> None:
    default = Config()
    for name, remedy in _ABSENT.items():
        if getattr(config, name) != getattr(default, name):
            raise _validation.unsupported(f"{name}={getattr(config, name)!r}", remedy)
