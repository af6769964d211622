"""Optimizers without an equivalent table optimizer, and optimizers that update rows outside of the batch.

A matrix product gives a variable a gradient with a row for every id: an optimizer with momentum updates all rows by it,
and equal ids are summed before it is clipped. A table is updated only by the rows of the batch, unless the lookup asks
for a dense gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register, same_message
from migrate.source.tensorflow.base.model import Blocker, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.checks.whole_terms import CLIPS
from migrate.source.tensorflow.example_parts import DEFAULT_MODEL
from migrate.source.tensorflow.facts.calls.inner_graphs import in_branch
from migrate.source.tensorflow.facts.optimizers.optimizers import RULE, IdleRows, OptimizerCall
from migrate.source.tensorflow.facts.optimizers.training_model import Step, Training
from migrate.source.tensorflow.facts.variables.trained_reads import IN_PART, reads_of
from migrate.source.tensorflow.facts.variables.whole_reads import RULE as ALL_ROWS

#: Functions that may give a table the gradient of a matrix.
DENSE = {"one_hot_lookup", "padded_lookup", "sparse_lookup", "embedding_lookup_sparse", "safe_embedding_lookup_sparse"}
USE = "`--target runtime` converts it"


@register
class Optimizer(CheckRule):
    """A table is trained by an equivalent of the stock optimizer; without one, the tables are left unchanged."""

    id = RULE
    title = "Tables of a model whose optimizer has no counterpart are left unchanged"
    applicability = None
    refusals = (
        *same_message(
            "`{optimizer}` also moves rows whose gradient is zero",
            (
                "moves-all-rows",
                "{why}",
                "train with SGD, Adagrad or Adam, or convert with --assume",
                "rows that a batch does not name need no update",
            ),
            (
                "moves-rows-of-branches",
                "if the branch of this lookup does not run, every row of the variable has a gradient of zeros",
                "look the ids up before the branch; train with SGD, Adagrad or Adam; or convert with --assume",
                "rows of a branch that does not run need no update",
            ),
            (
                "names-all-rows",
                (
                    "the converted lookup of all ids has a gradient for every row, but the original's may have "
                    "some rows only"
                ),
                "train with SGD, Adagrad or Adam, or leave the variable unchanged",
            ),
        ),
        Refusal(
            "clipped",
            "the gradient of this variable is clipped",
            "{why}, in which equal ids are summed; a table's gradient has a row for each use of an id",
            "convert with --assume if the small difference is acceptable",
            "clipping may treat each use of an id separately",
        ),
        Refusal(
            "rows-of-batch",
            "a loss may depend on all rows of this table",
            "its regularization term over the rows of the batch would then cover all rows, or miss lookups",
            "leave the variable unchanged",
        ),
        *same_message(
            "`{text}` trains the tables of this file",
            ("none-of-target", "{title} has no table optimizer that computes the same as {name}", USE),
            (
                "unread-arguments",
                "its arguments cannot be read",
                "write its arguments out, without stars or `functools.partial`",
            ),
            (
                "unknown",
                "it is not an optimizer of TensorFlow that a statement of this file creates, so what it does "
                "to a table is not known",
                (
                    "create an optimizer of TensorFlow where the model is trained; choose among several by "
                    "`if` and `else` statements"
                ),
            ),
            (
                "no-table-optimizer",
                "no table optimizer computes the same as {short} yet",
                "use SGD, Momentum, Adagrad, Adadelta, RMSProp, Ftrl or Adam",
            ),
        ),
        Refusal(
            "trains-otherwise",
            "`{text}` would train a table of {title} differently",
            "{difference}",
            f"convert with --assume if that is acceptable; {USE} exactly",
            "{difference}",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "tables-alone",
            "this training step trains only tables",
            "an optimizer of {title} trains the variables that it gets, and there are only tables here",
            USE,
        ),
        Refusal(
            "some-variables",
            "the training step `{text}` names its variables",
            "{title} lists all tables of a graph together, but this step trains only some variables",
            USE,
        ),
        Refusal(
            "expanding-gradients",
            "gradients are computed and applied in separate calls",
            "with dynamic expansion gradients of tables have other shapes, so what is done with them may differ",
            "use `minimize`",
        ),
        Refusal(
            "other-function",
            "`{text}` creates the optimizer of another function",
            "`global` or `nonlocal` binds it for another function, but would not bind the optimizer of the tables",
            "create the optimizer in the function that trains",
        ),
        Refusal(
            "parameter",
            "the optimizer `{text}` is a parameter",
            "the tables need an optimizer of their own, which the callers of this function do not pass",
            "create the optimizer in this function",
        ),
        Refusal(
            "handed-on",
            "`{text}` passes the optimizer on",
            "an optimizer that is passed on may train in code outside this file",
            "train where the optimizer is created, and pass the loss on instead",
        ),
        Refusal(
            "variables-listed",
            "`{text}` lists the optimizer's variables",
            "the slots of a table are not among these variables",
            "train where the optimizer is created, and pass the loss on instead",
        ),
    )
    examples = (
        Example(
            "no counterpart",
            DEFAULT_MODEL + "op = tf.train.AdagradDAOptimizer(0.1).minimize(e)\n",
            says="AdagradDA",
        ),
        Example(
            "arguments that a partial adds",
            "import functools\n" + DEFAULT_MODEL + "make = functools.partial(tf.train.AdamOptimizer, beta1=0.5)\n"
            "again = functools.partial(make, epsilon=1.0)\nop = again(0.1).minimize(e)\n",
            says="not an optimizer of TensorFlow",
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        file, training = judgement.file, judgement.training
        clips = bool(file.calls(*CLIPS))
        for table in judgement.tables:
            _check_rows(file, table, training, clips=clips)
        judgement.file_blockers += _makers(file, training)


def _check_rows(file: File, table: Table, training: Training, *, clips: bool) -> None:
    """Add a blocker to a table that an optimizer or gradient clipping would treat differently from its variable."""
    steps = [step for step in training.steps if step.trains(table)]
    makers = [maker for step in steps for maker in step.optimizer.makers if maker.stock.idle_rows is not IdleRows.SAME]
    clips = clips and any(not step.is_minimize for step in steps)
    idle = next((lookup for lookup in table.lookups if lookup.idle), None)
    branch = next((lookup for lookup in table.lookups if in_branch(file, lookup.call)), None) if makers else None
    dense = next((lookup for lookup in table.lookups if lookup.dense), None)
    if idle is not None and not training.steps:
        table.creation.notes.append(f"{idle.idle}: SGD, Adagrad and Adam train the table exactly as the variable")
    if branch is not None:
        name = makers[0].name.rpartition(".")[2]
        table.blockers.append(blocker(branch.call, RULE, "moves-rows-of-branches", under=branch.rule, optimizer=name))
    elif idle is not None and makers and not _steps_all(file, table, makers):
        name = makers[0].name.rpartition(".")[2]
        table.blockers.append(
            blocker(idle.call, RULE, "moves-all-rows", under=idle.rule, optimizer=name, why=idle.idle)
        )
    if dense is not None and clips:
        table.blockers.append(blocker(dense.call, RULE, "clipped", under=dense.rule, why=dense.idle))
    term = next((one for one in table.blockers if one.takes_rows), None)
    if term is not None and clips:
        why = "a term over the whole table makes its gradient a matrix"
        table.blockers.append(blocker(term.node, RULE, "clipped", under=term.rule, why=why))
    movers = [one.name.rpartition(".")[2] for one in makers]
    _check_whole(table, movers, clips=clips, of_batch=term is not None)


def _check_whole(table: Table, movers: Sequence[str], *, clips: bool, of_batch: bool) -> None:
    """Add a blocker to a table of which a loss reads all rows, where each step would train others than the variable's.

    `movers` are optimizers that move rows whose gradient is zero; `of_batch` is true where a term takes those
    that are looked up.
    """
    reads = reads_of(table)
    if not reads:
        return
    node, part = reads[0].node, next((one for one in reads if one.key == IN_PART), None)
    if movers and part is not None:
        table.blockers.append(blocker(part.node, RULE, "names-all-rows", under=ALL_ROWS, optimizer=movers[0]))
    if of_batch:
        table.blockers.append(blocker(node, RULE, "rows-of-batch", under=ALL_ROWS))
    if clips:
        why = "a loss over all rows makes its gradient a matrix"
        table.blockers.append(blocker(node, RULE, "clipped", under=ALL_ROWS, why=why))


def _steps_all(file: File, table: Table, makers: Sequence[OptimizerCall]) -> bool:
    """Let all rows take the steps in which a lookup of the table is trained that stands for a matrix; False if not."""
    counts = file.switches.admission or file.switches.eviction
    idle = [lookup for lookup in table.lookups if lookup.idle]
    functions = {lookup.rewrite.functions[0] if lookup.rewrite is not None else lookup.function for lookup in idle}
    if counts or "all_rows" not in file.target.functions or not functions <= DENSE or table.creation.target_function:
        return False
    if not all(lookup.dense for lookup in idle) or not all(
        maker.stock.idle_rows is IdleRows.REPLAYED for maker in makers
    ):
        return False
    table.lookups = [replace(one, dense_gradient=True) if one.idle else one for one in table.lookups]
    table.creation.notes.append(f"{idle[0].idle}: every row takes the steps of that lookup, when it is needed")
    return True


def _makers(file: File, training: Training) -> Iterator[Blocker]:
    """Yield blockers for optimizers that the target lacks, or implements differently."""
    known, title = file.target.optimizers(file.switches), file.target.title
    for maker in {(id(m.call), m.name): m for step in training.steps for m in step.optimizer.makers}.values():
        follows = known.get(maker.stock.module)
        text = file.tree.one_line(maker.call.func)
        if follows is None:
            name = maker.name.split(".")[-1]
            yield blocker(maker.call, RULE, "none-of-target", text=text, title=title, name=name)
        elif follows.difference:
            difference = follows.difference
            yield blocker(maker.call, RULE, "trains-otherwise", text=text, title=title, difference=difference)


def untrainable(file: File, step: Step, dense: Callable[[], bool]) -> Iterator[Blocker]:
    """Yield why the target cannot run a training step; `dense()` is true where it also trains dense variables."""
    target, program = file.target, file.target.program
    if not target.trains_alone and not dense():
        yield blocker(step.call, RULE, "tables-alone", title=target.title)
    if step.listed is not None and target.splits and target.lists is None:
        text = file.tree.one_line(step.listed.node)
        yield blocker(step.call, RULE, "some-variables", text=text, title=target.title)
    if step.sources and program is not None and program.pipeline and file.switches.dynamic_expansion:
        yield blocker(step.call, RULE, "expanding-gradients")
