"""`migrate verify`: run the original and the converted file, and compare their results."""

from __future__ import annotations

import sys
from typing import Any

import click

from migrate.cli.commands import PATH, command
from migrate.cli.console import VERBOSE, echo, folded, level, say, with_time_left


@command()
@click.argument("original", metavar="ORIGINAL", type=PATH)
@click.argument("converted", metavar="CONVERTED", type=PATH)
@click.argument("arguments", metavar="[-- ARGUMENT...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--schema",
    metavar="FILE",
    type=PATH,
    help="Feature schema (YAML), for a Paddle model of one file; a folder needs none.",
)
@click.option(
    "--steps", type=click.IntRange(1), default=10, show_default=True, help="Number of optimizer steps to compare."
)
@click.option(
    "--batches",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Number of batches for outputs, loss and gradients.",
)
@click.option(
    "--batch-size", type=click.IntRange(2), default=32, show_default=True, help="Rows per batch (Paddle models)."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the random weights and inputs."
)
@click.option(
    "--set",
    "changed",
    metavar="KEY=VALUE",
    multiple=True,
    help="A value of config.yaml for both programs, such as a smaller table (folders of Paddle models).",
)
@click.option(
    "--ids",
    type=click.IntRange(2),
    help="Reduce all integers of the batches modulo this, so that ids fit smaller tables (folders of Paddle models).",
)
@click.option(
    "--report", "reports", metavar="FILE", type=PATH, multiple=True, help="Write a report; the extension is the format."
)
def verify(
    original: str,
    converted: str,
    arguments: tuple[str, ...],
    schema: str | None,
    steps: int,
    batches: int,
    batch_size: int,
    seed: int,
    changed: tuple[str, ...],
    ids: int | None,
    reports: tuple[str, ...],
) -> None:
    """Run ORIGINAL and CONVERTED on the same random weights and batches, and compare the results stage by stage.

    The stages are initial values, outputs, loss, gradients and optimizer steps. Two tensors are equal when
    max|difference| <= 1e-5 * max|value|. Where all are equal, a line says so, and --verbose prints every tensor. Where
    some differ, the first one and where it comes from are printed, then the worst of each stage. Exit code 0 when all
    are equal, 1 when some differ or the conversion changes values, 2 when a program could not run.
    What follows `--` is the command line of both programs; of folders it is the command, such as `python train.py`,
    which runs in copies of them.
    """
    from migrate.report import writers
    from migrate.schema import load_schema
    from migrate.verify import pair, show
    from migrate.verify.settings import Settings
    from migrate.verify.show import make_report
    from migrate.verify.workers import Progress

    for path in reports:
        writers.check_path(path)
    settings = Settings(steps, batches, batch_size, seed, dict(map(_pair, changed)), ids, arguments)
    known, progress = load_schema(schema) if schema else None, Progress()
    with progress.watched(), with_time_left(progress.share) as progress.tell:
        result = pair.verify(original, converted, known, settings)
    for line in show.render(result, level() >= VERBOSE):
        echo(folded(line) if sys.stdout.isatty() else line)
    for path in reports:
        writers.write(make_report(result, schema), path)
        say(f"wrote {path}")
    sys.exit(0 if result.passed else 1)


def _pair(text: str) -> tuple[str, Any]:
    """Return the key and the value, which is YAML, of KEY=VALUE."""
    import yaml

    key, equals, value = text.partition("=")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError:
        equals = ""
    if not equals:
        raise click.BadParameter(f"`{text}` is not KEY=VALUE, such as hyper_parameters.sparse_feature_number=1000")
    return key, parsed
