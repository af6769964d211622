"""What `ranks.plan` chooses beside the best of many placements, measured; with --fit, the costs that it should take.

python -m benchmarks.distributed.plan [--ranks 2] [--samples 1024] [--turns 12] [--repeats 2] [--costs ...] [--fit]

For each setting every kind of placement is tried for every group of tables, in turns of one process of each rank, so
that a busy machine slows all alike. Compare ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import BenchmarkError, machine, markdown_table
from benchmarks.distributed.plan_settings import SETTINGS
from benchmarks.distributed.ranks import numbers_of
from benchmarks.options import positive
from runtime.ranks import Costs

PART = Path(__file__).with_name("plan_part.py")
#: How much a cost is held to its default: by so many of the relative errors of a step.
_NEAR = 0.2
#: Seconds, of a default of 0.
_SMALL = 1e-8
PASSED_ON = ("samples", "batches", "repeats", "turns", "costs")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed.plan", description=__doc__.split("\n\n")[0])
    parser.add_argument("--ranks", type=positive, default=2, help="how many, of one thread each (default 2)")
    parser.add_argument("--samples", type=positive, default=1024, help="of the batch of a rank (default 1024)")
    parser.add_argument("--batches", type=positive, default=4, help="distinct batches (default 4)")
    parser.add_argument("--repeats", type=positive, default=2, help="steps of a candidate in a turn (default 2)")
    parser.add_argument("--turns", type=positive, default=12)
    parser.add_argument("--settings", default=",".join(SETTINGS), help="names separated by commas (default all)")
    parser.add_argument("--costs", default="", help="of the model, separated by commas (default: those of runtime)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured to FILE")
    parser.add_argument("--fit", action="store_true", help="print the costs that fit all that was measured")
    return parser.parse_args(given)


def time_of(tried: dict[str, Any]) -> float:
    """Return the fastest of a candidate's steps, in milliseconds: what a busy machine adds differs between them."""
    return float(min(tried["times"]))


def placed_by(tried: dict[str, Any]) -> tuple[str, ...]:
    """Return the placements of a candidate."""
    return tuple(tried["placements"].values())


def times_of(found: dict[str, Any]) -> dict[tuple[str, ...], list[float]]:
    """Return the times of all steps with the same placements."""
    times: dict[tuple[str, ...], list[float]] = {}
    for one in found["tried"]:
        times.setdefault(placed_by(one), []).extend(one["times"])
    return times


def line_of(setting: str, found: dict[str, Any]) -> list[float | str | None]:
    """Return the plan's time, the best one's and the worst one's; the time of equal placements is one."""
    fastest = {placed: min(own) for placed, own in times_of(found).items()}
    planned = found["tried"][0]
    mine = fastest[placed_by(planned)]
    named = {placed_by(one): one["label"] for one in reversed(found["tried"])}
    best, worst = min(fastest, key=fastest.__getitem__), max(fastest, key=fastest.__getitem__)
    of_plan = [one["label"] for one in found["tried"][1:] if one["placements"] == planned["placements"]]
    cpu = min(one["cpu_ms"] for one in found["tried"])
    return [
        setting,
        of_plan[0] if of_plan else "mixed",
        mine,
        planned["modelled_ms"],
        fastest[best],
        named[best],
        f"{mine / fastest[best] - 1:+.0%}",
        f"{planned['cpu_ms'] / cpu - 1:+.0%}",
        fastest[worst],
    ]


def fitted(found: Sequence[dict[str, Any]]) -> Costs:
    """Return the costs, none below 0, that explain the times of all candidates best, in relative terms.

    Costs that these settings cannot tell apart stay near the defaults. A step has a fixed part that is none of them: it
    is fitted beside, and left out.
    """
    rows, target = [], []
    for one in found:
        times = times_of(one)
        for tried in one["tried"][1:]:
            seconds = min(times[placed_by(tried)]) / 1e3
            rows.append([*(value / seconds for value in one["units"][tried["label"]]), 1 / seconds])
            target.append(1.0)
    for i, usual in enumerate(astuple(Costs())):
        rows.append([_NEAR / (usual or _SMALL) if i == j else 0.0 for j in range(len(rows[0]))])
        target.append(_NEAR if usual else 0.0)
    matrix, kept = np.array(rows), list(range(len(rows[0])))
    while True:  # what would be below 0 is taken to be 0
        values = np.linalg.lstsq(matrix[:, kept], np.array(target), rcond=None)[0]
        if values.min() >= 0:
            break
        del kept[int(values.argmin())]
    full = np.zeros(matrix.shape[1])
    full[kept] = values
    return Costs(*map(float, full[:-1]))


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when it could not."""
    options = arguments(given)
    host, found = machine(), {}
    try:
        for setting in options.settings.split(","):
            program = [str(PART), "--setting", setting]
            for name in PASSED_ON:
                program += [f"--{name}", str(getattr(options, name))]
            found[setting] = numbers_of(program, options.ranks)
            print(f"{setting}\n{found[setting]['plan']}\n", file=sys.stderr)
            for one in found[setting]["tried"]:
                parts = f"{time_of(one):8.2f} ms, modelled {one['modelled_ms']:8.2f}, cpu {one['cpu_ms']:.1f}"
                print(f"{one['label']:30} {parts}", file=sys.stderr)
    except BenchmarkError as error:
        print(f"plan: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(found), encoding="utf-8")
    head = ("setting", "plan", "ms", "modelled", "best ms", "best", "plan over best", "processor time", "worst ms")
    print(f"{host['processor']}, {host['cores']} cores, {options.ranks} ranks, {options.samples} samples a rank\n")
    print(markdown_table(head, [line_of(setting, one) for setting, one in found.items()]), end="")
    if options.fit:
        print("\n--costs " + ",".join(f"{value:.3g}" for value in astuple(fitted(list(found.values())))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
