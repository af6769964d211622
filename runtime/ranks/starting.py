"""Which engine serves this process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from runtime.ranks.engine import Alone, Engine, RanksError

_ENGINES = ("auto", "alone", "collectives")
_current: list[Engine] = [Alone()]
_together: list[bool] = []


def start(engine: str = "auto", timeout_seconds: float = 60.0) -> Engine:
    """Connect this process to the other ranks, before TensorFlow runs its first op; return the engine that serves it.

    Args:
        engine: "collectives" (TensorFlow's own: eager mode and tf.function), "alone", or "auto": collectives where
            `runtime.launch` or TF_CONFIG tells of ranks, else alone.
        timeout_seconds: how long an exchange waits for the other ranks before it fails.

    Raises:
        RanksError: the ranks cannot be connected, or are with another engine.
        ValueError: an unknown engine, or a timeout that is not above 0.
    """
    if engine not in _ENGINES:
        raise ValueError(f"the engine {engine!r} is not known: choose one of {', '.join(_ENGINES)}")
    if not timeout_seconds > 0:
        raise ValueError(f"`timeout_seconds` {timeout_seconds} must be above 0")
    chosen = _found() if engine == "auto" else engine
    if _current[0].name != "alone":
        if _current[0].name != chosen:
            raise RanksError(f"the ranks are connected by {_current[0].name}: they cannot change to {chosen}")
        return _current[0]
    _current[0] = _made(chosen, timeout_seconds)
    return _current[0]


def stop() -> None:
    """Work alone from now on."""
    _current[0] = Alone()


@contextlib.contextmanager
def parts_together() -> Iterator[None]:
    """Let each rank save and restore the rows that it holds: what runs inside brings the parts of all together."""
    _together.append(True)
    try:
        yield
    finally:
        _together.pop()


def refuse_a_part(table_name: str) -> None:
    """Refuse to save or restore the rows of one rank as if they were the table.

    Raises:
        RanksError: there are several ranks, and this is not inside `parts_together`.
    """
    if size() > 1 and not _together:
        raise RanksError(
            f"the rows of the table `{table_name}` lie in {size()} ranks, of which a checkpoint would keep those of "
            "one: save and restore with runtime.ranks.checkpoint, on every rank"
        )


def current() -> Engine:
    """Return the engine that serves this process."""
    return _current[0]


def rank() -> int:
    """Return which rank this process is, from 0."""
    return current().rank


def size() -> int:
    """Return how many ranks there are."""
    return current().size


def _found() -> str:
    return "collectives" if "TF_CONFIG" in os.environ else "alone"


def _made(name: str, timeout_seconds: float) -> Engine:
    if name == "collectives":
        from runtime.ranks.collectives import Collectives

        return Collectives(timeout_seconds)
    return Alone()
