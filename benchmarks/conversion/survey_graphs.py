"""Which embedding variables of programs and graphs the rewriter moves, and why the others stay.

python -m benchmarks.conversion.survey_graphs "model.py --epochs 1" graph.meta ...

A program runs in a process of its own, in its folder. When it ends, fails or has run `--seconds`, all graphs that it
made are judged, and those with tables are rewritten in a copy. A variable that several graphs have moves if it does in
all; with `--each-graph`, for programs that build a model in each, it counts in each. A .meta file has one graph.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import markdown_table

MOVES = ""
_NAMES = re.compile(r"`[^`]*`|/job:\S*")
_OWN = Path(__file__).resolve().parents[2]


def pattern(reason: str) -> str:
    """Return a reason without the names of ops, so that equal reasons can be counted."""
    return _NAMES.sub("_", reason)


def judged(program: str, seconds: int, apart: bool) -> dict[str, str]:
    """Return, by variable that a program or a graph's file looks up, why it stays; `MOVES` if it moves.

    Raises:
        RuntimeError: nothing was found out; the message is the end of what the process wrote.
    """
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "result.json"
        command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--child", str(result), program]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_OWN), os.environ.get("PYTHONPATH", "")])}
        done = subprocess.run(
            [*command, "--seconds", str(seconds), *["--each-graph"] * apart],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=10 * seconds + 300,
        )
        if not result.exists():
            raise RuntimeError(f"{program}: {done.stdout[-2000:]}")
        found: dict[str, str] = json.loads(result.read_text(encoding="utf-8"))
        if not found:
            print(f"{program}: no lookups; {done.stdout[-600:]}", file=sys.stderr)
        return found


class _Ended(BaseException):
    """The program has had its time."""


def run(program: str, seconds: int) -> list[Any]:
    """Run a program and return the graphs that it made, whatever ended it."""
    import tensorflow as tf

    graphs: list[Any] = []
    initialize = tf.Graph.__init__

    def remembered(graph: Any, *arguments: Any, **named: Any) -> None:
        initialize(graph, *arguments, **named)
        graphs.append(graph)

    def ended(*_: Any) -> None:
        raise _Ended

    tf.Graph.__init__ = remembered
    script, *sys.argv[1:] = shlex.split(program)
    sys.argv[0] = script
    path = Path(script).resolve()
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    signal.signal(signal.SIGALRM, ended)
    signal.alarm(seconds)
    try:
        runpy.run_path(str(path), run_name="__main__")
    except _Ended:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        signal.alarm(0)
        tf.Graph.__init__ = initialize
    return graphs


def verdicts(graphs: Sequence[Any], apart: bool) -> dict[str, str]:
    """Judge live graphs; the verdict of a variable is the first reason to stay. `apart` tells its graphs apart."""
    import tensorflow as tf

    from rewriter import rewrite

    found: dict[str, str] = {}
    for number, graph in enumerate(graphs):
        # Function graphs are judged with the graph that calls them.
        if type(graph) is not tf.Graph or not graph.get_operations():
            continue
        prefix = f"{number}/" if apart else ""
        plan = rewrite(graph, dry_run=True)
        for refusal in plan.refusals:
            name = prefix + refusal.table
            found[name] = found.get(name) or f"{refusal.reason} ({' → '.join(refusal.path)})"
        wrong = _why_not_rewritten(graph) if plan.tables else MOVES
        for table in plan.tables:
            found[prefix + table.name] = found.get(prefix + table.name) or wrong
    return found


def _why_not_rewritten(graph: Any) -> str:
    """Rewrite a copy, since a program may have finalized its graph; return what fails."""
    import tensorflow as tf

    from rewriter import rewrite

    with graph.as_default():
        meta = tf.compat.v1.train.export_meta_graph(clear_extraneous_savers=True)
    try:
        with tf.Graph().as_default() as copy:
            tf.compat.v1.train.import_meta_graph(meta)
            rewrite(copy)
    except Exception as error:  # the survey counts whatever is wrong
        traceback.print_exc()
        return f"the rewrite failed: {error}"
    return MOVES


def read(path: str) -> Any:
    """Return the graph of a .meta file."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        tf.compat.v1.train.import_meta_graph(path)
    return graph


def main(arguments: Sequence[str] | None = None) -> None:
    """Print, for each program, how many variables it looks up and moves, and reasons by frequency."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", help="a Python file with its arguments, or a .meta file")
    parser.add_argument("--seconds", type=int, default=60, help="for each program")
    parser.add_argument("--each-graph", action="store_true", help="count a variable in each graph that has it")
    parser.add_argument("--list", action="store_true", help="print each variable that stays")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child:
        program = given.programs[0]
        is_program = shlex.split(program)[0].endswith(".py")
        graphs = run(program, given.seconds) if is_program else [read(program)]
        Path(given.child).write_text(json.dumps(verdicts(graphs, given.each_graph)), encoding="utf-8")
        return
    rows, reasons, listed = list[list[str]](), Counter[str](), list[str]()
    for program in given.programs:
        try:
            found = judged(program, given.seconds, given.each_graph)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            found = {}
        staying = {name: reason for name, reason in found.items() if reason != MOVES}
        counts = len(found), len(found) - len(staying), len(staying)
        rows.append([Path(shlex.split(program)[0]).stem, *map(str, counts)])
        reasons += Counter(pattern(reason.rsplit(" (", 1)[0]) for reason in staying.values())
        listed += [f"{rows[-1][0]}: `{name}`: {reason}" for name, reason in staying.items()]
    rows.append(["all", *(str(sum(int(row[column]) for row in rows)) for column in (1, 2, 3))])
    print(markdown_table(("program", "looked up", "move", "stay"), rows))
    print()
    print(markdown_table(("reason", "variables"), [[why, str(count)] for why, count in reasons.most_common()]))
    if given.list:
        print(*listed, sep="\n")


if __name__ == "__main__":
    main()
