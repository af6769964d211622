"""The benchmarks at tiny sizes: every system computes the same numbers, ratios are right, no timing is asserted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import cold_step, criteo_step
from benchmarks.bare import BareLoop
from benchmarks.common import (
    DIM,
    INITIAL_VALUE,
    Ids,
    Settings,
    draw,
)
from benchmarks.oracle import BETA1, BETA2, EPSILON, INITIAL_ACCUMULATOR, LEARNING_RATE, Array, Oracle
from benchmarks.systems import SYSTEMS

TINY = Settings(samples=32, fields=4, keys=500)
TINY_ARGUMENTS = ["--samples", "32", "--fields", "4"]
OPTIMIZERS = ("adagrad", "adam", "sgd")


def cells(text: str) -> dict[str, dict[str, str]]:
    """Read a markdown table back: row name -> column -> text."""
    lines = [
        [part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[2:]}


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
