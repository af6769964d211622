"""Names tasks of a cluster that do not answer: TensorFlow waits for them, for hours, and says so in a log at most.

A worker asks each server every few seconds: a gRPC server greets whoever connects, and one that is stopped does not.
The log names the task, its address and what is wrong; whoever waits goes on by itself when the task answers again. A
server that answers is asked once which task it is, as another cluster may name it so.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: How often tasks are asked, how long one has to answer, and how long it may be silent before it is named.
INTERVAL_SECONDS, ANSWER_SECONDS, SILENT_SECONDS = 3.0, 3.0, 8.0
#: What a client of HTTP/2 sends first: its preface, and empty settings.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
#: The call by which TensorFlow's sessions ask a server for its devices, whose names begin with its task.
_STATUS = "/tensorflow.WorkerService/GetStatus"
_TASK = re.compile(rb"/job:([A-Za-z0-9_]+)/replica:0/task:(\d+)")

_log = logging.getLogger("runtime")


@dataclass
class Watched:
    """A task that others wait for, and since when it has not answered."""

    job: str
    index: int
    address: str
    #: Whether it serves until the job ends; another one that has answered once may end.
    serves: bool
    silent_since: float | None = None
    has_answered: bool = False
    named: bool = False

    def look(self, now: float) -> str | None:
        """Ask the task; return what there is to say, if anything is new."""
        trouble = trouble_of(self.address)
        where = f"the task /job:{self.job}/task:{self.index} at {self.address}"
        if trouble is None or (self.has_answered and not self.serves):
            was_named, is_new = self.named, not self.has_answered
            self.silent_since, self.has_answered, self.named = None, True, False
            other = task_at(self.address) if is_new else None
            if other not in (None, f"/job:{self.job}/task:{self.index}"):
                return f"{where} is {other} in its own cluster: give all tasks the same cluster in TF_CONFIG"
            return f"{where} answers again" if was_named else None
        self.silent_since = now if self.silent_since is None else self.silent_since
        if self.named or now - self.silent_since < SILENT_SECONDS:
            return None
        self.named = True
        return f"{where} does not answer, and this task waits where it needs it: {trouble}"


def trouble_of(address: str) -> str | None:
    """Return why a server does not answer, with the remedy, or None if it does."""
    host, _, port = address.rpartition(":")
    try:
        link = socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS)
    except socket.gaierror:
        return f"the name {host} is not known: correct it in the cluster of TF_CONFIG"
    except ConnectionRefusedError:
        return "nothing listens there: start the task, or correct its address in the cluster of TF_CONFIG"
    except (OSError, ValueError) as error:
        return f"there is no way to it ({error}): look at the network, and at the cluster of TF_CONFIG"
    with link:
        try:
            link.settimeout(ANSWER_SECONDS)
            link.sendall(_GREETING)
            if link.recv(1):
                return None
        except ConnectionResetError:
            pass
        except OSError:
            return "it takes connections and says nothing: it is stopped, as by SIGSTOP, or another program is there"
    return "it ends connections at once: another program is there"


def task_at(address: str) -> str | None:
    """Return which task a server of TensorFlow says that it is; None where it does not say so."""
    host, _, port = address.rpartition(":")
    answer = b""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS) as link:
            link.sendall(_GREETING + _call(_STATUS))
            while (task := _TASK.search(answer)) is None and (more := link.recv(4096)):
                answer += more
    except (OSError, ValueError):
        return None
    return f"/job:{task[1].decode()}/task:{int(task[2])}" if task else None


def _call(method: str) -> bytes:
    """Return a call of gRPC with an empty message: a frame of HTTP/2 with headers, and one with data."""
    # HPACK: POST, http, then the names `:path` and `:authority` by number, and two names as they are.
    headers = b"\x83\x86\4" + _text(method) + b"\1" + _text("task")
    headers += b"\0" + _text("content-type") + _text("application/grpc") + b"\0" + _text("te") + _text("trailers")
    return _frame(1, 4, headers) + _frame(0, 1, bytes(5))


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _frame(kind: int, flags: int, content: bytes) -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + (1).to_bytes(4, "big") + content


def watched_tasks(cluster: Mapping[str, Sequence[str]], job: str, index: int) -> list[Watched]:
    """Return the tasks that a task waits for: servers, and for workers who begins the job."""
    begins = next((name for name in ("chief", "master", "worker") if cluster.get(name)), "")
    tasks = [Watched("ps", i, address, True) for i, address in enumerate(cluster.get("ps", ())) if address]
    if begins and (job, index) != (begins, 0):
        tasks.append(Watched(begins, 0, cluster[begins][0], False))
    return tasks


def start(tasks: Sequence[Watched]) -> None:
    """Watch tasks until this process ends."""

    def watch() -> None:
        while True:
            for task in tasks:
                if news := task.look(time.monotonic()):
                    _log.warning("%s", news)
            time.sleep(INTERVAL_SECONDS)

    threading.Thread(target=watch, name="watch of a cluster", daemon=True).start()
