"""The cost model of ranks: its parts by hand, its fit, and what an exchange sends; what overlaps, as a small run."""

from __future__ import annotations

import pytest

from benchmarks.distributed import overlap
from benchmarks.distributed.pooled_bytes import sok_bytes
from benchmarks.distributed.ranks import formula_bytes
from benchmarks.distributed.ranks_model import Cost, Shape, fit_exchange, main


def test_an_exchange_is_fitted_by_its_latency_and_bandwidth() -> None:
    measured = [(4, 0.001), (4, 0.0012), (4, 0.0011), (100_000, 0.0021), (1_000_000, 0.0111)]
    latency, per_byte = fit_exchange(measured)
    assert latency == pytest.approx(0.0011)
    assert per_byte == pytest.approx(1e-8)


def test_a_step_is_the_sum_of_its_parts() -> None:
    cost = Cost(latency=1e-3, byte_seconds=1e-9, sample_seconds=1e-5, distinct_share=0.5, dense_floats=1000)
    shape = Shape(samples=100, tables=10, dim=4)
    assert cost.step(1, shape, 1e9).total == pytest.approx(1e-3)
    step = cost.step(4, shape, 1e9, peer_seconds=1e-4)
    # four messages with two more peers each, and the six hops of a ring
    assert step.latency == pytest.approx(4 * (1e-3 + 2e-4) + 6e-4 + 1e-3)
    assert step.lengths == pytest.approx(12 * 12e-9)
    assert step.rows == pytest.approx(375 * 40 * 17 / 16 * 1e-9)
    assert step.dense == pytest.approx(2 * 0.75 * 4000e-9)
    assert step.total == pytest.approx(1e-3 + step.latency + step.lengths + step.rows + step.dense)


def test_bytes_of_a_message_that_sends_every_id() -> None:
    assert formula_bytes("all-to-all int64", 4096, 26, 16, 2) == 2048 * 26 / 2 * 8
    assert formula_bytes("all-to-all float32", 4096, 26, 16, 4) == 1024 * 26 * 3 / 4 * 64
    assert formula_bytes("lengths int32", 4096, 26, 16, 2) is None


def test_the_extrapolation_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cost", Cost(1e-3, 1e-9, 1e-5, 0.5, 1000).as_text(), "--gbits", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 6
    assert lines[-1].split("|")[2].strip() == "1024"


def test_bytes_of_the_layers_of_sok() -> None:
    """B = 10 samples, S = 2 tables, K = 3 ids, N = 4 ranks, V = 5: 8BSK(N-1) + 4BSV(N-1), (8 + 4V)BSK(N-1)/N."""
    assert sok_bytes(10, 2, 3, 4, 5) == (8 * 60 * 3 + 4 * 20 * 5 * 3, 28 * 60 * 3 // 4)


@pytest.mark.soak
def test_what_overlaps_is_measured_over_two_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    small = {"turns": 1, "delays": 1, "samples": 8, "tables": 2, "keys": 50, "width": 4, "batches": 2, "repeats": 1}
    assert overlap.main([part for name, value in small.items() for part in (f"--{name}", str(value))]) == 0
    row = capsys.readouterr().out.splitlines()[-1].split("|")
    tables, tower, together, both, hidden = (float(cell) for cell in row[2:7])
    assert tables > 3  # three exchanges, each a millisecond late
    assert together == pytest.approx(tables + tower, rel=0.02)
    assert hidden == pytest.approx(together - both, abs=0.02 * together)
