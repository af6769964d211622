"""`migrate project`: write a complete training project from a model and its feature schema."""

from __future__ import annotations

from pathlib import Path

import click

from migrate.cli.folders import FILE, FORCE, output_folder
from migrate.cli.running import interruptible


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("source", metavar="SRC", type=FILE)
@click.option("--schema", required=True, metavar="FILE", type=FILE, help="Feature schema (YAML).")
@output_folder()
@click.option(
    "--target",
    type=click.Choice(["runtime", "rec_sdk"]),
    default="runtime",
    show_default=True,
    help="What run.sh uses: the bundled runtime, or Rec SDK itself.",
)
@click.option(
    "--style",
    type=click.Choice(["session", "estimator"]),
    default="session",
    show_default=True,
    help="Style of main.py.",
)
@click.option(
    "--entry",
    metavar="NAME",
    default="",
    help="In a TensorFlow file: the function, class or CLASS.METHOD that builds the model.",
)
@FORCE
@interruptible
def project(source: Path, schema: Path, output: Path, target: str, style: str, entry: str, force: bool) -> None:
    """Write a project that trains the model of SRC: model, training loop, settings, data, run.sh, README, test.

    SRC is a Paddle model, or a TensorFlow one that is a function of its features (docs/project.md). The project is
    written for Rec SDK's interface, and `bash run.sh` in the folder trains it on the bundled runtime.
    """
    from migrate.project.build import ProjectOptions, write_project

    files = write_project(ProjectOptions(source, schema, output, target, style, force, entry))
    click.echo(f"{output}: {', '.join(files)}")
    click.echo(f"next: bash {output / 'run.sh'}")
