"""Which engine serves this process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from types import TracebackType

import tensorflow as tf

from runtime import _tf_private
from runtime.ranks.engine import Alone, Engine, RanksError

_ENGINES = ("auto", "alone", "collectives", "horovod")
_current: list[Engine] = [Alone()]
_together: list[bool] = []
_in_branches: dict[str, None] = {}
_hooks = [sys.excepthook]
_when_connected: list[Callable[[], None]] = []


def start(engine: str = "auto", timeout_seconds: float = 60.0) -> Engine:
    """Connect this process to the other ranks, before TensorFlow runs its first op; return the engine that serves it.

    Args:
        engine: "collectives" (TensorFlow's own: eager mode and tf.function), "horovod" (v1 graphs, sessions and
            Estimator, too), "alone", or "auto": what `horovodrun`, `runtime.launch` or TF_CONFIG tells, else alone.
        timeout_seconds: how long an exchange waits for the other ranks before it fails. To begin, TensorFlow's
            collectives wait so long for ranks that have not come yet, or a minute where that is longer.

    Raises:
        RanksError: the ranks cannot be connected, or are with another engine.
        ValueError: an unknown engine, or a timeout that is not above 0.
    """
    if engine not in _ENGINES:
        raise ValueError(f"the engine {engine!r} is not known: choose one of {', '.join(_ENGINES)}")
    if not timeout_seconds > 0:
        raise ValueError(f"`timeout_seconds` {timeout_seconds} must be above 0")
    chosen = started_for() if engine == "auto" else engine
    if _current[0].name != "alone":
        if engine != "auto" and _current[0].name != chosen:
            raise RanksError(f"the ranks are connected by {_current[0].name}: they cannot change to {chosen}")
        return _current[0]
    _current[0] = _made(chosen, timeout_seconds)
    if _current[0].size > 1:
        for act in _when_connected:
            act()
    if sys.excepthook is not _with_missing_ranks:
        _hooks.append(sys.excepthook)
        sys.excepthook = _with_missing_ranks
    return _current[0]


def when_connected(act: Callable[[], None]) -> None:
    """Let `start` call `act` once there are other ranks: for modules that ask this one, and that it cannot import."""
    _when_connected.append(act)


def stop() -> None:
    """Work alone from now on."""
    current().end()
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
    message = why_not_a_part(table_name)
    if message is not None:
        raise RanksError(message)


def why_not_a_part(table_name: str) -> str | None:
    """Return why the rows that are here must not be saved or restored as if they were the table; None if they may."""
    if size() == 1 or _together:
        return None
    return (
        f"the rows of the table `{table_name}` lie in {size()} ranks, of which a checkpoint would keep those of one: "
        "save and restore with runtime.ranks.checkpoint, on every rank"
    )


def note_in_branch(tables: str) -> None:
    """Remember that an exchange for these tables waits for ever where only some ranks come to it."""
    _in_branches[tables] = None


def refuse_several(table_name: str, kind: str) -> None:
    """Refuse a table whose rows each of several ranks would have for itself, with updates that others do not see.

    Raises:
        RanksError: there are several ranks.
    """
    if size() > 1:
        raise RanksError(
            f"the table `{table_name}` {kind}, which {size()} ranks cannot share: use runtime.create_table and "
            "sparse_lookup in the program, or run it as one process"
        )


@_tf_private.as_written
def current() -> Engine:
    """Return the engine that serves this process."""
    return _current[0]


@_tf_private.as_written
def rank() -> int:
    """Return which rank this process is, from 0."""
    return current().rank


@_tf_private.as_written
def local_rank() -> int:
    """Return which of the ranks of its machine this process is, from 0, also before `start`: whose GPU to take, say.

    It is what the launcher tells: Horovod's, or the addresses in TF_CONFIG, of which those of a machine have one host.

    Raises:
        RanksError: TF_CONFIG does not say which rank this is.
    """
    told = os.environ.get("HOROVOD_LOCAL_RANK")
    if told is not None:
        return int(told)
    if "TF_CONFIG" not in os.environ:
        return 0
    from runtime.ranks.collectives import cluster

    workers, index = cluster()
    hosts = [worker.rpartition(":")[0] for worker in workers]
    return hosts[:index].count(hosts[index])


@_tf_private.as_written
def size() -> int:
    """Return how many ranks there are."""
    return current().size


def missing(seconds: float = 5.0) -> list[int]:
    """Return the ranks that are gone or suspended, as far as it can be told; may ask each for so many seconds.

    Worth asking after an exchange has failed. Over Horovod it tells of ranks on this machine.
    """
    return current().missing(seconds)


def started_for() -> str:
    """Return the engine that this process was started for, which `start` takes unless it is told another."""
    from runtime.ranks.horovod import launched

    if launched():
        return "horovod"
    return "collectives" if "TF_CONFIG" in os.environ else "alone"


def _with_missing_ranks(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Say of an error that ends the program which ranks do not answer: an exchange knows only that it got no answer."""
    _hooks[-1](kind, error, traceback)
    if size() == 1 or not isinstance(error, (tf.errors.OpError, RanksError)):
        return
    gone = missing(2.0)
    for one in gone:
        print(f"runtime.ranks: rank {one} does not answer rank {rank()}", file=sys.stderr, flush=True)
    if not gone and isinstance(error, tf.errors.DeadlineExceededError):
        print("runtime.ranks: all ranks run: one was later than `timeout_seconds`", file=sys.stderr, flush=True)
    for tables in _in_branches:
        advice = "all ranks must take the same branch and as many turns, or look up outside of it, some of them no ids"
        print(f"runtime.ranks: a tf.cond or tf.while_loop looks up {tables}: {advice}", file=sys.stderr, flush=True)


def _made(name: str, timeout_seconds: float) -> Engine:
    if name == "collectives":
        from runtime.ranks.collectives import Collectives

        return Collectives(timeout_seconds)
    if name == "horovod":
        from runtime.ranks.horovod import Horovod

        return Horovod(timeout_seconds)
    return Alone()
