"""The engine of this process: connecting, querying and disconnecting ranks."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from types import TracebackType

import tensorflow as tf

from runtime import _tf_private
from runtime.ranks.engine import Alone, Engine, RanksError

_ENGINES = ("auto", "alone", "local", "collectives", "horovod")
_current: list[Engine] = [Alone()]
_together: list[bool] = []
_in_branches: dict[str, None] = {}
_hooks = [sys.excepthook]
_when_connected: list[Callable[[], None]] = []


def start(engine: str = "auto", timeout_seconds: float = 60.0) -> Engine:
    """Connect this process to the other ranks, before TensorFlow runs its first op; return the engine.

    Args:
        engine: "local" (ranks of one machine) and "collectives" (TensorFlow's own), both for eager mode and
            tf.function, "horovod" (also v1 graphs, sessions and Estimator), "alone", or "auto": the one that
            `horovodrun`, `runtime.launch` or TF_CONFIG implies, else alone.
        timeout_seconds: how long other ranks are waited for, in an exchange and at the start, before an error names
            those that do not answer or have not started.

    Raises:
        RanksError: the ranks cannot be connected, or are connected by another engine.
        ValueError: the engine is unknown, or the timeout is not above 0.
    """
    if engine not in _ENGINES:
        raise ValueError(f"the engine {engine!r} is unknown: choose one of {', '.join(_ENGINES)}")
    if not timeout_seconds > 0:
        raise ValueError(f"`timeout_seconds` {timeout_seconds} must be above 0")
    chosen = started_for() if engine == "auto" else engine
    if _current[0].name != "alone":
        if engine != "auto" and _current[0].name != chosen:
            raise RanksError(f"the ranks are already connected by {_current[0].name} and cannot change to {chosen}")
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
    """Call `act` in `start` if there are other ranks, for modules that this one cannot import."""
    _when_connected.append(act)


def stop() -> None:
    """Disconnect: this process works alone from now on."""
    current().end()
    _current[0] = Alone()


@contextlib.contextmanager
def parts_together() -> Iterator[None]:
    """Allow each rank to save and restore the rows that it holds; the code inside handles the parts of all ranks."""
    _together.append(True)
    try:
        yield
    finally:
        _together.pop()


def refuse_a_part(table_name: str) -> None:
    """Refuse to save or restore the rows of one rank as if they were the whole table.

    Raises:
        RanksError: there are several ranks, and this is not inside of `parts_together`.
    """
    message = why_not_a_part(table_name)
    if message is not None:
        raise RanksError(message)


def why_not_a_part(table_name: str) -> str | None:
    """Return why the local rows must not be saved or restored as the whole table; None if they may."""
    if size() == 1 or _together:
        return None
    return (
        f"the rows of the table `{table_name}` are distributed over {size()} ranks, and this checkpoint would only "
        "have those of one: save and restore with runtime.ranks.checkpoint, on every rank"
    )


def saves_the_same() -> bool:
    """Whether this process saves what all ranks have alike: of several with `parts_together`, rank 0 alone does."""
    return rank() == 0 or not _together


def note_in_branch(tables: str) -> None:
    """Record that an exchange for these tables blocks if not all ranks reach it."""
    _in_branches[tables] = None


def refuse_several(table_name: str, kind: str) -> None:
    """Refuse a table that each rank would have for itself, with updates that other ranks do not see.

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
    """Return the engine of this process."""
    return _current[0]


@_tf_private.as_written
def rank() -> int:
    """Return the number of this rank, from 0."""
    return current().rank


@_tf_private.as_written
def local_rank() -> int:
    """Return the number of this rank among those of its machine, from 0, for example to choose a GPU.

    It also works before `start`: it comes from the launcher, by Horovod's variables or the host names in TF_CONFIG.

    Raises:
        RanksError: TF_CONFIG does not say which rank this is.
    """
    launched_as = os.environ.get("HOROVOD_LOCAL_RANK")
    if launched_as is not None:
        return int(launched_as)
    if "TF_CONFIG" not in os.environ:
        return 0
    from runtime.ranks.lanes import cluster

    workers, index = cluster()
    hosts = [worker.rpartition(":")[0] for worker in workers]
    return hosts[:index].count(hosts[index])


@_tf_private.as_written
def size() -> int:
    """Return the number of ranks."""
    return current().size


def missing(seconds: float = 5.0) -> list[int]:
    """Return the ranks known to be gone or suspended; it may wait up to `seconds` for each answer.

    Useful after an exchange has failed. With Horovod it only knows about ranks on this machine.
    """
    return current().missing(seconds)


def started_for() -> str:
    """Return the engine that this process was started for, which `start` uses by default."""
    from runtime.ranks.horovod import launched

    if launched():
        return "horovod"
    if "TF_CONFIG" not in os.environ:
        return "alone"
    from runtime.ranks.lanes import one_machine

    chosen = os.environ.get("RECMIGRATE_RANKS", "auto")
    if chosen not in ("auto", "local", "collectives"):
        raise RanksError(f"RECMIGRATE_RANKS is {chosen!r}: set it to local or collectives, or unset it")
    return ("local" if one_machine() else "collectives") if chosen == "auto" else chosen


def _with_missing_ranks(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Add to an error that ends the program which ranks do not answer; the exchange itself does not know."""
    _hooks[-1](kind, error, traceback)
    if size() == 1 or not isinstance(error, (tf.errors.OpError, RanksError)):
        return
    gone = missing(2.0)
    for gone_rank in gone:
        print(f"runtime.ranks: rank {gone_rank} does not answer rank {rank()}", file=sys.stderr, flush=True)
    if not gone and isinstance(error, tf.errors.DeadlineExceededError):
        print("runtime.ranks: all ranks run, so one took longer than `timeout_seconds`", file=sys.stderr, flush=True)
    for tables in _in_branches:
        advice = (
            "all ranks must take the same branch and the same number of iterations, or look up outside of it, "
            "where needed an empty list of ids"
        )
        print(f"runtime.ranks: a tf.cond or tf.while_loop looks up {tables}: {advice}", file=sys.stderr, flush=True)


def _made(name: str, timeout_seconds: float) -> Engine:
    if name == "local":
        from runtime.ranks.local import Local

        return Local(timeout_seconds)
    if name == "collectives":
        from runtime.ranks.collectives import Collectives

        return Collectives(timeout_seconds)
    if name == "horovod":
        from runtime.ranks.horovod import Horovod

        return Horovod(timeout_seconds)
    return Alone()
