"""What all commands share: `-h`, `--quiet`, `--verbose`, hints for mistyped names, and paths that a shell completes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from migrate.cli import console
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: The variable by which a shell asks for completions, as click names it.
COMPLETE = "_MIGRATE_COMPLETE"
HELP = {"help_option_names": ["-h", "--help"]}


class PathText(click.ParamType):  # type: ignore[type-arg]
    """A path, passed on as it was given; the shell completes it."""

    name = "path"

    def __init__(self, kind: str = "file") -> None:
        self.kind = kind  #: what is completed: `file`, or `dir`

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leave the completion to the shell."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=self.kind)]


PATH, DIRECTORY = PathText(), PathText("dir")


class RuleText(click.ParamType):  # type: ignore[type-arg]
    """Ids of rules with commas between them, passed on as they were given; the shell completes the last."""

    name = "rule"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the ids that begin as the last one does."""
        from click.shell_completion import CompletionItem

        from migrate.source.rules.catalogue import catalogue

        before, comma, last = incomplete.rpartition(",")
        known = [rule for rule in catalogue() if rule.id.startswith(last)]
        return [CompletionItem(f"{before}{comma}{rule.id}", help=rule.title) for rule in known]


RULE = RuleText()


#: How the option is written whose value stands behind `=` alone, as `--assume model.py` has a path; what it is without.
ASSUME, ALL, NONE = "[=TABLE|RULE,…]", "all", "none"
_ASSUME = {"--assume": f"--assume={ALL}", "--no-assume": f"--assume={NONE}"}


class Command(click.Command):
    """A command that has the common options."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **{"context_settings": HELP, **settings})
        self.params += [
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=functools.partial(_chosen, console.QUIET),
                help="Print results and errors only.",
            ),
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                callback=functools.partial(_chosen, console.VERBOSE),
                help="Print more; after an internal error, where it happened.",
            ),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; `--assume` alone has a value, too."""
        if any(isinstance(one, click.Option) and one.metavar == ASSUME for one in self.params):
            end = args.index("--") if "--" in args else len(args)
            args = [*(_ASSUME.get(one, one) for one in args[:end]), *args[end:]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, in the colours that the environment asks for."""
        ctx.color = console.forced_color()
        return super().invoke(ctx)


def _chosen(level: int, ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and ctx.meta.setdefault(console.LEVEL, level) != level:
        raise click.UsageError("--quiet and --verbose cannot be combined; give one of them")


class Group(click.Group):
    """A group that says which of its commands a mistyped name resembles."""

    command_class = Command

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **{"context_settings": HELP, **settings})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named; raises UsageError for a name that none has."""
        name = args[0]
        known = self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = [f"`{one}`" for one in difflib.get_close_matches(name.lower(), known, n=2)]
            raise click.UsageError(
                f"no such command `{name}`" + (f"; did you mean {' or '.join(close)}?" if close else ""), ctx
            )
        return super().resolve_command(ctx, args)


def command() -> Callable[[Callable[..., None]], Command]:
    """Return the decorator that makes a function a command."""
    return click.command(cls=Command)


def group() -> Callable[[Callable[..., None]], Group]:
    """Return the decorator that makes a function a group of commands."""
    return click.group(cls=Group)


def program_command(function: Callable[..., None]) -> Command:
    """Make a function the command that runs a program, which stands behind the options and `--`."""
    program = click.argument("program", metavar="COMMAND", nargs=-1, required=True, type=click.UNPROCESSED)
    settings = {**HELP, "allow_interspersed_args": False}
    return click.command(cls=Command, context_settings=settings, options_metavar="[OPTIONS] --")(program(function))


def _names(ctx: click.Context, parameter: click.Parameter, value: str) -> str | list[str]:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if not names:
        raise MigrateError(f"--tables {value!r}: names no variable; give names with commas between, or leave it out")
    return "auto" if value == "auto" else names


#: The variables that such a command moves, as `rewriter.install` takes them.
TABLES = click.option(
    "--tables", default="auto", show_default=True, callback=_names, help="Names of variables, with commas between them."
)
