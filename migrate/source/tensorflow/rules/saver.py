"""Savers that list their variables."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind, is_none
from migrate.source.tensorflow.base.model import blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import DEFAULT_MODEL
from migrate.source.tensorflow.facts.lists.listings import saves_all
from migrate.source.tensorflow.facts.optimizers.training_model import Step

PARAMETERS = (
    "var_list", "reshape", "sharded", "max_to_keep", "keep_checkpoint_every_n_hours", "name", "restore_sequentially",
    "saver_def", "builder", "defer_build", "allow_empty", "write_version", "pad_step_number", "save_relative_paths",
    "filename",
)  # fmt: skip
STEP = "s = tf.train.Saver()\nt = tf.train.AdagradOptimizer(0.1).minimize(e)\n"


@register
class Saver(CheckRule):
    """`Saver()` saves tables as it saves variables; with a list of variables it does not.

    With `--assume` the tables are converted under the assumption that no checkpoint of this saver needs them. A saver
    of all variables that is created before the training step does not contain the optimizer's slots, but those of a
    table: an assumption, too.
    """

    id = "tf-saver"
    title = "Tables are left unchanged where a `Saver` lists its variables"
    applicability = None
    refusals = (
        Refusal(
            "lists-others",
            "`{text}` lists its variables",
            "a table is not a variable of that list, so its rows would be missing from the checkpoint",
            "use Saver() without a list, which saves tables too",
            "no checkpoint of this Saver needs to hold the tables",
        ),
        Refusal(
            "early",
            "`{text}` is created before the training step",
            "it saves no slots of the optimizer, but with a table it would also save and restore the table's slots",
            "create the Saver after the step, or convert with --assume",
            "checkpoints may hold the slots of the tables as well as their rows",
        ),
    )
    examples = (
        Example("a list", DEFAULT_MODEL + "s = tf.train.Saver(tf.trainable_variables())\n", says="lists its variables"),
        Example("starred arguments", DEFAULT_MODEL + "s = tf.train.Saver(*given)\n", says="lists its variables"),
        Example(
            "created before the optimizer's slots are", DEFAULT_MODEL + STEP, says="is created before the training step"
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        file, steps = judgement.file, judgement.training.steps
        for call, _ in file.calls("train.Saver"):
            text = file.tree.one_line(call)
            if _lists_variables(file, call):
                judgement.file_blockers.append(blocker(call, self.id, "lists-others", text=text))
            elif any(_makes_slots_later(file, call, step) for step in steps):
                judgement.file_blockers.append(blocker(call, self.id, "early", text=text))


def _lists_variables(file: File, saver: cst.Call) -> bool:
    """True for a saver with a list that may lack variables, or with arguments that cannot be read."""
    bound = bind(saver, PARAMETERS)
    if bound is None:
        return True
    listed = bound.get("var_list")
    return listed is not None and not is_none(listed) and not saves_all(file, saver, listed.value)


def _makes_slots_later(file: File, saver: cst.Call, step: Step) -> bool:
    function = file.tree.enclosing(saver, cst.FunctionDef)
    after = file.tree.span(saver)[1] <= file.tree.span(step.call)[0]
    here = file.tree.related(saver, step.call) and function is file.tree.enclosing(step.call, cst.FunctionDef)
    return here and after and any(maker.stock.stateful for maker in step.optimizer.makers)
