"""Tasks that do not answer are named with what is wrong; ports of clusters on one machine are closed to others."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

import runtime
from runtime.table.clusters import listening, servers, watch

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "ANSWER_SECONDS", 1.0)


@contextlib.contextmanager
def _listening(host: str = "127.0.0.1") -> Iterator[socket.socket]:
    with socket.socket() as one:
        one.bind((host, 0))
        one.listen()
        yield one


def _address(one: socket.socket) -> str:
    return f"127.0.0.1:{one.getsockname()[1]}"


def _free() -> str:
    with _listening() as one:
        return _address(one)


def test_each_trouble_has_its_sentence() -> None:
    server = v1.train.Server.create_local_server()
    assert watch.trouble_of(server.target.removeprefix("grpc://")) is None
    assert "nothing listens there" in (watch.trouble_of(_free()) or "")
    assert "the name no.such.host.invalid is not known" in (watch.trouble_of("no.such.host.invalid:2222") or "")
    with _listening() as silent:
        assert "stopped, as by SIGSTOP" in (watch.trouble_of(_address(silent)) or "")

        def hang_up() -> None:
            link, _ = silent.accept()
            link.recv(100)
            link.close()

    with _listening() as silent:
        threading.Thread(target=hang_up, daemon=True).start()
        assert "ends connections at once" in (watch.trouble_of(_address(silent)) or "")


def test_a_silent_task_is_named_once_and_again_when_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    trouble: str | None = "nothing"
    monkeypatch.setattr(watch, "trouble_of", lambda _: trouble)
    monkeypatch.setattr(watch, "task_at", lambda _: None)
    server, chief = watch.watched_tasks({"ps": ["h:1"], "chief": ["h:2"], "worker": ["h:3"]}, "worker", 0)
    said = [server.look(now) for now in (0.0, 5.0, 9.0, 20.0)]
    assert said[0] is said[1] is said[3] is None
    assert said[2] == "the task /job:ps/task:0 at h:1 does not answer, and this task waits where it needs it: nothing"
    trouble = None
    assert server.look(21.0) == "the task /job:ps/task:0 at h:1 answers again"
    assert chief.look(0.0) is None
    trouble = "it has ended"
    assert [chief.look(now) for now in (1.0, 20.0)] == [None, None]
    assert [server.look(now) is None for now in (30.0, 39.0)] == [True, False]
    assert [task.job for task in watch.watched_tasks({"ps": ["h:1"], "worker": ["h:2", "h:3"]}, "worker", 0)] == ["ps"]


def test_servers_of_another_cluster_are_named_when_they_answer() -> None:
    addresses = [_free(), _free()]
    for index in range(2):
        v1.train.Server({"ps": addresses}, job_name="ps", task_index=index)
    swapped = watch.watched_tasks({"ps": addresses[::-1], "worker": [_free()]}, "worker", 0)
    assert [task.look(0.0) for task in swapped] == [
        f"the task /job:ps/task:{i} at {address} is /job:ps/task:{1 - i} in its own cluster: give all tasks the same "
        "cluster in TF_CONFIG"
        for i, address in enumerate(addresses[::-1])
    ]
    same = watch.watched_tasks({"ps": addresses, "worker": [_free()]}, "worker", 0)
    assert [task.look(0.0) for task in [*same, *swapped]] == [None] * 4


def test_tasks_are_watched_from_the_first_table_on_servers_on(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[list[str]] = []
    monkeypatch.setattr(watch, "start", lambda tasks: watched.append(sorted(task.address for task in tasks)))
    cluster = {"ps": ["h:1", "h:2"], "worker": [_free()]}
    v1.train.Server(cluster, job_name="worker", task_index=0)
    with tf.Graph().as_default():
        runtime.create_table(tf.int64, 2, "here", v1.zeros_initializer())
        assert not watched
        with v1.device(v1.train.replica_device_setter(cluster=cluster)):
            for name in ("user", "item"):
                runtime.create_table(tf.int64, 2, name, v1.zeros_initializer())
    assert watched == [["h:1", "h:2"]]


def test_looking_for_a_port_leaves_no_file_open() -> None:
    with Path(os.devnull).open("rb"):
        before = [len(list(Path("/proc/self/fd").iterdir())) for _ in range(2)][-1]
        assert not listening.close_to_others(1)
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_port_is_closed_to_other_machines_where_all_tasks_are_here(caplog: pytest.LogCaptureFixture) -> None:
    assert listening.on_this_machine(["127.0.0.1:1", "localhost:2", "[::1]:3"])
    assert not listening.on_this_machine(["127.0.0.1:1", "10.0.0.1:2"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but those of the loopback interface")
        own = probe.getsockname()[0]
    with caplog.at_level(logging.WARNING, "runtime"):
        address = _free()
        server = v1.train.Server({"worker": [address]}, job_name="worker", task_index=0)
        assert not caplog.records
        port = int(address.rpartition(":")[2])
        assert watch.trouble_of(address) is None
        with pytest.raises(TimeoutError):
            socket.create_connection((own, port), 1.0)
        with tf.Graph().as_default(), v1.Session(server.target) as session:
            assert session.run(tf.constant(3)) == 3
        open_address = _free()
        cluster = {"worker": [open_address, f"{own}:1"]}
        v1.train.Server(cluster, job_name="worker", task_index=0)
        assert "runs graphs for anybody who connects" in caplog.text
        socket.create_connection((own, int(open_address.rpartition(":")[2])), 1.0).close()
        with tf.Graph().as_default():
            runtime.create_table(tf.int64, 2, "user", v1.zeros_initializer())
        assert "`user` belongs to the session of this task alone, and each of /job:worker/task:0" in caplog.text
    servers._trainers.clear()


def test_a_port_in_use_is_named() -> None:
    address = _free()
    given = {"cluster": {"worker": [address]}, "job_name": "worker", "task_index": 0}
    first = v1.train.Server(given["cluster"], job_name="worker", task_index=0)
    assert first.target
    with pytest.raises(tf.errors.UnknownError, match=f"/job:worker/task:0 at {address}: another program"):
        v1.train.Server(given["cluster"], "worker", 0)
