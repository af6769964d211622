"""`migrate checkpoint`: convert a checkpoint of the original model to one that the converted model restores."""

from __future__ import annotations

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--report", required=True, metavar="FILE", help="JSON report of the conversion, from `migrate convert --report`."
)
@click.option(
    "--map",
    "names",
    multiple=True,
    metavar="TABLE=VARIABLE",
    help="Name of the variable that holds a table's rows (repeatable).",
)
@click.option("--parts", multiple=True, metavar="TABLE=N", help="Number of partitions of a table's variable.")
@click.option("--like", metavar="CHECKPOINT", help="Checkpoint of the converted program whose contents NEW must match.")
@click.option("--force", is_flag=True, help="Overwrite NEW if it exists.")
def checkpoint(
    old: str, new: str, report: str, names: tuple[str, ...], parts: tuple[str, ...], like: str | None, force: bool
) -> None:
    """Write NEW, a checkpoint for the converted program, from OLD, a checkpoint of the original program.

    OLD is a prefix as returned by Saver.save, or a directory with checkpoints. Row i of a converted variable becomes
    the row of key i, with its optimizer slots; all other variables are copied. Exit code 0, or 2 on an error.
    """
    from migrate.checkpoint.moving import move

    done = move(old, new, report, names, parts, like, force)
    for moved in done:
        slots = (
            f"slots {', '.join(moved.slots)}"
            if moved.slots
            else "no optimizer slots found: they start from their initial values"
        )
        if moved.move.optimizer == "sgd":
            slots = "no optimizer slots (gradient descent has none)"
        click.echo(f"{moved.move.variable} [{moved.rows}, {moved.dim}] -> table {moved.move.table}, {slots}")
    click.echo(f"wrote {new}", err=True)
