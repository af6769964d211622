"""`migrate revert`: undo conversions from their stored edits."""

from __future__ import annotations

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option("--from", "source", metavar="FILE|DIR", help="Take the edits from a JSON report or an output directory.")
@click.option("--merge", is_flag=True, help="Undo only the converted lines of files that were changed since.")
@click.option("--diff", "show_diff", is_flag=True, help="Print unified diffs to stdout and write nothing.")
def revert(paths: tuple[str, ...], source: str | None, merge: bool, show_diff: bool) -> None:
    """Undo the conversion of files, byte for byte; without PATH, of every file of this project.

    `migrate convert` stores its edits in .migrate/edits.json, at the root of the project or in the output directory. A
    file that was changed since is refused. All files are reverted, or none. Exit code 0 when that was done, 2 when it
    could not be.
    """
    from migrate.source.files.atomic_write import unified_diff
    from migrate.source.files.journal import text_of
    from migrate.source.files.revert import apply, plan, still_converted

    found = plan(paths, source, merge=merge)
    if show_diff:
        for item in found:
            text = unified_diff(item.path.as_posix(), text_of(item.now), text_of(item.before))
            click.echo(text.encode("utf-8", errors="surrogateescape"), nl=False)
        return
    apply(found)
    for item in found:
        click.echo(f"{item.path}: {'reverted' if item.changed else 'is as it was'}", err=True)
        if item.remaining:
            click.echo(f"{item.path}: an earlier conversion is below later changes; revert --merge undoes it", err=True)
    left = still_converted(found)
    if left:
        shown = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        click.echo(f"still converted: {shown}; files of one program belong together", err=True)
