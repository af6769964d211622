"""`migrate checkpoint`: the variables of an old checkpoint become the tables of a converted model."""

from __future__ import annotations

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--report", required=True, metavar="FILE", help="The JSON report of the conversion.")
@click.option("--map", "names", multiple=True, metavar="TABLE=VARIABLE", help="The variable of a table, by name.")
@click.option("--parts", multiple=True, metavar="TABLE=N", help="Partitions of its variable, which ids went round.")
@click.option("--like", metavar="CHECKPOINT", help="One that the converted program wrote: NEW gets what that one has.")
@click.option("--force", is_flag=True, help="Write over a checkpoint that is there.")
def checkpoint(
    old: str, new: str, report: str, names: tuple[str, ...], parts: tuple[str, ...], like: str | None, force: bool
) -> None:
    """Write the checkpoint NEW from OLD, a checkpoint of the original model: tables in place of variables.

    OLD is a prefix, as Saver.save returns it, or a directory with checkpoints. Row i becomes key i, optimizer slots
    included; everything else is copied. The converted program restores NEW. Exit code 0, or 2 when it could not run.
    """
    from migrate.checkpoint.moving import move

    done = move(old, new, report, names, parts, like, force)
    for moved in done:
        slots = f"slots {', '.join(moved.slots)}" if moved.slots else "no slots: its optimizer starts afresh"
        if moved.move.optimizer == "sgd":
            slots = "no slots, as gradient descent has none"
        click.echo(f"{moved.move.variable} [{moved.rows}, {moved.dim}] -> table {moved.move.table}, {slots}")
    click.echo(f"wrote {new}", err=True)
