"""`migrate project`: a whole training project from a model and its feature schema."""

from __future__ import annotations

from pathlib import Path

import click

from migrate.cli.running import interruptible


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("source", metavar="SRC", type=click.Path(path_type=Path))
@click.option("--schema", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The feature schema.")
@click.option("-o", "--output", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder to make.")
@click.option(
    "--target",
    type=click.Choice(["runtime", "rec_sdk"]),
    default="runtime",
    show_default=True,
    help="What run.sh runs on: the bundled runtime, or Rec SDK itself.",
)
@click.option(
    "--style", type=click.Choice(["session", "estimator"]), default="session", show_default=True, help="Of main.py."
)
@click.option("--force", is_flag=True, help="Replace the output folder and all that is in it.")
@interruptible
def project(source: Path, schema: Path, output: Path, target: str, style: str, force: bool) -> None:
    """Write a project that trains the Paddle model SRC: model, training loop, settings, data, run.sh, README, test.

    It is written for Rec SDK's interface, and `bash run.sh` in the folder trains it on the bundled runtime.
    """
    from migrate.project.build import ProjectOptions, write_project

    files = write_project(ProjectOptions(source, schema, output, target, style, force))
    click.echo(f"{output}: {', '.join(files)}")
    click.echo(f"next: bash {output / 'run.sh'}")
