"""Tables that stay variables in a graph that was recorded."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.model import Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement


@register
class RecordedRun(CheckRule):
    """A record of `migrate trace` shows an op that uses the table's variable as no table can be used.

    The run is right, and what the source shows is not all: the source is not converted, whatever is assumed.
    """

    id = "tf-evidence"
    title = "A table that stays a variable in a recorded run is left unchanged"
    since = "0.2"
    applicability = None
    examples = (
        Example(
            "without `--evidence`, the source alone is judged",
            "import sys\nimport tensorflow.compat.v1 as tf\n"
            'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
            "e = tf.nn.embedding_lookup(W, ids)\nx = eval(sys.argv[1])\n",
        ),
    )
    refusals = (
        Refusal(
            "stays-in-graph",
            "`{variable}` stays a variable in a recorded run",
            "{reason} ({record})",
            "look up the rows that are needed at that place, or leave the variable unchanged",
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        """Block tables by the graphs of completed runs."""
        for table in judgement.tables:
            for name, reason, record in dict.fromkeys(_kept(judgement.file, table)):
                call = table.creation.call
                refused = blocker(call, self.id, "stays-in-graph", variable=name, reason=reason, record=record)
                table.blockers.append(refused)


def _kept(file: File, table: Table) -> Iterator[tuple[str, str, str]]:
    """Yield name, reason and record of the variables that the call of a table creates, and an op keeps."""
    location = file.tree.location(table.creation.call)
    for run in file.evidence:
        path = run.recorded(location.path) if run.completed else ""
        for graph in run.record.graphs if path else ():
            for variable in graph.variables:
                lines = [line for file_path, line in variable.created if file_path == path]
                if variable.fault and any(location.line <= line <= location.end_line for line in lines):
                    yield variable.name, variable.stays, run.place
