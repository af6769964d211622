"""The port of a task's server, closed to other machines where the whole cluster is on this one.

TensorFlow binds its servers to all network interfaces, whatever address they are given. A filter of the socket drops
what does not come from this machine before TensorFlow sees it; connections inherit it (Linux, SO_ATTACH_FILTER).
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import socket
import stat
import struct
from collections.abc import Iterable, Iterator

_SO_ATTACH_FILTER = 26
#: Where a filter finds the network's header of a packet, whose first half byte is the version of IP.
_HEADER = 0xFFF00000
_LOAD_WORD, _LOAD_BYTE, _AND, _JUMP_EQUAL, _RETURN = 0x20, 0x30, 0x54, 0x15, 0x06
_PASS, _DROP = 0xFFFFFFFF, 0
#: Instructions (code, steps further if true, if false, operand): passes what comes from 127.0.0.0/8 or ::1.
_PROGRAM = (
    (_LOAD_BYTE, 0, 0, _HEADER),
    (_AND, 0, 0, 0xF0),
    (_JUMP_EQUAL, 0, 2, 0x40),
    (_LOAD_BYTE, 0, 0, _HEADER + 12),
    (_JUMP_EQUAL, 8, 9, 127),
    (_LOAD_WORD, 0, 0, _HEADER + 8),
    (_JUMP_EQUAL, 0, 7, 0),
    (_LOAD_WORD, 0, 0, _HEADER + 12),
    (_JUMP_EQUAL, 0, 5, 0),
    (_LOAD_WORD, 0, 0, _HEADER + 16),
    (_JUMP_EQUAL, 0, 3, 0),
    (_LOAD_WORD, 0, 0, _HEADER + 20),
    (_JUMP_EQUAL, 0, 1, 1),
    (_RETURN, 0, 0, _PASS),
    (_RETURN, 0, 0, _DROP),
)


def on_this_machine(addresses: Iterable[str]) -> bool:
    """Return whether all addresses, `host:port`, name the loopback interface."""
    return all(_is_loopback(address.rpartition(":")[0].strip("[]")) for address in addresses)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def close_to_others(port: int) -> bool:
    """Let this process' sockets that listen on a port take connections of this machine alone; False if it cannot."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in _PROGRAM))
    attached = struct.pack("HL", len(_PROGRAM), ctypes.addressof(program))
    closed = False
    try:
        for listening in _listening(port):
            listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
            closed = True
    except OSError:
        return False
    return closed


def _listening(port: int) -> Iterator[socket.socket]:
    """Yield the sockets of this process that listen on a port."""
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(number)).st_mode):
                continue
            with socket.socket(fileno=os.dup(int(number))) as candidate:
                listens = candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if listens and candidate.getsockname()[1] == port:
                    yield candidate
