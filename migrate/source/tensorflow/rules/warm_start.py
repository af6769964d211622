"""Variables that are initialized from a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import by_keyword, is_none
from migrate.source.tensorflow.base.model import blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import HEAD, MADE

STARTS = {"train.init_from_checkpoint", "contrib.framework.init_from_checkpoint", "train.warm_start"}


@register
class WarmStart(CheckRule):
    """`init_from_checkpoint` and warm starts initialize variables by name; they block the tables of the program."""

    id = "tf-warm-start"
    title = "A variable that is initialized from a checkpoint is left unchanged"
    applicability = None
    refusals = (
        Refusal(
            "started",
            "`{text}` starts variables from a checkpoint",
            "it fills variables by their names, so the rows of the checkpoint would not reach the table",
            "convert the checkpoint by `migrate checkpoint`",
        ),
    )
    examples = (
        Example(
            "all variables", HEAD + MADE + 'tf.train.init_from_checkpoint(path, {"/": "/"})\n', says="by their names"
        ),
        Example(
            "an Estimator",
            HEAD + MADE + "m = tf.estimator.Estimator(model_fn, warm_start_from=path)\n",
            says="by their names",
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        file = judgement.file
        for call in _starts(file):
            for table in judgement.tables:
                if file.tree.related(call, table.creation.call):
                    text = file.tree.excerpt(call)
                    table.blockers.append(blocker(call, self.id, "started", text=text))


def _starts(file: File) -> Iterator[cst.Call]:
    """Yield calls that initialize variables from a checkpoint."""
    for call, name in file.names.calls:
        if name in STARTS or (name.startswith("estimator.") and not is_none(by_keyword(call, "warm_start_from"))):
            yield call
