"""`migrate graph`: find the embedding tables of a graph file, or convert them to dynamic tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from migrate.cli.command_line import command_line
from migrate.cli.commands import PATH, command
from migrate.cli.console import echo, say
from migrate.cli.reports import REPORT, STYLE, check_reports

if TYPE_CHECKING:
    from migrate.graph.rewriting import Done
    from rewriter.plan.plan import Plan
    from rewriter.proof.result import Proof


@command()
@click.argument("source", metavar="SRC", type=PATH)
@click.argument("target", metavar="[DST]", required=False, type=PATH)
@click.option("--tables", default="auto", show_default=True, help="auto, or names of variables, separated by commas.")
@click.option(
    "--explain", "tensor", metavar="TENSOR", help="Only explain whether the variable of this tensor converts, and why."
)
@STYLE
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON, instead of a report.")
@click.option("--force", is_flag=True, help="Overwrite a DST that this command did not write.")
@REPORT
@click.option(
    "--verify",
    "steps",
    type=click.IntRange(min=1),
    metavar="N",
    help="First run both graphs for N steps and compare their results.",
)
def graph(
    source: str,
    target: str | None,
    tables: str,
    tensor: str | None,
    style: str,
    as_json: bool,
    force: bool,
    reports: tuple[str, ...],
    steps: int | None,
) -> None:
    """Report which variables of the graph SRC become dynamic tables and which do not; write the result to DST.

    SRC is a GraphDef (.pb, .pbtxt), a MetaGraph (.meta) or the directory of a SavedModel, and is not changed; DST has
    the same kind. Nothing is written if no variable converts. To train without a new file, pass GraphModifierHook to
    the session. --verify generates values for placeholders; nothing is written if the two graphs differ. Exit code 0
    when every variable with lookups converts, 1 when one does not or the graphs differ, 2 when SRC cannot be read or
    DST cannot be written.
    """
    from migrate.errors import MigrateError
    from rewriter.checks.invariants import RewriteError

    if tensor is not None and target is not None:
        raise MigrateError("--explain writes no graph; remove DST")
    if tensor is not None and reports:
        raise MigrateError("--explain writes no report; remove --report")
    if style != "text" and (as_json or tensor is not None):
        other = "--json" if as_json else "--explain"
        raise MigrateError(
            f"--output-format {style} prints a report, and {other} something else; leave one of them out"
        )
    check_reports(reports)
    if tensor is not None and steps is not None:
        raise MigrateError("--explain does not run the graph; remove --verify")
    names = tables if tables == "auto" else [name.strip() for name in tables.split(",")]
    try:
        if tensor is not None:
            echo(_explanation(source, tensor))
            return
        proofs = _proofs(source, names, steps, as_json or style != "text") if steps is not None else {}
        if not all(proof.ok for proof in proofs.values()):
            plans = _judged(source, names) if reports or style != "text" else {}
            _write(*_rendered(reports, style, source, plans, None, proofs))
            sys.exit(1)
        done = None if target is None else _rewritten(source, target, names, force)
        plans = _judged(source, names) if done is None else {tags: one.plan for tags, one in done.graphs.items()}
        texts, printed = _rendered(reports, style, source, plans, target, proofs)
        if done is not None:
            _write_graph(done)
    except (ValueError, RewriteError) as error:
        raise MigrateError(str(error)) from error
    _write(texts, printed)
    if style == "text":
        echo(_json(plans) if as_json else _summary(plans))
    sys.exit(1 if any(plan.refusals for plan in plans.values()) else 0)


def _rendered(
    paths: tuple[str, ...],
    style: str,
    source: str,
    plans: dict[str, Plan],
    target: str | None,
    proofs: dict[str, Proof],
) -> tuple[dict[str, str], str]:
    """Return the reports by their paths, and what is printed of one, if not the text of the plan.

    Called before anything is written, as it may fail.
    """
    if not paths and style == "text":
        return {}, ""
    from migrate.report import writers
    from migrate.report.graph_file import file_report

    report = file_report(source, plans, target, command_line(), proofs)
    texts = {path: writers.render(report, writers.check_path(path)) for path in paths}
    return texts, writers.printed(report, style) if style != "text" else ""


def _write(texts: dict[str, str], printed: str) -> None:
    from pathlib import Path

    from migrate.report.files import write_atomically

    for path, text in texts.items():
        write_atomically(Path(path), text)
    echo(printed, nl=False)


def _proofs(source: str, names: Any, steps: int, to_stderr: bool) -> dict[str, Proof]:
    """Run both graphs and print the results; on stderr if stdout is used for the plan."""
    from pathlib import Path

    from rewriter.proof.in_files import prove_file

    proofs = prove_file(Path(source), names, steps)
    for proof in proofs.values():
        echo(proof.summary(), err=to_stderr)
    return proofs


def _json(plans: dict[str, Plan]) -> str:
    """Return the plan as JSON; several plans become an object from tags to plan."""
    import json

    if len(plans) == 1:
        return next(iter(plans.values())).to_json()
    return json.dumps({tags: json.loads(plan.to_json()) for tags, plan in plans.items()}, indent=2)


def _summary(plans: dict[str, Plan]) -> str:
    parts = {tags: plan.summary() or "no variable of the graph is looked up" for tags, plan in plans.items()}
    return "\n".join(f"graph tagged `{tags}`:\n{text}" if len(parts) > 1 else text for tags, text in parts.items())


def _explanation(source: str, tensor: str) -> str:
    """Explain a tensor, in the first graph that contains it."""
    from rewriter.graph.files import read_graphs
    from rewriter.graph.view import GraphView
    from rewriter.plan.planner import explain

    views = [GraphView(meta.graph_def) for meta in read_graphs(source).values()]
    return explain(next((view for view in views if tensor.partition(":")[0] in view), views[0]), tensor)


def _judged(source: str, names: Any) -> dict[str, Plan]:
    from rewriter.graph.files import read_graphs
    from rewriter.offline.multi_graph import judge_meta_graphs

    return judge_meta_graphs(read_graphs(source), names)


def _rewritten(source: str, target: str, names: Any, force: bool) -> Done:
    from pathlib import Path

    from migrate.graph.rewriting import rewrite_file

    return rewrite_file(Path(source), Path(target), names, force)


def _write_graph(done: Done) -> None:
    """Write the result, and print on stderr what was written and what to do next."""
    done.write()
    if done.written is None:
        say("no variable converts, so nothing was written")
    else:
        tables = f"{len(done.moved)} {'table' if len(done.moved) == 1 else 'tables'}"
        say(f"wrote {done.written}: {tables}; removed {done.removed} replaced ops")
        say(done.next_step())
