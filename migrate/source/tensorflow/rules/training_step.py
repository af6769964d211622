"""`optimizer.minimize(loss)` -> one `compute_gradients` over all variables, applied by two optimizers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.common_refusals import RUN_IT, or_in_others
from migrate.source.tensorflow.base.model import Blocker, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import sources
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import CREATED, HEAD, TABLE, split_step
from migrate.source.tensorflow.facts.optimizers.external_libraries import LIBRARIES, library_calls
from migrate.source.tensorflow.facts.optimizers.training_model import RULE, Step, owner
from migrate.source.tensorflow.facts.references.whole_terms import EXACTLY
from migrate.source.tensorflow.facts.training.dense_half import reaches
from migrate.source.tensorflow.facts.training.training_checks import separate_states, two_optimizers
from migrate.source.tensorflow.facts.variables.creations import is_partitioned
from migrate.source.tensorflow.rules.optimizer import untrainable

#: Functions that run a model: a program with one of these and no step uses a model that is trained elsewhere.
RUNS = {
    "Session", "InteractiveSession", "train.MonitoredTrainingSession", "train.MonitoredSession", "estimator.Estimator",
}  # fmt: skip
ELSEWHERE = "after the conversion, the code that trains this model must also train its tables"
SPLIT = "convert with --assume and train the tables by a table optimizer where the model is trained"
TRAINED = "the tables are trained where the model is trained"

BEFORE = HEAD + TABLE + 'b = tf.get_variable("b", [4])\nloss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids) + b)\n'
AFTER = (
    HEAD + "from runtime import create_table, get_dense_and_sparse_variable, sparse_lookup\n"
    "from runtime.optimizers import adagrad\n" + CREATED + ""
    'b = tf.get_variable("b", [4])\nloss = tf.reduce_sum(sparse_lookup(W, ids) + b)\n'
)


@register
class TrainingStep(CheckRule):
    """A step that trains every variable is split where a table was converted, and otherwise left unchanged.

    One backward pass computes the gradients of dense variables and tables. The stock optimizer updates the dense
    variables, and the equivalent table optimizer updates the tables. A step with a `var_list` trains the tables that
    the list names, and no others. Where a step cannot be split, all tables of its model are left unchanged.
    """

    id = RULE
    title = "A training step becomes two: one for variables, one for tables"
    refusals = (
        Refusal(
            "kept-by-comment",
            "this training step is left unchanged",
            "a comment excludes the file in which these tables are trained from the conversion",
            "remove the comment, or exclude the tables too",
        ),
        Refusal(
            "untrained",
            "no optimizer in this file{others} trains its tables",
            ELSEWHERE,
            f"convert the whole directory if the model is trained in another file; or {SPLIT}",
            TRAINED,
        ),
        Refusal(
            "handed-to-others",
            "no optimizer in this file trains its tables, but `{text}` may, and its code is not analysed",
            ELSEWHERE,
            SPLIT,
            TRAINED,
        ),
        Refusal(
            "two-optimizers",
            "two optimizers train the same variables",
            "each optimizer keeps its own state, but a table has the state of one optimizer",
            "train the tables by one of them: pass the other one its variables as `var_list`",
        ),
        Refusal(
            "two-ordered",
            "two optimizers train the same variables",
            "with FTRL, or with a term over all rows, the result of the two steps depends on their order, "
            "which the program does not fix",
            "train the tables by one of them: pass the other one its variables as `var_list`",
        ),
        Refusal(
            "too-many",
            "many optimizers train the same variables",
            "each keeps its own slots, and a table has room for four optimizers with {slots} slots in all",
            "train the tables by fewer of them: pass the others their variables as `var_list`",
        ),
        Refusal(
            "two-alike",
            "two optimizers of one kind train the same variables",
            "each optimizer keeps its own state, but a table has the state of one optimizer: both would update it",
            "train the tables by one of them: pass the other one its variables as `var_list`; or convert with --assume",
            "the optimizers may share the state of each row, and the model is trained differently than before",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "other-half",
            "`{text}` may train {what} alone",
            (
                "an optimizer counts its steps for all its variables; once it becomes two, one of them would "
                "not count these steps"
            ),
            "use a separate optimizer for this step",
        ),
        Refusal(
            "unapplied-gradients",
            "`{text}` computes gradients",
            "how these gradients are applied is not known",
            "apply them by `apply_gradients`, or list the variables of which the gradients are computed",
        ),
        Refusal(
            "list-used",
            "`{shown}` is used in `{text}`",
            "after the conversion this use would get other variables: with the tables, or without them",
            "list the intended variables by name",
        ),
        Refusal(
            "other-use",
            "the optimizer `{text}` is used in an unsupported way",
            "no call of its methods was found, so how it trains the tables is not known",
            "call its `minimize` where it is created, or leave the variables unchanged",
        ),
        Refusal(
            "made-again",
            "`{text}` may run several times",
            "each run creates an optimizer with slots of its own, and a table has room for those of four; in "
            "other SDKs, of one",
            "create the optimizer once, outside the loop or function that runs again",
        ),
        Refusal(
            "trains-by-itself",
            "`{text}` trains the model in a single call, which cannot be split",
            "a table would not be trained as the variable was",
            "train by `minimize`, or by `compute_gradients` and `apply_gradients`",
        ),
        Refusal(
            "unread-arguments",
            "`{text}` has arguments that cannot be read",
            "a table would not be trained as the variable was",
            "write its arguments out, without stars",
        ),
        Refusal(
            "unordered-gradients",
            "`{text}` applies gradients whose order is not known",
            "between the gradients and this call, pairs may be dropped or reordered",
            "apply the pairs of `compute_gradients` in their order",
        ),
        Refusal(
            "parts-clipped",
            "`{text}` clips each gradient by its own norm",
            "`{label}` is partitioned: the gradient of each part is clipped by itself, and a table has one gradient",
            "make the variable without a partitioner, or clip by `tf.clip_by_global_norm`",
        ),
        Refusal(
            "list-with-effects",
            "`{shown}` trains a list of variables",
            (
                "`{text}` does more than return the list, and the two converted steps would call it once more "
                "or not at all"
            ),
            "bind the list to a name, or remove `var_list`",
        ),
        Refusal(
            "inside-expression",
            "`{shown}` is part of a larger expression, or has no line of its own",
            "only a statement of its own can become two steps, one for variables and one for tables",
            "write it on a line of its own",
        ),
        Refusal(
            "other-function",
            "`{text}` applies gradients that another function computes",
            "a step can become two only where one function computes and applies the gradients",
            "compute and apply the gradients in one function",
        ),
        Refusal(
            "unknown-list",
            "`{shown}` trains a list of variables",
            "the value of `{text}` in its `var_list` cannot be traced, so which tables it trains is not known",
            f"list the variables by name, remove `var_list`, {RUN_IT}",
        ),
        Refusal(
            "chosen-variables",
            "`{shown}` trains a list of variables",
            "its variables are chosen by `{test}` at run time, and a table is not a variable of that list",
            f"list the variables by name, {RUN_IT}",
        ),
        Refusal(
            "made-elsewhere",
            "`{shown}` reaches its training step through other code",
            "what that code creates in between is not known: the step may train other variables than those of its list",
            f"list variables and compute gradients where the step is created, {RUN_IT}",
        ),
        Refusal(
            "made-after-list",
            "`{shown}` lists the trained variables before all of them are created",
            "`{text}` may make variables after that, which are not in the list",
            f"list the variables where the step is created, {RUN_IT}",
        ),
    )
    examples = (
        Example(
            "minimize",
            BEFORE + "op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n",
            AFTER
            + split_step(
                "loss",
                "tf.train.AdagradOptimizer(0.1)",
                "adagrad.create_hash_optimizer(learning_rate=0.1, initial_accumulator_value=0.1)",
            ),
        ),
        Example(
            "a `var_list`",
            BEFORE + "op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[W, b])\n",
            AFTER.replace("import adagrad", "import gradient_descent")
            + split_step(
                "loss",
                "tf.train.GradientDescentOptimizer(0.1)",
                "gradient_descent.create_hash_optimizer(learning_rate=0.1)",
                "[W, b]",
            ),
        ),
        Example(
            "a `var_list` that is not completely known",
            BEFORE + "op = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[W] + more())\n",
            says="which tables it trains is not known",
        ),
        Example(
            "gradients that are sorted",
            BEFORE + "o = tf.train.AdagradOptimizer(0.1)\n"
            "op = o.apply_gradients(sorted(o.compute_gradients(loss), key=name))\n",
            says="order is not known",
        ),
        Example(
            "two optimizers, one of them FTRL",
            BEFORE
            + "a = tf.train.AdagradOptimizer(0.1).minimize(loss)\nb = tf.train.FtrlOptimizer(0.2).minimize(loss)\n",
            says="depends on their order",
        ),
        Example(
            "no table is converted",
            BEFORE + "loss += tf.reduce_max(W)\nop = tf.train.AdagradOptimizer(0.1).minimize(loss)\n",
        ),
    )

    def of_file(self, judgement: Judgement, file: File) -> Iterator[Blocker]:
        training = judgement.training
        for step in training.steps if file.comments.whole_file is not None else ():
            if file.tree.module_of(step.call) is file.tree.module:
                yield blocker(step.call, self.id, "kept-by-comment")
        trained = [*(step.call for step in training.steps), *(one.node for one in training.blockers)]
        if any(judgement.file.tree.related(node, file.tree.module) for node in trained):
            yield from library_calls(file, judgement.tables)
        else:
            yield from self._untrained(file)

    def judge(self, judgement: Judgement) -> None:
        judgement.file_blockers += judgement.training.blockers
        for table in judgement.tables:
            table.blockers += _clipped_by_part(judgement, table)

    def judge_moving(self, judgement: Judgement) -> None:
        if judgement.moving:
            judgement.file_blockers += [*states(judgement), *_dense(judgement), *halves(judgement)]

    def _untrained(self, file: File) -> Iterator[Blocker]:
        """Yield a blocker for a file without a training step, unless the whole program is given and trains nothing."""
        program, module = file.program(file.tree.module), file.tree.module
        handed = next((call for one in program for call in one.tree.calls if _is_handed(one, call)), None)
        runs = any(name in RUNS for one in program for _, name in one.names.calls)
        defines = any(isinstance(line, (cst.FunctionDef, cst.ClassDef)) for line in module.body)
        if (handed is None and (runs or not defines)) or not module.body:
            return
        if handed is not None and runs:
            text = file.tree.excerpt(handed)
            yield blocker(module, self.id, "handed-to-others", text=text)
        else:
            yield blocker(module, self.id, "untrained", others=or_in_others(program))


def _is_handed(file: File, call: cst.Call) -> bool:
    """True for a call that passes a value to code outside of the program: it may be the loss."""
    if not call.args or file.names.of(call.func) is not None or file.tree.is_inside(call.func):
        return False
    if isinstance(call.func, cst.Name) and any(
        isinstance(file.tree.parent(s), cst.Param) for s in sources(file, call.func)
    ):
        return True
    imported, _ = file.tree.imported_names(call.func)
    return any(module.split(".")[0] not in LIBRARIES for module in imported)


def _clipped_by_part(judgement: Judgement, table: Table) -> Iterator[Blocker]:
    """Block a partitioned variable whose parts each have a gradient that is clipped by its own norm."""
    file = judgement.file
    if not is_partitioned(file, table.creation):
        return
    for call in judgement.training.norms:
        if file.tree.related(call, table.creation.call):
            text = file.tree.excerpt(call)
            yield blocker(call, RULE, "parts-clipped", text=text, label=table.label)


def _dense(judgement: Judgement) -> Iterator[Blocker]:
    """Block a step where the target lacks one of its halves."""
    for step in judgement.steps:
        yield from untrainable(judgement.file, step, partial(judgement.trains_dense, step))


def states(judgement: Judgement) -> Iterator[Blocker]:
    """Block a table that two functions or classes can train, each by an optimizer with its own slots.

    Where each has slots of its own in the table, a term over all rows blocks: `settle_terms` refuses those of two steps
    of one function alone.
    """
    terms = [table for table in judgement.moving if any(EXACTLY in one.message for one in table.adaptations)]
    file, steps = judgement.file, judgement.training.steps
    homes = list({id(h): h for h in (owner(file, table.creation.call) for table in judgement.moving)}.values())
    for i, first in enumerate(steps):
        for second in steps[i + 1 :]:
            if (
                owner(file, first.call) is not owner(file, second.call)
                and file.tree.related(first.call, second.call)
                and separate_states(file, first, second)
                and any(_trains(file, first, home) and _trains(file, second, home) for home in homes)
            ):
                blockers = two_optimizers(file, first, second, steps)
                yield from blockers or ([blocker(second.call, RULE, "two-ordered")] if terms else [])


def halves(judgement: Judgement) -> Iterator[Blocker]:
    """Block where the two halves of an optimizer would count different numbers of steps.

    Adam counts each of its steps for all variables: a step without a dense or sparse half would not count in it. What
    a loss reaches is known at run time, so two steps of one such optimizer keep the tables, unless both list variables.
    """
    steps = [step for step in judgement.training.steps if any(m.stock.counts for m in step.optimizer.makers)]
    moving = [step for step in steps if any(step is one for one in judgement.steps)]
    for step in moving:
        makers = {id(maker.call) for maker in step.optimizer.makers}
        for other in steps:
            if other is step or not makers & {id(maker.call) for maker in other.optimizer.makers}:
                continue
            tables = any(other is one for one in moving)
            listed = tables and step.listed is not None and other.listed is not None
            if not listed or judgement.trains_dense(step) is not judgement.trains_dense(other):
                text = judgement.file.tree.one_line(other.call)
                what = "one half of its variables" if tables else "dense variables"
                yield blocker(other.call, RULE, "other-half", text=text, what=what)
                return


def _trains(file: File, step: Step, table_home: cst.CSTNode) -> bool:
    home = owner(file, step.call)
    return reaches(file, home, table_home) or reaches(file, table_home, home)
