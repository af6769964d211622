"""`migrate project`: write a complete training project from a model and its feature schema, or from its folder."""

from __future__ import annotations

from pathlib import Path

import click

from migrate.cli.commands import command
from migrate.cli.console import echo
from migrate.cli.folders import FILE, FORCE, output_folder
from migrate.errors import MigrateError
from migrate.report.words import quoted


@command()
@click.argument("source", metavar="SRC", type=FILE)
@click.option(
    "--schema",
    metavar="FILE",
    type=FILE,
    help="Feature schema (YAML); a Paddle model's folder needs none.",
)
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
def project(source: Path, schema: Path | None, output: Path, target: str, style: str, entry: str, force: bool) -> None:
    """Write a project that trains the model of SRC: model, training loop, settings, data, test, README.

    SRC is a Paddle model's folder, with its trainer, reader and sample data: `python train.py` trains it. Or it is a
    Paddle model that has a schema, or a TensorFlow one that is a function of its features: then the project is written
    for Rec SDK's interface, and `bash run.sh` trains it on the bundled runtime (docs/project.md).
    """
    if source.is_dir():
        _of_folder(
            source,
            schema,
            output,
            {"--target": target == "rec_sdk", "--style": style != "session", "--entry": entry != ""},
            force,
        )
        return
    if schema is None:
        trainer = source.parent / "dygraph_model.py"
        folder = f", or give the folder {source.parent}" if trainer.is_file() else ""
        if not source.is_file():
            raise MigrateError(
                f"{source}: no such file or folder; give a model's file, or the folder of a Paddle model"
            )
        raise MigrateError(f"{source}: a project of one file needs a schema of its columns; give --schema{folder}")
    from migrate.project.build import ProjectOptions, write_project

    files = write_project(ProjectOptions(source, schema, output, target, style, force, entry))
    echo(f"{output}: {', '.join(files)}")
    echo(f"next: bash {quoted(output / 'run.sh')}")


def _of_folder(source: Path, schema: Path | None, output: Path, options: dict[str, bool], force: bool) -> None:
    for option in [name for name, present in options.items() if present]:
        raise MigrateError(
            f"{option}: the project of a Paddle model's folder is trained by `runtime.nn` in a session; remove it"
        )
    from migrate.project.paddle_folder import write_folder
    from migrate.schema import load_schema

    inputs = load_schema(str(schema)).inputs if schema is not None else ()
    files = write_folder(source, output, inputs, force)
    echo(f"{output}: {', '.join(files)}")
    echo(f"next: python {quoted(output / 'train.py')}")
