"""`migrate graph`: judge the embedding tables of a graph file."""

from __future__ import annotations

import sys

import click


@click.command()
@click.argument("source", metavar="SRC")
@click.option("--tables", default="auto", show_default=True, help="auto, or names of variables, separated by commas.")
@click.option(
    "--explain", "tensor", metavar="TENSOR", help="Only tell what becomes of this tensor's variable, and why."
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole plan as JSON.")
def graph(source: str, tables: str, tensor: str | None, as_json: bool) -> None:
    """Say which variables of the graph SRC become tables, and why others stay; SRC is not changed.

    SRC is a GraphDef (.pb, .pbtxt), a MetaGraph (.meta) or a SavedModel's directory. To train with the tables, give
    GraphModifierHook to the session. Exit code 0 when every variable that is looked up moves, 1 when one stays, 2 when
    SRC cannot be read.
    """
    from migrate.errors import MigrateError
    from rewriter.explain import explain
    from rewriter.files import read_graph
    from rewriter.graph import GraphView
    from rewriter.plan import make_plan

    try:
        view = GraphView(read_graph(source))
        if tensor is not None:
            click.echo(explain(view, tensor))
            return
        plan = make_plan(view, tables if tables == "auto" else [name.strip() for name in tables.split(",")])
    except ValueError as error:
        raise MigrateError(str(error)) from error
    click.echo(plan.to_json() if as_json else plan.summary() or "no variable of the graph is looked up")
    sys.exit(1 if plan.refusals else 0)
