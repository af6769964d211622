"""`migrate freeze`: write a SavedModel with stock ops alone, which is served without this package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from migrate.cli.commands import PATH, command
from migrate.cli.console import echo, say

if TYPE_CHECKING:
    from migrate.freeze.quantized import Error


@command()
@click.argument("source", metavar="SAVED_MODEL", type=PATH)
@click.argument("target", metavar="OUT", type=PATH)
@click.option(
    "--quantize",
    type=click.Choice(["int8", "bf16"]),
    help="Store rows in fewer bits: int8 with a scale for each row, or bfloat16. The error is measured and printed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@click.option("--force", is_flag=True, help="Overwrite also an OUT that this command did not write.")
def freeze(source: str, target: str, quantize: str | None, as_json: bool, force: bool) -> None:
    """Write OUT, a SavedModel with TensorFlow's own ops alone, from SAVED_MODEL, which has tables.

    Any TensorFlow loads OUT without this package: TensorFlow Serving, the C API, Python. Its signatures give what those
    of SAVED_MODEL give; ids without a row read what the table gives them. OUT cannot be trained. A SAVED_MODEL that
    holds numbered versions stands for the latest. Exit code 0, or 2 on an error, and then nothing is written.
    """
    from migrate.freeze.freezing import freeze_saved_model
    from rewriter.freezing.frozen_table import Numbers

    replaced = Path(target).exists()
    done = freeze_saved_model(Path(source), Path(target), Numbers(quantize or Numbers.FLOAT32), force)
    if as_json:
        tables = [
            {"table": one.table, "rows": one.rows, "dim": one.dim, "largest_error": one.error.largest} for one in done
        ]
        echo(json.dumps({"quantize": quantize, "tables": tables}, indent=1))
    else:
        for frozen in done:
            echo(f"table {frozen.table} [{frozen.rows}, {frozen.dim}]{_error(frozen.error) if quantize else ''}")
    say(f"wrote {target}{', in place of what was there' if replaced else ''}")


def _error(error: Error) -> str:
    return f", largest error {error.largest:.3g} ({error.relative:.2g} of the largest value)"
