"""Ranks: `init` connects those that a launcher started; the functions here return their numbers, also before that."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from runtime import ranks

__all__ = ["get_device_id", "get_local_rank_id", "get_local_rank_size", "get_rank_id", "get_rank_size"]

#: The hardware's name for the group of all ranks.
ALL = "hccl_world_group"


class _Launcher(NamedTuple):
    """The environment variables in which a launcher tells a process its rank."""

    rank: str
    size: str
    local_rank: str
    local_size: str


_HOROVOD = _Launcher("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE")
_OPEN_MPI = _Launcher(
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"
)
#: The variables that programs for the hardware set; `LOCAL_…` are not among them.
_ASCEND = _Launcher("RANK_ID", "RANK_SIZE", "", "")


def start() -> None:
    """Connect this process with the other ranks by Horovod, if a launcher started it as one of several.

    Raises:
        RanksError: Horovod is not installed or has other ranks than the launcher, or the launcher was started for
            TensorFlow's collectives, which do not support v1 graphs.
    """
    if ranks.size() > 1:
        return  # the program has connected them
    size = get_rank_size()
    if size == 1:
        _refuse_collectives()
        return
    rank, engine = get_rank_id(), ranks.start("horovod")
    if (engine.rank, engine.size) != (rank, size):
        ranks.stop()
        raise ranks.RanksError(
            f"the launcher started this process as rank {rank} of {size}, but Horovod calls it rank "
            f"{engine.rank} of {engine.size}: start the script with `horovodrun -np {size}` or `python -m "
            f"runtime.launch -n {size} --engine horovod`; mpirun needs a Horovod that is built with "
            "HOROVOD_WITH_MPI=1"
        )


def refuse_several(what: str, remedy: str) -> None:
    """Refuse a feature that does not work with several ranks.

    Raises:
        RanksError: there are several.
    """
    if ranks.size() > 1:
        raise ranks.RanksError(f"{what} does not work with {ranks.size()} ranks: {remedy}, or start one process")


def require_all(group: Any) -> None:
    """Refuse a group other than all ranks.

    Raises:
        ValueError: there are several ranks, and `group` is neither None nor the hardware's name for all.
    """
    if group not in (None, ALL) and ranks.size() > 1:
        raise ValueError(f"the group {group!r} is not all ranks: leave it out, or give {ALL!r}")


def get_rank_id(group: Any = None) -> int:
    """Return the number of this rank; 0 if no launcher started it.

    Raises:
        ValueError: the launcher's variable is not an integer or below 0, or the group is not all ranks.
    """
    require_all(group)
    return ranks.rank() if ranks.size() > 1 else _number(_launcher().rank, 0)


def get_rank_size(group: Any = None) -> int:
    """Return the number of ranks; 1 if no launcher started this process.

    Raises:
        ValueError: the launcher's variable is not an integer or below 1, or the group is not all ranks.
    """
    require_all(group)
    return ranks.size() if ranks.size() > 1 else _number(_launcher().size, 1)


def get_local_rank_size(group: Any = None) -> int:
    """Return the number of ranks that the launcher started on this machine; 1 if there is no launcher.

    Raises:
        ValueError: the launcher's variable is not an integer or below 1, or the group is not all ranks.
    """
    require_all(group)
    return _number(_launcher().local_size, 1)


def get_local_rank_id(group: Any = None) -> int:
    """Return the number of this rank among those of its machine.

    Raises:
        ValueError: the launcher's variable is not an integer or below 0, or the group is not all ranks.
    """
    require_all(group)
    variable = _launcher().local_rank
    return _number(variable, 0) if variable in os.environ else get_rank_id() % get_local_rank_size()


def get_device_id() -> int:
    """Return the device number of this rank, which is its number on its machine."""
    return get_local_rank_id()


def _launcher() -> _Launcher:
    """Return the launcher that started this process; Open MPI if there is none."""
    if _HOROVOD.rank in os.environ:
        return _HOROVOD
    started_by_mpi = _OPEN_MPI.rank in os.environ or _OPEN_MPI.size in os.environ
    return _ASCEND if not started_by_mpi and {"RANK_ID", "RANK_SIZE"} <= os.environ.keys() else _OPEN_MPI


def _refuse_collectives() -> None:
    if "TF_CONFIG" not in os.environ:
        return
    from runtime.ranks.lanes import cluster

    try:
        count = len(cluster()[0])
    except ranks.RanksError:
        return  # another kind of job, such as a parameter server
    if count > 1:
        raise ranks.RanksError(
            f"this process is one of {count} workers of TF_CONFIG, whose collectives do not support sessions of v1 "
            f"graphs: start the program with `python -m runtime.launch -n {count} --engine horovod` or `horovodrun -np "
            f"{count}` (`make horovod` builds Horovod)"
        )


def _number(variable: str, least: int) -> int:
    """Return the number in an environment variable; `least` is also the value for a single process."""
    text = os.environ.get(variable)
    if text is None:
        return least
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"the environment variable {variable} is not an integer: {text!r}") from None
    if value < least:
        raise ValueError(f"the environment variable {variable} is less than {least}: {value}")
    return value
