"""Ranks meet before they are connected: who never comes is named within the time, and nobody waits without end."""

from __future__ import annotations

import contextlib
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from runtime import launch
from runtime.ranks.engine import RanksError
from runtime.ranks.rendezvous import job_token, meet


def _addresses(count: int) -> list[str]:
    return [f"127.0.0.1:{port}" for port in launch._free_ports(count)]


def test_all_go_on_when_the_last_has_come_and_the_port_is_free() -> None:
    workers = _addresses(3)
    with ThreadPoolExecutor(3) as threads:
        others = [threads.submit(meet, workers, rank, 30.0) for rank in (2, 0)]
        _touch(workers[0])  # as somebody who is no rank
        assert not any(one.done() for one in others)
        meet(workers, 1, 30.0)
        for one in others:
            one.result(30)
    with socket.create_server(("127.0.0.1", int(workers[0].split(":")[1]))):
        pass


def _touch(address: str) -> None:
    """Connect as soon as somebody listens there, and say nothing that a rank would."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(address.split(":")[1]))) as one:
            one.sendall(b"recmigrate rank 1 of 9\n")
            return
        time.sleep(0.05)


def test_who_never_comes_is_named() -> None:
    workers = _addresses(3)
    with ThreadPoolExecutor(2) as threads:
        first, other = (threads.submit(meet, workers, rank, 0.8) for rank in (0, 2))
        with pytest.raises(RanksError, match=rf"rank 0 has waited for 0.8 s for rank 1 \({workers[1]}\): start all 3"):
            first.result(30)
        with pytest.raises(RanksError, match=rf"rank 2 has waited for 0.8 s for rank 1 \({workers[1]}\): start all 3"):
            other.result(30)
    with pytest.raises(RanksError, match=r"rank 1 has waited for 0.3 s for rank 0"):
        meet(workers, 1, 0.3)


def test_ranks_of_jobs_with_the_same_ports_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, tokens = _addresses(3), []
    for job in ("first", "second"):
        monkeypatch.setenv("RECMIGRATE_JOB", job)
        tokens.append(job_token(workers))
    with ThreadPoolExecutor(2) as threads:
        mine = [threads.submit(meet, workers, rank, 30.0, tokens[0]) for rank in (0, 2)]
        with pytest.raises(
            RanksError, match=rf"rank 1 has met rank 0 of another job at {workers[0]}: give the ranks .* RECMIGRATE_JOB"
        ):
            meet(workers, 1, 30.0, tokens[1])
        assert not any(one.done() for one in mine)  # the first job waits for its own rank 1
        meet(workers, 1, 30.0, tokens[0])
        for one in mine:
            one.result(30)


def test_an_address_that_is_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        workers = [f"127.0.0.1:{taken.getsockname()[1]}", *_addresses(1)]
        with pytest.raises(RanksError, match=r"rank 0 cannot listen at .*give it a free port"):
            meet(workers, 0, 1.0)
    meet(["one:1"], 0, 0.1)
