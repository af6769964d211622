"""A page for each command of `migrate`, from what click knows of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from migrate.cli.main import COMMANDS, cli


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page: the list of commands, then one a command."""
    rows = [f"- [`migrate {name}`]({name}.md): {text}" for name, (_, text) in COMMANDS.items()]
    yield "index.md", f"# Commands\n\n{cli.help}\n\n" + "\n".join(rows) + f"\n\n{_EXIT_CODES}"
    parent = click.Context(cli, info_name="migrate")
    for name in COMMANDS:
        command = cli.get_command(parent, name)
        assert command is not None
        yield f"{name}.md", "\n".join(_page(command, click.Context(command, info_name=name, parent=parent), 1))


_EXIT_CODES = """## Exit codes

0
:   Done, and nothing is left to do.

1
:   Done, and work remains: something was left unchanged, needs a decision, is new or differs.

2
:   The command could not run. One sentence says why, and what to do.
"""


def _page(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}\n"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    yield from (f"{part}\n" for part in _paragraphs(command.help or ""))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # what an argument is, stands in the text above
            yield f"`{record[0]}`\n:   {_plain(record[1])}\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _page(inner, click.Context(inner, info_name=name, parent=context), level + 1)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs; what click is told not to wrap is set as it stands."""
    for part in text.replace("\f", "").split("\n\n"):
        if part.startswith("\b"):
            yield "```text\n" + part.strip("\b\n") + "\n```"
        elif part.strip():
            yield _plain(" ".join(part.split()))


def _plain(text: str) -> str:
    """Return text of a terminal as Markdown: what would be read as a tag or an emphasis is not."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(one if one.startswith("`") else re.sub(r"([<*\[])", r"\\\1", one) for one in parts)
