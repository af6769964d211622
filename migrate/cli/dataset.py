"""`migrate dataset`: build a feature map and TFRecords from raw data files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from migrate.cli.commands import PATH, group
from migrate.cli.console import echo, say, shows_progress, with_progress
from migrate.cli.folders import FILE, FORCE, output_folder

if TYPE_CHECKING:
    from migrate.dataset.census.reading import Row


@group()
def dataset() -> None:
    """Build a feature map and TFRecords from raw data files."""


def _shown(rows: Iterable[Row], source: Path, text: str) -> Iterator[Row]:
    """Yield the rows and show a progress bar on stderr; it fills early for a gzipped file."""
    with click.progressbar(length=source.stat().st_size, label=text, file=sys.stderr, update_min_steps=1 << 18) as bar:
        for row in rows:
            bar.update(row.length)
            yield row


def _silent(rows: Iterable[Row], source: Path, text: str) -> Iterable[Row]:
    return rows


@dataset.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=FILE)
@click.option(
    "--schema",
    required=True,
    metavar="FILE",
    type=PATH,
    help="Schema of the columns (docs/dataset.md), or criteo, or census.",
)
@output_folder()
@click.option(
    "--feature-map",
    metavar="FILE",
    type=FILE,
    help="Use the feature_map.json of an earlier build, e.g. for evaluation data.",
)
@click.option(
    "-j", "--jobs", metavar="N", type=click.IntRange(min=1), help="Number of processes. Default: one per CPU."
)
@click.option(
    "--bad-rows",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="What to do with rows that have a wrong number of values, or invalid values.",
)
@click.option(
    "--shard-rows", metavar="N", type=click.IntRange(min=1), default=100_000, show_default=True, help="Rows per file."
)
@click.option(
    "--compression",
    metavar="LEVEL",
    type=click.IntRange(0, 9),
    default=1,
    show_default=True,
    help="gzip level: 1 (fast) to 9 (small); 0: no compression.",
)
@click.option(
    "--block-size",
    metavar="MIB",
    type=click.IntRange(1, 1024),
    default=8,
    show_default=True,
    help="How much of a file a process reads at a time.",
)
@FORCE
def build(
    inputs: tuple[Path, ...],
    schema: str,
    output: Path,
    feature_map: Path | None,
    jobs: int | None,
    bad_rows: str,
    shard_rows: int,
    compression: int,
    block_size: int,
    force: bool,
) -> None:
    """Build TFRecords from CSV, TSV (also gzipped) or Parquet files, as a schema describes.

    Writes part-*.tfrecord.gz, feature_map.json, statistics.json and .txt, and schema.yaml for `migrate convert`.
    """
    from migrate.dataset.build import BuildOptions, build_dataset

    options = BuildOptions(
        schema=schema,
        inputs=inputs,
        output=output,
        feature_map=feature_map,
        jobs=jobs or len(os.sched_getaffinity(0)),
        skip_bad_rows=bad_rows == "skip",
        shard_rows=shard_rows,
        level=compression,
        block_bytes=block_size << 20,
        force=force,
    )
    result = build_dataset(options, with_progress)
    if result.skipped:
        say(f"{result.skipped:,} rows skipped; first: {result.first_skipped}")
    echo(f"{output}: {result.rows:,} rows in {result.shards} file{'s' * (result.shards != 1)}")


@dataset.command()
@click.option("--train", type=FILE, help="census-income.data, plain or gzipped.")
@click.option("--test", type=FILE, help="census-income.test, plain or gzipped.")
@output_folder("Output folder.")
@click.option(
    "--synthetic",
    type=click.IntRange(min=1),
    metavar="N",
    help="Generate N training and N/2 test rows instead of reading files.",
)
@click.option(
    "--map-from",
    type=click.Choice(["both", "train"]),
    default="both",
    show_default=True,
    help="Files whose categories get ids.",
)
@click.option(
    "--unseen",
    type=click.Choice(["error", "reserve"]),
    default="error",
    show_default=True,
    help="What to do with a category that the feature map does not have.",
)
@click.option("--normalize", is_flag=True, help="Scale dense columns to mean 0, deviation 1 (in the training file).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the synthetic rows.")
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
        raise click.UsageError("--synthetic cannot be combined with --train and --test; give one or the other")
    if synthetic is None and not (train and test):
        raise click.UsageError("give --train and --test, or --synthetic N")

    from migrate.dataset.census.build import CensusOptions, build_census

    options = CensusOptions(train, test, synthetic, map_from, unseen == "reserve", normalize, seed)
    result = build_census(options, output, _shown if shows_progress() else _silent)
    echo(
        f"{output}: {result.train_rows:,} training and {result.test_rows:,} test rows, "
        f"{len(result.sizes)} sparse features with {sum(result.sizes)} ids"
    )
