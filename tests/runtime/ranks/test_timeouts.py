"""`timeout_seconds` bounds the start and what TensorFlow waits for, and an error names the ranks that are missing."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from runtime import _tf_private
from runtime.ranks import collectives, store_rendezvous
from runtime.ranks.collectives import Collectives
from runtime.ranks.engine import RanksError


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
        ([], "rank 0 waited for longer than 7 s in an exchange for other ranks, which all run: one was late"),
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
        store_rendezvous.meet(0.2)
    store.add("2")
    store_rendezvous.meet(0.2)
    assert store == {"0", "1", "2"}
