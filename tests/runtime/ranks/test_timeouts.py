"""Ranks meet within the time, and exchanges that stay under way are ended with an error that names who is late."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest
import tensorflow as tf

from runtime import _tf_private, launch
from runtime.ranks import collectives, horovod
from runtime.ranks.collectives import Collectives, Watch, in_tensorflow
from runtime.ranks.engine import RanksError
from runtime.ranks.rendezvous import job_token, meet


def _waiting(size: int, seconds: float) -> Collectives:
    """An engine of rank 0 that is connected to nobody."""
    made = Collectives.__new__(Collectives)
    made.rank, made.size, made._timeout_seconds, made._gone = 0, size, seconds, set()
    return made


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ([2], "rank 0 waited for longer than 7 s in an exchange for rank 2, which does not answer"),
        ([1, 2], "rank 0 waited for longer than 7 s in an exchange for rank 1, rank 2, which do not answer"),
        (
            [],
            "rank 0 waited for longer than 7 s in an exchange for other ranks; all of them run, "
            "so one answered too late",
        ),
    ],
)
@pytest.mark.each_case
def test_an_exchange_that_is_ended_names_who_does_not_answer(gone: list[int], said: str) -> None:
    waiting, asked = _waiting(4, 7), []

    def answers(number: int, seconds: float) -> bool:
        asked.append((number, seconds))
        return number not in gone

    with (
        mock.patch.object(_tf_private, "worker_answers", answers),
        mock.patch.object(_tf_private, "abort_collectives") as ended,
    ):
        waiting._late()
        ended.assert_called_once_with(said)
        assert sorted(asked) == [(1, 2.0), (2, 2.0), (3, 2.0)]
        assert waiting.missing() == gone
    assert len(asked) == 6 - len(gone)  # who is gone is not asked again


def test_the_start_and_signs_of_life_obey_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[Any] = []
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}')
    monkeypatch.setattr(collectives, "bound_waits", lambda *given: bounds.append(given))
    monkeypatch.setattr(collectives, "meet", mock.Mock(side_effect=RanksError("nobody came")))
    with pytest.raises(RanksError, match="nobody came"):
        Collectives(3.0)
    [(*met, _)] = [one.args for one in collectives.meet.call_args_list]  # type: ignore[attr-defined]
    assert met == [["a:1", "b:1"], 1, 3.0]  # and a token of the job
    ((ranks, begin, silent),) = bounds
    assert (ranks, begin) == (2, 3.0)
    assert silent / 2 > 3.0  # the last sign of life may be half of this old: exchanges are to end first


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The key-value store of a launcher of three ranks, which this process joins as rank 1."""
    known: set[str] = set()

    class Store(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            known.add(self.path.rpartition("/")[2])
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answered(200)

        def do_GET(self) -> None:
            self._answered(200 if self.path.rpartition("/")[2] in known else 404)

        def _answered(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Store) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        for name, value in (("RANK", 1), ("SIZE", 3), ("GLOO_RENDEZVOUS_PORT", server.server_port)):
            monkeypatch.setenv(f"HOROVOD_{name}", str(value))
        monkeypatch.setenv("HOROVOD_GLOO_RENDEZVOUS_ADDR", "127.0.0.1")
        yield known
        server.shutdown()
        thread.join()


def test_ranks_of_horovod_meet_at_the_store_of_their_launcher(store: set[str]) -> None:
    store.add("0")
    with pytest.raises(RanksError, match=r"rank 1 has waited for 0.2 s for rank 2: start all 3 ranks within"):
        horovod.meet(0.2)
    store.add("2")
    horovod.meet(0.2)
    assert store == {"0", "1", "2"}


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


def test_an_exchange_that_does_not_end_is_late() -> None:
    late = threading.Event()
    begun = time.monotonic()
    watch = Watch(lambda: [4, 7], 0.2, late.set, lambda: True)
    assert late.wait(30)
    assert time.monotonic() - begun > 0.2
    watch.end()


def test_exchanges_that_go_on_and_pauses_between_them_are_not_late() -> None:
    late = threading.Event()
    seen: list[int] = []

    def goes_on() -> list[int]:
        seen.append(2 * len(seen) + 1)
        return seen[-1:]

    watches = [
        Watch(goes_on, 0.05, late.set, lambda: True),
        Watch(lambda: [4], 0.05, late.set, lambda: True),
        Watch(lambda: [5], 0.05, late.set),  # nobody is in TensorFlow: a function failed in front of an end
    ]
    while len(seen) < 20:
        time.sleep(0.01)
    for watch in watches:
        watch.end()
    assert not late.is_set()


def test_who_is_in_tensorflow_is_seen() -> None:
    ends = threading.Event()

    def waits() -> None:
        @tf.function
        def step() -> tf.Tensor:
            return tf.py_function(lambda: float(ends.wait(30)), [], tf.float32)

        step()

    assert not in_tensorflow()
    thread = threading.Thread(target=waits)
    thread.start()
    try:
        begun = time.monotonic()
        while not in_tensorflow():
            assert time.monotonic() - begun < 30
    finally:
        ends.set()
        thread.join()
    assert not in_tensorflow()


def test_a_function_that_fails_between_beginning_and_end_leaves_the_next_ones_right() -> None:
    engine = Collectives.__new__(Collectives)
    engine._make_tokens()
    seen = []
    for begins in (True, False, True, True, False, False, True):
        engine._count(begins)
        seen.append(engine._progress()[0])
    assert seen == [1, 2, 3, 5, 6, 6, 7]
    with engine.beside("ids"):
        engine._count(True)
    assert engine._progress() == [7, 0, 1]
    engine._count(False)
    assert engine._progress() == [8, 0, 1]
