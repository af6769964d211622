"""`migrate completion`: print the script by which a shell completes the command."""

from __future__ import annotations

import os

import click

from migrate.cli.commands import COMPLETE, command
from migrate.cli.console import echo
from migrate.errors import MigrateError

SHELLS = ("bash", "fish", "zsh")


@command()
@click.argument("shell", metavar="[SHELL]", required=False, type=click.Choice(SHELLS))
def completion(shell: str | None) -> None:
    """Print the completion script of a shell: bash, zsh or fish; without SHELL, of the one that runs.

    To install it for bash, once: migrate completion bash >> ~/.bash_completion
    """
    from click.shell_completion import get_completion_class

    from migrate.cli.main import cli

    name = shell or os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119 - text, not a path to open
    shell_class = get_completion_class(name) if name in SHELLS else None
    if shell_class is None:
        raise MigrateError(f"{name or 'the shell'}: has no completion; give one of {', '.join(SHELLS)}")
    echo(shell_class(cli, {}, "migrate", COMPLETE).source())
