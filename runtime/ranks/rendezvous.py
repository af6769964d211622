"""Lets ranks wait for each other before TensorFlow connects them, because TensorFlow would wait without a limit.

Rank 0 listens at its address, the others report to it, and once all have reported it lets them continue.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Sequence

from runtime.ranks.engine import RanksError

_GO = b"go\n"
_HELLO = "recmigrate rank {} of {}\n"
_RETRY_SECONDS = 0.1
_TRY_SECONDS = 5.0


def meet(workers: Sequence[str], rank: int, seconds: float) -> None:
    """Wait until all ranks have started.

    Args:
        workers: the addresses of the ranks, host:port.
        rank: the number of this rank.
        seconds: how long to wait.

    Raises:
        RanksError: a rank has not started in time, or rank 0 cannot listen at its address.
    """
    if len(workers) == 1:
        return
    until = time.monotonic() + seconds
    missing = _as_first(workers, until) if rank == 0 else _as_other(workers, rank, until)
    if missing:
        raise RanksError(
            f"rank {rank} has waited for {seconds:g} s for {missing}: start all {len(workers)} ranks within this time, "
            "each with the same addresses in TF_CONFIG"
        )


def _as_first(workers: Sequence[str], until: float) -> str:
    """Return which ranks are missing, as rank 0 knows; "" if none."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(_listening(workers[0]))
        come: dict[int, socket.socket] = {}
        while len(come) < len(workers) - 1:
            if not select.select([listening], [], [], max(0.0, until - time.monotonic()))[0]:
                return _named(workers, [one for one in range(1, len(workers)) if one not in come])
            one = stack.enter_context(listening.accept()[0])
            number = _read(one, 5.0)
            if number in (_HELLO.format(other, len(workers)).encode() for other in range(1, len(workers))):
                come[int(number.split()[2])] = one
        for one in come.values():
            with contextlib.suppress(OSError):
                one.sendall(_GO)
        for one in come.values():  # if they close first, the port is free for TensorFlow
            _read(one, 5.0)
    return ""


def _as_other(workers: Sequence[str], rank: int, until: float) -> str:
    """Return who is missing, as another rank knows: rank 0, or ranks that rank 0 waits for."""
    host, _, port = workers[0].rpartition(":")
    address = (host.strip("[]"), int(port))
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(address, _TRY_SECONDS) as first:
            first.sendall(_HELLO.format(rank, len(workers)).encode())
            if _read(first, until - time.monotonic()) == _GO:
                return ""
        time.sleep(_RETRY_SECONDS)
    return f"{_named(workers, [0])}, or for others that it waits for"


def _named(workers: Sequence[str], ranks: Sequence[int]) -> str:
    return ", ".join(f"rank {one} ({workers[one]})" for one in ranks)


def _read(one: socket.socket, seconds: float) -> bytes:
    """Return a line, or what was received of it when time is up or the other side has closed."""
    found = b""
    until = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while not found.endswith(b"\n") and len(found) < 100 and time.monotonic() < until:
            one.settimeout(max(0.01, until - time.monotonic()))
            part = one.recv(100)
            if not part:
                break
            found += part
    return found


def _listening(address: str) -> socket.socket:
    """Listen at the address of rank 0: on all interfaces, unless it is a loopback address."""
    host, _, port = address.rpartition(":")
    try:
        return socket.create_server((host if host in ("127.0.0.1", "localhost") else "", int(port)), backlog=1024)
    except (OSError, ValueError) as error:
        raise RanksError(
            f"rank 0 cannot listen at {address} ({error}): give it a free port of this machine in TF_CONFIG"
        ) from error
