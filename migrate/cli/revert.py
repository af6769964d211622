"""`migrate revert`: undo conversions with their stored edits."""

from __future__ import annotations

import click

from migrate.cli.commands import PATH, command
from migrate.cli.console import first_names, print_diff, say


@command()
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=PATH)
@click.option("--merge", is_flag=True, help="In files changed since, undo only the converted lines.")
@click.option("--diff", "show_diff", is_flag=True, help="Print unified diffs to stdout and write nothing.")
def revert(paths: tuple[str, ...], merge: bool, show_diff: bool) -> None:
    """Undo the conversion of files, byte for byte; without PATH, of all files of this project.

    `migrate convert` stores its edits in .migrate/edits.json, in the root of the project or in the output directory.
    Files that were changed since need --merge. Either all files are reverted, or none. Exit code 0 on success, 2 on an
    error.
    """
    from migrate.source.files.atomic_write import unified_diff
    from migrate.source.files.journal import text_of
    from migrate.source.files.revert import apply, plan, still_converted

    planned = plan(paths, merge=merge)
    if show_diff:
        for item in planned:
            print_diff(unified_diff(item.path.as_posix(), text_of(item.now), text_of(item.before)))
        return
    apply(planned)
    for item in planned:
        say(f"{item.path}: {'reverted' if item.changed else 'already reverted'}")
        if item.remaining:
            say(f"{item.path}: an earlier conversion was followed by other changes; undo it with revert --merge")
    left = still_converted(planned)
    if left:
        say(f"still converted: {first_names(left)}; revert these as well if they belong to the same program")
