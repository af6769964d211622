"""The benchmarks at tiny sizes: every system computes the same numbers, ratios are right, no timing is asserted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cold_step, criteo_step
from benchmarks.bare import BareLoop
from benchmarks.common import (
    DIM,
    INITIAL_VALUE,
    BenchmarkError,
    Ids,
    Settings,
    Summary,
    draw,
    markdown_table,
    permuted_keys,
    scattered,
)
from benchmarks.driver import Run
from benchmarks.oracle import BETA1, BETA2, EPSILON, INITIAL_ACCUMULATOR, LEARNING_RATE, Array, Oracle
from benchmarks.report import sentences, table
from benchmarks.scaling import Cost, scaling
from benchmarks.systems import SYSTEMS

TINY = Settings(samples=32, fields=4, keys=500)
TINY_ARGUMENTS = ["--samples", "32", "--fields", "4"]
OPTIMIZERS = ("adagrad", "adam", "sgd")


class InProcess:
    """Stands for a worker process: answers from a reference of its own, times scripted, losses scaled by `factor`."""

    def __init__(self, name: str, milliseconds: float, factor: float = 1.0) -> None:
        self.name = name
        self._system = Oracle(TINY.keys, TINY.optimizer)
        self._milliseconds = milliseconds
        self._factor = factor
        self._batches: Ids = np.empty((0, 0, 0), np.int64)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Answer as benchmarks.worker does."""
        if do == "load":
            self._batches = np.load(arguments["path"])
        elif do == "rows":
            return {"rows": self._system.rows(np.array(arguments["keys"])).tolist()}
        elif do in ("forward", "step"):
            count = arguments["count"]
            answer: dict[str, Any] = {
                "ms": [self._milliseconds * (1 if do == "forward" else 2)] * count,
                "breakdown": [],
            }
            if do == "step":
                chosen = self._batches[arguments["first"] :][:count]
                answer["losses"] = [self._factor * self._system.step(ids) for ids in chosen]
            return answer
        return {"versions": {}, "peak_memory_mib": 1, "huge_pages_mib": 0}


@pytest.fixture
def compared() -> Iterator[Run]:
    """A finished run of three stand-ins: stock takes 8 ms, ours 4, the bare loop 2; a step twice that."""
    ready: list[Any] = [InProcess("stock", 8.0), InProcess("ours", 4.0), InProcess("bare", 2.0)]
    with Run(ready, TINY) as run:
        run.load(draw("zipf", 3, TINY, seed=0))
        run.turn(step=(0, 3), forward=(0, 2), warm=(1, 1), keep="x")
        run.check("at the end")
        yield run


def test_zipf_is_the_yardsticks_draw() -> None:
    ids = draw("zipf", 12, Settings(), seed=0)
    assert ids.shape == (12, 4096, 26) and ids.dtype == np.int64
    assert ids.min() >= 0 and ids.max() < 2_000_000
    # design.md: 159,000 live keys, the hottest is 18 % of all ids.
    assert abs(np.unique(ids).size - 159_000) < 1_000
    assert abs(np.mean(ids == 1) - 0.18) < 0.005
    assert np.array_equal(ids, draw("zipf", 12, Settings(), seed=0))
    assert not np.array_equal(ids, draw("zipf", 12, Settings(), seed=1))


@pytest.mark.parametrize("keys", [1, 2, 97, 1000, 106_496])
def test_scattering_is_one_to_one(keys: int) -> None:
    assert np.array_equal(np.sort(scattered(np.arange(keys), keys)), np.arange(keys))


def test_scattering_parts_neighbours_and_keeps_counts() -> None:
    plain, mixed = (draw("zipf", 2, TINY, seed=3, scatter=scatter) for scatter in (False, True))
    assert np.array_equal(scattered(plain, TINY.keys), mixed)
    assert abs(int(scattered(np.array([2]), 1000)[0]) - int(scattered(np.array([1]), 1000)[0])) > 300


def test_filling_visits_every_key_once() -> None:
    batches = permuted_keys(Settings(samples=32, fields=4, keys=512), seed=0)
    assert batches.shape == (4, 32, 4)
    assert np.array_equal(np.sort(batches.ravel()), np.arange(512))
    with pytest.raises(BenchmarkError, match="no whole number of batches"):
        permuted_keys(TINY, seed=0)


def test_unknown_kind_of_ids_is_named() -> None:
    with pytest.raises(BenchmarkError, match="`normal`"):
        draw("normal", 1, TINY, seed=0)


def test_summary() -> None:
    assert Summary.of([4.0, 1.0, 3.0]) == Summary(3.0, 1.0, 4.0, 3)
    with pytest.raises(BenchmarkError):
        Summary.of([])


def test_markdown_table() -> None:
    text = markdown_table(["a", "b"], [["x", 1234.5], [None, 0.12345]])
    assert text.splitlines() == ["| a | b     |", "|---|-------|", "| x | 1234  |", "| – | 0.123 |"]


def cells(text: str) -> dict[str, dict[str, str]]:
    """Read a markdown table back: row name -> column -> text."""
    lines = [
        [part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[2:]}


def test_ratios_point_the_right_way(compared: Run) -> None:
    found = cells(table(compared, "x", TINY.ids_per_batch, per_id=True))
    assert found["ours"]["forward ms"] == "4" and found["ours"]["step ms"] == "8"
    assert found["ours"]["step: stock ÷ this"] == found["ours"]["forward: stock ÷ this"] == "2"
    assert found["ours"]["step: this ÷ bare"] == "2" and found["stock"]["step: this ÷ bare"] == "4"
    assert found["bare"]["forward: stock ÷ this"] == "4"
    assert found["stock"]["step: stock ÷ this"] == "–"
    assert float(found["ours"]["step ns/id"]) == pytest.approx(8e6 / 128, rel=1e-3)


def test_ratios_in_words(compared: Run) -> None:
    lines = sentences(compared, "x")
    assert "step: ours takes 0.50 times the time of stock (stock takes 2.00 times the time of ours)" in lines
    assert "forward: ours takes 2.00 times the time of bare (bare takes 0.50 times the time of ours)" in lines


def test_turns_keep_what_they_are_asked_to(compared: Run) -> None:
    assert len(compared.times["ours", "x forward"]) == 2
    assert len(compared.times["ours", "x step"]) == 3
    compared.turn(step=(0, 1))
    assert len(compared.times["ours", "x step"]) == 3


def test_a_system_that_computes_something_else_is_refused() -> None:
    ready: list[Any] = [InProcess("stock", 1.0), InProcess("ours", 1.0, factor=1.001)]
    with Run(ready, TINY) as run:
        run.load(draw("zipf", 1, TINY, seed=0))
        run.turn(step=(0, 1))
        with pytest.raises(BenchmarkError, match="losses of `ours` today differ"):
            run.check("today")


def test_a_system_that_does_not_train_is_refused() -> None:
    lazy_one: Any = InProcess("ours", 1.0)
    with Run([lazy_one], TINY) as run:
        run.load(draw("zipf", 1, TINY, seed=0))
        run.turn(step=(0, 1))
        lazy_one._system = Oracle(TINY.keys, TINY.optimizer)
        with pytest.raises(BenchmarkError, match="rows of `ours` today differ"):
            run.check("today")


def by_hand(optimizer: str, lazy: bool, batches: Ids) -> tuple[list[float], Array]:
    """The model once more, a dense gradient and whole tables, as a textbook has it."""
    weight, rate = np.full((TINY.keys, DIM), INITIAL_VALUE), LEARNING_RATE[optimizer]
    first = np.full_like(weight, INITIAL_ACCUMULATOR if optimizer == "adagrad" else 0.0)
    second, losses = np.zeros_like(weight), []
    for number, ids in enumerate(batches, start=1):
        losses.append(float(np.sum(weight[ids] ** 2)))
        gradient = np.zeros_like(weight)
        np.add.at(gradient, ids.ravel(), 2 * weight[ids.ravel()])
        touched = np.isin(np.arange(TINY.keys), ids)[:, np.newaxis]
        if optimizer == "sgd":
            weight -= rate * gradient
        elif optimizer == "adagrad":
            first += gradient**2
            weight -= rate * gradient / np.sqrt(first)
        else:
            moving = touched if lazy else np.ones_like(touched)
            first = np.where(moving, BETA1 * first + (1 - BETA1) * gradient, first)
            second = np.where(moving, BETA2 * second + (1 - BETA2) * gradient**2, second)
            mean, square = first / (1 - BETA1**number), np.sqrt(second / (1 - BETA2**number))
            corrected = EPSILON / np.sqrt(1 - BETA2**number)
            weight -= np.where(moving, rate * mean / (square + corrected), 0.0)
    return losses, weight


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_reference_is_the_textbooks(optimizer: str, lazy: bool) -> None:
    batches = draw("uniform", 5, TINY, seed=1)
    oracle = Oracle(TINY.keys, optimizer, lazy)
    losses, weight = by_hand(optimizer, lazy, batches)
    np.testing.assert_allclose([oracle.step(ids) for ids in batches], losses, rtol=1e-12)
    np.testing.assert_allclose(oracle.rows(np.arange(TINY.keys)), weight, rtol=1e-12)


@pytest.mark.parametrize(("prefetch", "dim", "huge"), [(False, 16, True), (True, 16, False), (True, 128, True)])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.one_case
def test_bare_loop_is_the_reference(optimizer: str, prefetch: bool, dim: int, huge: bool) -> None:
    settings = Settings(TINY.samples, TINY.fields, TINY.keys, optimizer, dim=dim, huge_pages=huge)
    bare, oracle = BareLoop(settings, prefetch), Oracle(TINY.keys, optimizer, lazy=True, dim=dim)
    batches = draw("zipf", 6, settings, seed=2)
    np.testing.assert_allclose([bare.step(ids) for ids in batches], [oracle.step(ids) for ids in batches], rtol=1e-5)
    every = np.arange(TINY.keys)
    np.testing.assert_allclose(bare.rows(every), oracle.rows(every), rtol=1e-5)
    assert len(bare.breakdown) == 6 and all(len(parts) == 3 for parts in bare.breakdown)


def test_bare_loop_refuses_a_key_too_many() -> None:
    bare = BareLoop(Settings(samples=2, fields=2, keys=3), prefetch=False)
    with pytest.raises(BenchmarkError, match="full"):
        bare.forward(np.arange(4).reshape(2, 2))


@pytest.mark.soak
def test_criteo_step_runs_every_system_that_is_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "criteo.json"
    arguments = [
        *TINY_ARGUMENTS,
        "--keys",
        "1000",
        "--batches",
        "3",
        "--repeats",
        "2",
        "--markdown",
        "--json",
        str(output),
    ]
    assert criteo_step.main(arguments) == 0
    written = json.loads(output.read_text(encoding="utf-8"))
    assert {"ours", "stock", "stock-gather", "floor", "bare", "bare-prefetch"} <= set(written["systems"])
    for name, facts in written["systems"].items():
        assert facts["times_ms"]["criteo forward"]["count"] == 6
        assert ("criteo step" in facts["times_ms"]) == SYSTEMS[name].steps
        assert (facts["largest_difference"] is not None) == SYSTEMS[name].trains
    text = capsys.readouterr().out
    assert text.startswith("## Criteo step, adagrad\n") and written["machine"]["processor"] in text
    assert set(cells(text)) == set(written["systems"])


@pytest.mark.soak
def test_cold_step_fills_and_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "cold.json"
    arguments = ["--systems", "ours,stock,bare", "--keys", "2600", "--batches", "22", "--json", str(output)]
    assert cold_step.main([*TINY_ARGUMENTS, *arguments]) == 0
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["settings"]["keys"] == 20 * 128
    counts = {what: times["count"] for what, times in written["systems"]["ours"]["times_ms"].items()}
    assert counts == {"fill step": 20, "uniform forward": 10, "uniform step": 22, "zipf forward": 10, "zipf step": 22}
    assert capsys.readouterr().out.count("###") == 3


@pytest.mark.soak
def test_cold_step_compares_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "cold.json"
    sizes = ["--keys", "128,256", "--dim", "8", "--ids", "uniform", "--batches", "2", "--systems", "ours,bare"]
    assert cold_step.main([*TINY_ARGUMENTS, *sizes, "--json", str(output)]) == 0
    runs = json.loads(output.read_text(encoding="utf-8"))["runs"]
    assert [(run["settings"]["keys"], run["settings"]["dim"]) for run in runs] == [(128, 8), (256, 8)]
    lines = capsys.readouterr().out.split("### Scaling")[1].splitlines()
    assert [line.split()[3] for line in lines if line.startswith("| uniform")] == ["bare", "bare", "ours", "ours"]


def test_scaling_divides_by_the_first_of_the_same_system() -> None:
    costs = [Cost("ours", "zipf", 10, 16, 2.0, 8.0), Cost("bare", "zipf", 10, 16, None, 4.0)]
    costs += [Cost("ours", "zipf", 20, 16, 3.0, 8.0), Cost("bare", "zipf", 20, 16, None, 6.0)]
    found = [[part.strip() for part in line.split("|")[2:-1]] for line in scaling(costs).splitlines()[2:]]
    assert found[0] == ["bare", "10", "16", "–", "4", "–", "1"]
    assert found[1] == ["bare", "20", "16", "–", "6", "–", "1.5"]
    assert found[3] == ["ours", "20", "16", "3", "8", "1.5", "1"]


def test_table_size_follows_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_step, "available_bytes", lambda: 10**9)
    assert cold_step.table_size(None, ["stock"], 100) == int(0.7e9 / 440) // 100 * 100
    assert cold_step.table_size(12_345, ["stock"], 100) == 12_300
    monkeypatch.setattr(cold_step, "available_bytes", lambda: 10**12)
    assert cold_step.table_size(None, ["stock", "ours"], 100) == cold_step.KEYS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--systems", "stock,nonsense"], "unknown system `nonsense`"),
        (["--systems", "bare", "--tfra-python", "/no/such/python"], "--tfra-python /no/such/python is no file"),
    ],
)
def test_wrong_arguments_end_in_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert criteo_step.main([*TINY_ARGUMENTS, *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and len(captured.err.splitlines()) == 1 and not captured.out


def test_a_named_system_that_cannot_start_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no TFRA here >&2\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    arguments = [*TINY_ARGUMENTS, "--tfra-python", str(broken), "--keys", "100", "--batches", "1", "--repeats", "1"]
    assert criteo_step.main([*arguments, "--systems", "bare,tfra"]) == 2
    assert capsys.readouterr().err == "criteo_step: system `tfra` cannot run: no TFRA here\n"
