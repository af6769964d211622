"""The `migrate` group. A command's module is imported only when that command runs, so that `--help` stays fast."""

from __future__ import annotations

import importlib
import os
import sys

import click

from migrate import __version__
from migrate.cli.commands import COMPLETE, Group
from migrate.cli.ending import end_by_signals, finish, prepare_streams

#: name -> (module with a click command of the same name, one-line help)
COMMANDS = {
    "convert": ("migrate.cli.convert", "Convert source files; write the result, a diff and reports."),
    "check": ("migrate.cli.check", "Report what convert would do, without changing files."),
    "explain": ("migrate.cli.explain", "Explain what was found at FILE:LINE, and why it is or is not converted."),
    "revert": ("migrate.cli.revert", "Undo conversions from their stored edits."),
    "rules": ("migrate.cli.rules", "List, explain and test the conversion rules."),
    "verify": ("migrate.cli.verify", "Run the original and the converted program and compare their results."),
    "run": ("migrate.run.command", "Run a program, unmodified, with tables in place of its embedding variables."),
    "trial": ("migrate.trial.command", "Run a program as it is and with tables, and say what it would gain."),
    "trace": ("migrate.trace.command", "Run a program; record what its graphs do with each variable, as evidence."),
    "checkpoint": ("migrate.cli.checkpoint", "Convert a checkpoint of the original model for the converted one."),
    "freeze": ("migrate.cli.freeze", "Write a SavedModel with stock ops, served without this package."),
    "graph": ("migrate.cli.graph", "Find the embedding tables of a graph file, or convert them."),
    "dataset": ("migrate.cli.dataset", "Build a feature map and TFRecords from raw data files."),
    "project": ("migrate.cli.project", "Write a complete training project for a model."),
    "report": ("migrate.cli.report", "Show, render and compare reports."),
    "completion": ("migrate.cli.completion", "Print the script by which a shell completes this command."),
}


class LazyGroup(Group):
    """A click group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup)
@click.version_option(__version__, prog_name="migrate")
def cli() -> None:
    """Convert recommendation models to dynamic embedding tables, and verify the result."""


def main() -> None:
    """Run the command and end the process; `migrate.cli.ending` says how."""
    prepare_streams()
    end_by_signals()
    # Suppress TensorFlow's start-up notices, unless the user set the variable.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    sys.exit(finish(_run))


def _run() -> None:
    """Run what the command line says, or answer a shell that completes it."""
    asked = os.environ.get(COMPLETE)
    if asked:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(cli, {}, "migrate", COMPLETE, asked))
    with cli.make_context("migrate", sys.argv[1:]) as context:
        cli.invoke(context)
