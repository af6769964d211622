"""The AUC that models reach in Paddle and converted, over several seeds on the same sample data.

python -m benchmarks.paddle.auc DIRECTORY --only rank/deepfm:1,2 --only rank/dnn [--seeds 5] [--keep FOLDER]

`NAME:1,2` asks for the AUC after the first and the second epoch (default: 1). Each side trains the data of config.yaml
in its order, with the trainer's own optimizer and batches, and is measured by its own metrics over the test data that
config.yaml names. Prints a Markdown table: mean, smallest and largest AUC of both sides, and whether ranges overlap.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paddle.models import TRAINER, convert
from migrate.errors import MigrateError
from migrate.source.paddle.abstract.program import settings

SIDES = ("paddle", "converted")


@dataclass(frozen=True)
class Range:
    """AUCs of several seeds."""

    values: tuple[float, ...]

    def overlaps(self, other: Range) -> bool:
        """Whether no side is better with all seeds."""
        return min(self.values) <= max(other.values) and min(other.values) <= max(self.values)

    def __str__(self) -> str:
        """Mean, and smallest to largest."""
        mean = sum(self.values) / len(self.values)
        return f"{mean:.3f} ({min(self.values):.3f} to {max(self.values):.3f})"


@dataclass(frozen=True)
class Row:
    """One metric of one model after some epochs."""

    model: str
    metric: str
    epochs: int
    data: str
    sides: tuple[Range, Range]

    @property
    def line(self) -> str:
        """The row of the table."""
        first, second = self.sides
        overlap = "yes" if first.overlaps(second) else "no"
        return f"| {self.model} | {self.metric} | {self.epochs} | {self.data} | {first} | {second} | {overlap} |"


def main(given: Sequence[str] | None = None) -> int:
    """Run the program; 1 if the ranges of a row do not overlap, or a model fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", action="append", required=True, help="FOLDER or FOLDER:EPOCHS,..., repeatable")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="folder for the converted models (default: a temporary one)")
    options = parser.parse_args(given)
    rows: list[Row] = []
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for text in options.only:
            name, _, epochs = text.partition(":")
            wanted = [int(one) for one in (epochs or "1").split(",")]
            target = (options.keep or Path(scratch)) / name
            try:
                found = compared(name, options.directory / name, target, wanted, options.seeds)
            except MigrateError as error:
                print(error, file=sys.stderr, flush=True)
                failed = True
                continue
            rows += found
            print("\n".join(row.line for row in found), file=sys.stderr, flush=True)
    print("\n".join(table(rows, options.seeds)))
    return 1 if failed or not all(row.sides[0].overlaps(row.sides[1]) for row in rows) else 0


def compared(name: str, folder: Path, target: Path, epochs: Sequence[int], seeds: int) -> list[Row]:
    """Convert a model, and train it on both sides.

    Raises:
        MigrateError: it does not convert, or a side fails.
    """
    trainer, reason = convert(folder, target)
    if trainer != TRAINER:
        raise MigrateError(f"{name}: {reason}")
    places = {"paddle": folder, "converted": target}
    found = [trained(side, places[side], folder, max(epochs), seeds) for side in SIDES]
    config = settings({"config.yaml": (folder / "config.yaml").read_text(encoding="utf-8")})
    data = data_of(folder, config)
    metrics = [metric for metric in found[0][0][-1] if metric in found[1][0][-1]]
    return [
        Row(name, metric, count, data, (range_of(found[0], metric, count), range_of(found[1], metric, count)))
        for metric in metrics
        for count in epochs
    ]


def range_of(histories: Sequence[Sequence[Mapping[str, float]]], metric: str, epochs: int) -> Range:
    """Return the values of a metric after some epochs, one for each seed."""
    return Range(tuple(history[epochs - 1][metric] for history in histories))


def trained(side: str, folder: Path, data: Path, epochs: int, seeds: int) -> list[list[dict[str, float]]]:
    """Train one side in a process of its own; return the metrics of each seed after each epoch."""
    paths = [str(folder.resolve()), str(data.resolve())]
    command = [sys.executable, "-m", "benchmarks.paddle.auc_part", side, *paths, str(epochs), str(seeds)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line for line in run.stdout.splitlines() if line.startswith("AUCS ")]
    if not told:
        raise MigrateError(f"{folder}: the {side} side fails: {(run.stderr.strip().splitlines() or ['no output'])[-1]}")
    history: list[list[dict[str, float]]] = json.loads(told[0].removeprefix("AUCS "))["history"]
    return history


def data_of(folder: Path, config: Mapping[str, object]) -> str:
    """Return how many lines the data has, and whether the test data is that of training."""
    texts = [lines_of(folder / str(config[f"runner.{kind}_data_dir"])) for kind in ("train", "test")]
    same = "the same" if texts[0] == texts[1] else f"{len(texts[1])} others"
    return f"{len(texts[0])} lines, tested on {same}"


def lines_of(folder: Path) -> list[str]:
    """Return the lines of all files of a folder."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]


def table(rows: Sequence[Row], seeds: int) -> Iterator[str]:
    """Yield the lines of the table, and how many ranges overlap."""
    yield "| model | metric | epochs | sample data | Paddle | converted | ranges overlap |"
    yield "|---|---|---|---|---|---|---|"
    yield from (row.line for row in rows)
    yield ""
    good = sum(row.sides[0].overlaps(row.sides[1]) for row in rows)
    yield f"Mean (smallest to largest) of {seeds} seeds; {good} of {len(rows)} ranges overlap."


if __name__ == "__main__":
    sys.exit(main())
