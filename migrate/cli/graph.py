"""`migrate graph`: judge the embedding tables of a graph file, or write the graph with tables of the runtime."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rewriter.plan import Plan


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="[DST]", required=False)
@click.option("--tables", default="auto", show_default=True, help="auto, or names of variables, separated by commas.")
@click.option(
    "--explain", "tensor", metavar="TENSOR", help="Only tell what becomes of this tensor's variable, and why."
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole plan as JSON.")
@click.option("--force", is_flag=True, help="Write over a DST that this command did not write.")
def graph(source: str, target: str | None, tables: str, tensor: str | None, as_json: bool, force: bool) -> None:
    """Say which variables of the graph SRC become tables, and why others stay; write the graph with tables to DST.

    SRC is a GraphDef (.pb, .pbtxt), a MetaGraph (.meta) or a SavedModel's directory, and is not changed; DST is of the
    same kind. Nothing is written when nothing moves. To train without a new file, give GraphModifierHook to the
    session. Exit code 0 when every variable that is looked up moves, 1 when one stays, 2 when SRC cannot be read or
    DST not written.
    """
    from migrate.errors import MigrateError
    from rewriter.checks import RewriteError

    if tensor is not None and target is not None:
        raise MigrateError("--explain only tells; leave the second path out")
    names = tables if tables == "auto" else [name.strip() for name in tables.split(",")]
    try:
        if tensor is not None:
            click.echo(_explanation(source, tensor))
            return
        plan = _judged(source, names) if target is None else _rewritten(source, target, names, force)
    except (ValueError, RewriteError) as error:
        raise MigrateError(str(error)) from error
    click.echo(plan.to_json() if as_json else plan.summary() or "no variable of the graph is looked up")
    sys.exit(1 if plan.refusals else 0)


def _explanation(source: str, tensor: str) -> str:
    from rewriter.explain import explain
    from rewriter.files import read_graph
    from rewriter.graph import GraphView

    return explain(GraphView(read_graph(source)), tensor)


def _judged(source: str, names: Any) -> Plan:
    from rewriter.files import read_graph
    from rewriter.graph import GraphView
    from rewriter.moved import moved_before
    from rewriter.plan import make_plan

    view = GraphView(read_graph(source))
    return make_plan(view, names, moved_before(view))


def _rewritten(source: str, target: str, names: Any, force: bool) -> Plan:
    """Write the result; what was written, and what comes next, is told on stderr."""
    from pathlib import Path

    from migrate.graph.rewriting import rewrite_file

    done = rewrite_file(Path(source), Path(target), names, force)
    if done.written is None:
        click.echo("nothing moves, so nothing was written", err=True)
    else:
        tables = f"{len(done.moved)} {'table' if len(done.moved) == 1 else 'tables'}"
        click.echo(f"wrote {done.written}: {tables}, without {done.removed} ops that they replace", err=True)
        click.echo(done.next_step(), err=True)
    return done.graphs[""].plan
