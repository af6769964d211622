"""Lets ranks wait for each other before TensorFlow connects them, because TensorFlow would wait without a limit.

Rank 0 listens at its address, the others report to it, and once all have reported it lets them continue. Jobs that
began at once may have got equal ports, so those that report say of which job they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence

from runtime.ranks.engine import RanksError, listed

_GO, _WAIT, _LATE, _OTHER_JOB = b"go", b"wait", b"late", b"other"
_HELLO = "recmigrate rank {} of {} {}\n"
_RETRY_SECONDS = 0.1
_TRY_SECONDS = 5.0
#: How many of the missing ranks rank 0 tells.
_TOLD = 8
_LONGEST = 200


def job_token(addresses: Sequence[str] = ()) -> str:
    """Return what the ranks of a job have in common: what its launcher has drawn, and `addresses` if given."""
    return hashlib.sha256("\n".join([os.environ.get("RECMIGRATE_JOB", ""), *addresses]).encode()).hexdigest()[:16]


def meet(workers: Sequence[str], rank: int, seconds: float, token: str = "") -> None:
    """Wait until all ranks have started.

    Args:
        workers: the addresses of the ranks, host:port.
        rank: the number of this rank.
        seconds: how long to wait.
        token: of the job, see `job_token`; ranks that have another one are not let in.

    Raises:
        RanksError: a rank has not started in time, rank 0 cannot listen at its address, or another job's does.
    """
    if len(workers) == 1:
        return
    until = time.monotonic() + seconds
    missing = _as_first(workers, until, token) if rank == 0 else _as_other(workers, rank, until, token)
    if missing:
        raise RanksError(
            f"rank {rank} has waited for {seconds:g} s for {missing}: start all {len(workers)} ranks within this time, "
            "each with the same addresses in TF_CONFIG"
        )


def _as_first(workers: Sequence[str], until: float, token: str) -> str:
    """Return which ranks are missing, as rank 0 knows; "" if none. It tells those that have come."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listening(workers[0]))
        come: dict[int, socket.socket] = {}
        wanted = {_HELLO.format(other, len(workers), token).encode(): other for other in range(1, len(workers))}
        while len(come) < len(workers) - 1:
            if not select.select([listening], [], [], max(0.0, until - time.monotonic()))[0]:
                missing = _others(workers, come)
                _tell(come, _LATE, missing)
                return _named(workers, missing)
            link = stack.enter_context(listening.accept()[0])
            said = _line(link, b"", 5.0)[0]
            if said in wanted:
                come[wanted[said]] = link
                _tell(come, _WAIT, _others(workers, come))
            elif said.startswith(b"recmigrate rank "):
                _tell({0: link}, _OTHER_JOB, [])
        _tell(come, _GO, [])
        for link in come.values():  # if they close first, the port is free for TensorFlow
            _line(link, b"", 5.0)
    return ""


def _others(workers: Sequence[str], come: Mapping[int, socket.socket]) -> list[int]:
    return [one for one in range(1, len(workers)) if one not in come]


def _tell(come: Mapping[int, socket.socket], word: bytes, missing: Sequence[int]) -> None:
    """Send a line to those that have come: a word and some of the ranks that are missing."""
    line = b" ".join([word, *(str(one).encode() for one in missing[:_TOLD])]) + b"\n"
    for link in come.values():
        with contextlib.suppress(OSError):
            link.sendall(line)


def _as_other(workers: Sequence[str], rank: int, until: float, token: str) -> str:
    """Return who is missing, as another rank knows: rank 0, or the ranks that it says it waits for."""
    host, _, port = workers[0].rpartition(":")
    address = (host.strip("[]"), int(port))
    missing = [0]
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(address, _TRY_SECONDS) as first:
            first.sendall(_HELLO.format(rank, len(workers), token).encode())
            word, rest = b"", b""
            while word not in (_GO, _LATE):
                line, rest = _line(first, rest, until - time.monotonic())
                if not line.endswith(b"\n"):
                    break
                word, *numbers = line.split()
                if word == _OTHER_JOB:
                    raise RanksError(
                        f"rank {rank} has met rank 0 of another job at {workers[0]}: give the ranks of each job ports "
                        "of their own, and all of them the same addresses in TF_CONFIG and the same RECMIGRATE_JOB, "
                        "or none"
                    )
                missing = [int(one) for one in numbers]
            if word == _GO:
                return ""
            if word == _LATE:
                break
        time.sleep(_RETRY_SECONDS)
    return _named(workers, missing or [0])


def _named(workers: Sequence[str], ranks: Sequence[int]) -> str:
    return listed([f"{one} ({workers[one]})" for one in ranks])


def _line(link: socket.socket, received: bytes, seconds: float) -> tuple[bytes, bytes]:
    """Return a line and what came behind it, given what came before; less of it when time is up or the end has come."""
    until = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while b"\n" not in received and len(received) < _LONGEST and time.monotonic() < until:
            link.settimeout(max(0.01, until - time.monotonic()))
            part = link.recv(_LONGEST)
            if not part:
                break
            received += part
    line, end, rest = received.partition(b"\n")
    return line + end, rest


def _listening(address: str) -> socket.socket:
    """Listen at the address of rank 0: on all interfaces, unless it is a loopback address."""
    host, _, port = address.rpartition(":")
    try:
        return socket.create_server((host if host in ("127.0.0.1", "localhost") else "", int(port)), backlog=1024)
    except (OSError, ValueError) as error:
        raise RanksError(
            f"rank 0 cannot listen at {address} ({error}): give it a free port of this machine in TF_CONFIG"
        ) from error
