"""Connects the ranks of one machine: sockets between each two of them, and memory that all can read.

Each rank listens under a name made of its job and its address in TF_CONFIG; names of this kind ("abstract" ones of
Linux) are no files and end with their process. Only processes of the same user are accepted.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any

from runtime import native
from runtime.ranks.engine import RanksError, listed
from runtime.ranks.rendezvous import job_token, meet

#: Files of each rank that the others read: two for each lane (runtime/native/store/exchange/connections.h).
_BOXES = 6
_HELLO = struct.Struct("=8sII")
_MAGIC = b"recrank1"
_MOST_SECONDS = 1e6  # that a socket can wait for
#: The socket to another rank, and its boxes.
_Reached = tuple[socket.socket, list[int]]
_SEAL_SHRINK, _ADD_SEALS = 2, 1033  # of linux/fcntl.h: nobody can take away memory that others read


def connect(workers: Sequence[str], rank: int, seconds: float) -> None:
    """Connect this process with the others of its machine, for the native op RecExchange.

    Args:
        workers: the addresses of the ranks, host:port; the hosts are equal.
        rank: the number of this rank.
        seconds: how long to wait for the others to start, and later in an exchange.

    Raises:
        RanksError: a rank has not started in time, cannot be reached on this machine, or is another user's.
    """
    until = time.monotonic() + min(seconds, _MOST_SECONDS)
    native.ops()
    with _enough_files(rank, len(workers)), contextlib.ExitStack() as stack:
        boxes = [_box(stack, number) for number in range(_BOXES)]
        listening = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        try:
            listening.bind(_name(workers, rank))
        except OSError as error:
            raise RanksError(
                f"rank {rank} cannot listen as {workers[rank]} ({error}): give each rank a port of its own in TF_CONFIG"
            ) from error
        listening.listen(len(workers))
        meet(workers, rank, seconds, job_token(workers))
        hello = _HELLO.pack(_MAGIC, rank, len(workers))
        links: dict[int, _Reached] = {}
        for other in range(rank):
            server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            server.settimeout(max(0.1, until - time.monotonic()))
            with _naming(rank, [other], workers):
                server.connect(_name(workers, other))
                socket.send_fds(server, [hello], boxes)
                links.update([_greeted(stack, server, len(workers))])
        while len(links) < len(workers) - 1:
            listening.settimeout(max(0.1, until - time.monotonic()))
            absent = [other for other in range(len(workers)) if other != rank and other not in links]
            with _naming(rank, absent, workers):
                server = stack.enter_context(listening.accept()[0])
                server.settimeout(max(0.1, until - time.monotonic()))
                links.update([_greeted(stack, server, len(workers))])
                socket.send_fds(server, [hello], boxes)
        _hand_over(rank, len(workers), seconds, boxes, links)


def disconnect() -> None:
    """Let exchanges that wait fail, and end the connections; harmless without any."""
    _library().recmigrate_disconnect_ranks()


def missing(ranks: int, seconds: float) -> list[int]:
    """Return which of so many ranks have ended, or do not answer within `seconds`."""
    gone = (ctypes.c_int * ranks)()
    _library().recmigrate_missing_ranks(ctypes.c_double(seconds), gone)
    return [rank for rank in range(ranks) if gone[rank]]


def _library() -> Any:
    return ctypes.CDLL(str(native.LIBRARY))


def _name(workers: Sequence[str], rank: int) -> str:
    """Return where a rank listens; a digest, as such names have at most 107 bytes."""
    return f"\0recmigrate-ranks-{os.getuid()}-{job_token([*workers, workers[rank]])}"


def _box(stack: contextlib.ExitStack, number: int) -> int:
    """Make a file in memory that cannot become shorter; it is closed unless the native library takes it over."""
    box = os.memfd_create(f"recmigrate-ranks-{number}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, box)
    fcntl.fcntl(box, _ADD_SEALS, _SEAL_SHRINK)
    return box


@contextlib.contextmanager
def _enough_files(rank: int, ranks: int) -> Iterator[None]:
    """Turn an error of opening files into one that says how many there are."""
    try:
        yield
    except OSError as error:
        files = 2 * (_BOXES * ranks + 2 * ranks)  # the native library gets copies
        raise RanksError(
            f"rank {rank} cannot open the files by which {ranks} ranks share memory ({error}): let it open some "
            f"{files} more (ulimit -n), or set RECMIGRATE_RANKS=collectives on each"
        ) from error


@contextlib.contextmanager
def _naming(rank: int, others: Sequence[int], workers: Sequence[str]) -> Iterator[None]:
    """Turn an error of a socket into one that names the ranks."""
    try:
        yield
    except OSError as error:
        named = listed([f"{one} ({workers[one]})" for one in others])
        raise RanksError(
            f"rank {rank} cannot reach {named} on this machine ({error}): start all ranks in one network namespace "
            "and by one user, or set RECMIGRATE_RANKS=collectives on each, which uses TensorFlow's servers"
        ) from error


def _greeted(stack: contextlib.ExitStack, link: socket.socket, ranks: int) -> tuple[int, _Reached]:
    """Return the number of the rank at the other end, with its socket and its boxes."""
    user = struct.unpack("=iII", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    text, boxes, flags, _ = socket.recv_fds(link, _HELLO.size, _BOXES)
    for box in boxes:
        stack.callback(os.close, box)
    if flags & socket.MSG_CTRUNC:
        raise OSError("this process has too many open files: raise `ulimit -n`")
    magic, rank, size = _HELLO.unpack(text) if len(text) == _HELLO.size else (b"", 0, 0)
    if user != os.getuid() or magic != _MAGIC or size != ranks or len(boxes) != _BOXES:
        raise OSError("it is another user's, or another program's")
    return rank, (link, boxes)


def _hand_over(rank: int, ranks: int, seconds: float, boxes: Sequence[int], links: dict[int, _Reached]) -> None:
    """Give copies of all files to the native library."""
    sockets, processes, every = [-1] * ranks, [-1] * ranks, []
    for other in range(ranks):
        if other in links:
            link, theirs = links[other]
            sockets[other] = os.dup(link.fileno())
            processes[other] = _process(link)
        every += [os.dup(box) for box in (theirs if other in links else boxes)]
    arrays = [(ctypes.c_int * len(numbers))(*numbers) for numbers in (sockets, processes, every)]
    if _library().recmigrate_connect_ranks(rank, ranks, ctypes.c_double(seconds), *arrays):
        raise RanksError(
            f"rank {rank} has no memory or thread left for its exchanges: raise the limits of the process or "
            "its container (ulimit -v, ulimit -u)"
        )


def _process(link: socket.socket) -> int:
    """Return a file that is readable once the process at the other end has ended; -1 if there is none.

    A socket alone would not tell: a process that the rank has forked may hold its other end.
    """
    process = struct.unpack("=iII", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    if process <= 0:  # it is in another container
        return -1
    try:
        return os.pidfd_open(process)
    except OSError:
        return -1
