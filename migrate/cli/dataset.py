"""`migrate dataset`: raw data files to a feature map and TFRecords."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from migrate.dataset.census.reading import Row


@click.group()
def dataset() -> None:
    """Turn raw data files into a feature map and TFRecords."""


def _shown(rows: Iterable[Row], source: Path, text: str) -> Iterator[Row]:
    """Pass the rows through, with a progress bar on stderr (an archive fills it early: its size is the packed one)."""
    with click.progressbar(length=source.stat().st_size, label=text, file=sys.stderr, update_min_steps=1 << 18) as bar:
        for row in rows:
            bar.update(row.length)
            yield row


def _silent(rows: Iterable[Row], source: Path, text: str) -> Iterable[Row]:
    return rows


@dataset.command()
@click.option("--train", type=click.Path(path_type=Path), help="census-income.data, the same gzipped, or the zip.")
@click.option("--test", type=click.Path(path_type=Path), help="census-income.test, the same gzipped, or the zip.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option(
    "--synthetic", type=click.IntRange(min=1), metavar="N", help="Make N training and N/2 test rows instead of reading."
)
@click.option(
    "--map-from",
    type=click.Choice(["both", "train"]),
    default="both",
    show_default=True,
    help="Whose categories get an id.",
)
@click.option(
    "--unseen",
    type=click.Choice(["error", "reserve"]),
    default="error",
    show_default=True,
    help="What to do with a category that the map does not know.",
)
@click.option("--normalize", is_flag=True, help="Dense columns to mean 0, deviation 1 (of the training file).")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the synthetic rows.")
def census(
    train: Path | None,
    test: Path | None,
    output: Path,
    synthetic: int | None,
    map_from: str,
    unseen: str,
    normalize: bool,
    seed: int,
) -> None:
    """Prepare the Census-Income (KDD) data for MMoE.

    Writes train.tfrecord, test.tfrecord, feature_map.json and schema.yaml (for `migrate convert --schema`).
    """
    if synthetic is not None and (train or test):
        raise click.UsageError("--synthetic makes its own files: give either it or --train and --test")
    if synthetic is None and not (train and test):
        raise click.UsageError("give --train and --test, or --synthetic N")

    from migrate.dataset.census.build import CensusOptions, build_census

    options = CensusOptions(train, test, synthetic, map_from, unseen == "reserve", normalize, seed)
    result = build_census(options, output, _shown if sys.stderr.isatty() else _silent)
    click.echo(
        f"{output}: {result.train_rows:,} training and {result.test_rows:,} test rows, "
        f"{len(result.sizes)} sparse features with {sum(result.sizes)} ids"
    )
