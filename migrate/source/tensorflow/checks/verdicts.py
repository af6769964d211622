"""Verdicts: which tables may move, which may not and why. Everything is decided here, before any text changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import libcst as cst

from migrate.source.files.path_lookup import is_file
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.user_choice import keep_tables, quiet
from migrate.source.tensorflow.checks.column_categories import check_shared_categories
from migrate.source.tensorflow.checks.dense_gradients import check_idle_rows
from migrate.source.tensorflow.checks.exports import check_exports
from migrate.source.tensorflow.checks.judgement import Judgement, concerns
from migrate.source.tensorflow.checks.name_clashes import check_computed_names
from migrate.source.tensorflow.checks.partial_conversion import REMEDY
from migrate.source.tensorflow.checks.reads_by_name import check_named_reads
from migrate.source.tensorflow.checks.regularizers import check_regularizers
from migrate.source.tensorflow.checks.savers import early_savers, savers
from migrate.source.tensorflow.checks.shared_state import check_shared_names, check_shared_reads
from migrate.source.tensorflow.checks.target_capabilities import check_step, check_target
from migrate.source.tensorflow.checks.unanalysed_code import unread
from migrate.source.tensorflow.checks.untrained import untrained
from migrate.source.tensorflow.checks.variable_list_uses import all_variables
from migrate.source.tensorflow.checks.variable_lists import check_prints, refined, trainables
from migrate.source.tensorflow.checks.variable_names import check_scoped_names, check_unknown_names
from migrate.source.tensorflow.checks.warm_starts import check_warm_starts
from migrate.source.tensorflow.facts.calls.execution_count import exclusive
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.optimizers.external_libraries import library_calls
from migrate.source.tensorflow.facts.optimizers.one_per_graph import made_once_a_graph
from migrate.source.tensorflow.facts.optimizers.training_model import Step, Training, owner
from migrate.source.tensorflow.facts.references.variable_list_references import handed_on
from migrate.source.tensorflow.facts.training.dense_half import is_doubtful, reachable
from migrate.source.tensorflow.facts.training.training_steps import find_training
from migrate.source.tensorflow.facts.training.var_lists import Owners
from migrate.source.tensorflow.facts.variables.embedding_columns import find_columns
from migrate.source.tensorflow.facts.variables.find_tables import find_tables
from migrate.targets import MAKERS

#: What converted files import from the runtime.
OURS = (
    "create_table", "get_dense_and_sparse_variable", "looked_up_rows", "sparse_lookup", "partitioned_lookup",
    "adadelta", "adagrad", "adam", "ftrl", "gradient_descent", "momentum", "rmsprop",
    "embedding_lookup_sparse", "safe_embedding_lookup_sparse", "scoped_name", "scoped_initializer", "unique_name",
)  # fmt: skip
PARTED = "this file was converted, and others of its program were not: the conversion is not whole"


def judge(file: File, assume: bool) -> Judgement:
    """Return the verdicts; a table moves only if nothing at all stops it."""
    tables = [*find_tables(file), *find_columns(file)]
    mentioned = Owners(tables)
    training = find_training(file, mentioned)
    judgement = Judgement(file, tables, training)
    if not tables:
        return judgement
    judgement.file_blockers = [
        *_file_blockers(file, training, tables, mentioned),
        *(refined(file, s) for s in training.blockers),
    ]
    keep_tables(file, tables)
    check_regularizers(file, tables, training)
    check_idle_rows(file, tables, training)
    check_exports(file, tables)
    check_prints(file, tables)
    check_named_reads(file, tables)
    check_warm_starts(file, tables)
    check_target(judgement)
    groups = [judgement.file_blockers, *(table.blockers for table in tables)]
    quiet(file, groups)
    if assume:
        _lift(judgement)
        _check_moving(judgement)
    else:
        hidden = _hidden(judgement)
        _check_moving(judgement)
        _show(judgement, hidden)
    _name(file, judgement)
    return judgement


def _check_moving(judgement: Judgement) -> None:
    """Stop what cannot move beside the others that move, or stay."""
    check_scoped_names(judgement)
    check_computed_names(judgement)
    check_unknown_names(judgement)
    check_shared_names(judgement)
    check_shared_reads(judgement)
    check_shared_categories(judgement)
    if judgement.moving:
        file = judgement.file
        judgement.file_blockers += [*_check_shared(file, judgement), *_check_dense(file, judgement)]


def _hidden(judgement: Judgement) -> list[list[Blocker]]:
    """Return, for each table, what would keep it once all doubts were lifted, and is not asked before."""
    tables = judgement.tables
    before = [judgement.file_blockers[:], *(table.blockers[:] for table in tables)]
    if not any(blocker.assumption for blockers in before for blocker in blockers):
        return [[] for _ in tables]
    _lift(judgement)
    known = {id(blocker) for blockers in before for blocker in blockers}
    _check_moving(judgement)
    late = [blocker for blocker in judgement.file_blockers if id(blocker) not in known]
    found = [
        [blocker for blocker in table.blockers if id(blocker) not in known]
        + [blocker for blocker in late if concerns(judgement.file, blocker, table)]
        for table in tables
    ]
    subjects: list[Judgement | Table] = [judgement, *tables]
    for subject, blockers in zip(subjects, before, strict=True):
        subject.assumed.clear()
        (subject.file_blockers if isinstance(subject, Judgement) else subject.blockers)[:] = blockers
    return found


def _show(judgement: Judgement, hidden: Sequence[Sequence[Blocker]]) -> None:
    """Say of tables that doubts alone keep what else keeps them: nobody is asked for a decision in vain."""
    for table, blockers in zip(judgement.tables, hidden, strict=True):
        around = [blocker for blocker in judgement.file_blockers if concerns(judgement.file, blocker, table)]
        if (table.blockers or around) and all(blocker.assumption for blocker in (*table.blockers, *around)):
            table.blockers += blockers


def _lift(judgement: Judgement) -> None:
    """Drop the doubts that the user answers for."""
    subjects: list[Judgement | Table] = [judgement, *judgement.tables]
    for subject in subjects:
        blockers = subject.file_blockers if isinstance(subject, Judgement) else subject.blockers
        subject.assumed += [blocker for blocker in blockers if blocker.assumption]
        blockers[:] = [blocker for blocker in blockers if not blocker.assumption]


def _file_blockers(
    file: File, training: Training, tables: Sequence[Table], mentioned: Collection[int]
) -> Iterator[Blocker]:
    for part in file.files:
        for rule in rules(FileRule):
            yield from rule.blockers(part)
        yield from _other_runtime(part)
        yield from _converted(part)
        yield from unread(part, tables)
        yield from _kept(part, training)
        trained = [*(step.call for step in training.steps), *(blocker.node for blocker in training.blockers)]
        if not any(file.tree.related(node, part.tree.module) for node in trained):
            yield from untrained(part)
        else:
            yield from library_calls(part, tables)
    yield from trainables(file, training)
    yield from all_variables(file)
    yield from handed_on(file)
    yield from savers(file, mentioned)
    yield from early_savers(file, training.steps)


def _kept(file: File, training: Training) -> Iterator[Blocker]:
    """A training step of a file that a comment keeps as it is would no longer train the tables."""
    comment = file.comments.whole_file
    for step in training.steps if comment is not None else ():
        if file.tree.module_of(step.call) is file.tree.module:
            reason = "a comment keeps the file in which these tables are trained"
            yield Blocker(
                step.call,
                "tf-training-step",
                "this training step stays as it is",
                reason,
                "take the comment away, or keep the tables too",
            )


def _converted(file: File) -> Iterator[Blocker]:
    if not file.tree.names.keys() & set(MAKERS):
        return
    made = next((name for c in file.tree.calls if (name := file.tree.source(c.func).split(".")[-1]) in MAKERS), None)
    if made is not None:
        reason = "its tables were made by hand or by an earlier conversion"
        shown = "create_table" if made == "sparse_lookup" else made
        yield Blocker(
            file.tree.module,
            "tf-already-converted",
            f"this file already calls `{shown}`",
            reason,
            "convert the original file anew, or move the rest by hand",
        )


def _other_runtime(file: File) -> Iterator[Blocker]:
    """A module of the user with the name of this runtime: one of the two would hide the other."""
    if file.target.name != "runtime":
        return
    for statement in file.tree.imports:
        text = " ".join(file.tree.source(statement).split())
        if re.match(rf"from runtime(\.\w+)* import .*\b({'|'.join(OURS)})\b", text):
            if "create_table" not in text:
                yield Blocker(
                    statement, "tf-already-converted", f"`{text}` is of an earlier conversion", PARTED, REMEDY
                )
        elif re.match(r"(from|import) runtime\b", text) and "create_table" not in text:
            reason = "the converted file imports the installed package `runtime`, and Python knows one module of a name"
            yield Blocker(statement, "tf-surroundings", f"`{text}` is another module", reason, "rename that module")
    beside = Path(file.tree.path).with_name("runtime.py")
    if is_file(beside):
        reason = "beside the converted file it would hide the installed package `runtime`"
        yield Blocker(
            file.tree.module, "tf-surroundings", f"`{beside.as_posix()}` is there", reason, "rename that module"
        )


def _check_shared(file: File, judgement: Judgement) -> Iterator[Blocker]:
    """Two functions or classes that can train one table must not do it by optimizers with states of their own."""
    homes = list({id(h): h for h in (owner(file, table.creation.call) for table in judgement.moving)}.values())
    steps = judgement.training.steps
    for i, first in enumerate(steps):
        for second in steps[i + 1 :]:
            if (
                first.shares(second)
                and _separate_states(file, first, second)
                and any(_trains(file, first, home) and _trains(file, second, home) for home in homes)
            ):
                reason = "each optimizer keeps state of its own, but a table has one state"
                yield Blocker(
                    second.call,
                    "tf-training-step",
                    "two optimizers train the same variables",
                    reason,
                    "train the tables by one of them: give the other its variables by `var_list`",
                )


def _check_dense(file: File, judgement: Judgement) -> Iterator[Blocker]:
    """A step either has a dense half or has none; which it is must be known."""
    calls = {id(table.creation.call) for table in judgement.moving}
    for step in judgement.steps:
        if step.listed is None and is_doubtful(file, step.call, calls):
            reason = "its class makes no variable but tables, and the file makes others elsewhere"
            text = "whether this step trains anything besides tables is not clear"
            yield Blocker(step.call, "tf-training-step", text, reason, "convert one model per file")
        yield from check_step(file, step, partial(judgement.trains_dense, step))
    yield from _check_halves(judgement)


def _check_halves(judgement: Judgement) -> Iterator[Blocker]:
    """Stop where the two optimizers that one becomes would not count the same steps.

    Adam counts every step that it takes, for all variables: a half that a step does not have would miss it.
    """
    steps = [step for step in judgement.training.steps if any(m.stock.counts for m in step.optimizer.makers)]
    moving = [step for step in steps if any(step is one for one in judgement.steps)]
    for step in moving:
        made = {id(maker.call) for maker in step.optimizer.makers}
        for other in steps:
            if other is step or not made & {id(maker.call) for maker in other.optimizer.makers}:
                continue
            tables = any(other is one for one in moving)
            if not tables or judgement.trains_dense(step) is not judgement.trains_dense(other):
                text = " ".join(judgement.file.tree.source(other.call).split())
                what = "tables alone" if tables else "dense variables alone"
                reason = "the optimizer counts all its steps for all its variables, and the other half would miss these"
                action = "give this step an optimizer of its own"
                yield Blocker(other.call, "tf-training-step", f"`{text}` trains {what}", reason, action)
                return


def _separate_states(file: File, first: Step, second: Step) -> bool:
    """True for steps of two functions or classes whose optimizers differ and have state."""
    makers = [m for step in (first, second) for m in step.optimizer.makers]
    same = {id(m.call) for m in first.optimizer.makers} == {id(m.call) for m in second.optimizer.makers}
    if same or not any(m.stock.stateful for m in makers) or exclusive(file, first.call, second.call):
        return False
    apart = owner(file, first.call) is not owner(file, second.call)
    apart = apart and not made_once_a_graph(file, first.call, second.call)
    return apart and file.tree.related(first.call, second.call)


def _trains(file: File, step: Step, table_home: cst.CSTNode) -> bool:
    home = owner(file, step.call)
    return reaches(file, home, table_home) or reaches(file, table_home, home)


def reaches(file: File, start: cst.CSTNode, goal: cst.CSTNode) -> bool:
    """True when the code of `start` mentions `goal`, directly or through other definitions of the file."""
    return any(place is goal for place in reachable(file, start))


def _late_name(table: Table) -> str:
    """Return what a table is called of which the whole name is known when the program runs."""
    return table.creation.name or re.findall(r"\w+", table.label)[-1]


def _name(file: File, judgement: Judgement) -> None:
    """Give each moving table its final name: the old one with its scopes, unique in the file."""
    moving = {id(table.creation.call) for table in judgement.moving}
    # TensorFlow numbers names that differ only in case, so `W_1` may be its own name for a second `w`.
    others = [
        (call, found.lower())
        for call, _ in file.calls("get_variable", "Variable")
        if id(call) not in moving
        for arg in call.args
        if (found := string(arg.value))
    ]
    given: dict[str, str] = {}
    names: set[str] = set()
    numbered = [_late_name(table) for table in judgement.moving if table.creation.numbered]
    for table in judgement.moving:
        if table.creation.scoped or table.creation.numbered:
            table.final_name = _late_name(table)
            continue
        taken = {name for call, name in others if file.tree.related(call, table.creation.call)}
        scopes = prefix(file, table.creation.call) or ()
        label = re.findall(r"\w+", table.label.removeprefix("self."))
        full = "_".join([*scopes, table.creation.name or (label[-1] if label else "table")])
        wanted = re.sub(r"[^0-9A-Za-z_.]", "_", full)[:90]
        shared = "/".join([*scopes, table.creation.name or ""])
        if not table.creation.unique and shared in given:
            table.final_name = given[shared]
            continue
        table.wanted_name = wanted.lower()
        counted = any(re.fullmatch(rf"{re.escape(one)}(_\d+)?", wanted, re.IGNORECASE) for one in numbered)
        wanted = f"{wanted}_table" if counted or wanted.lower() in taken else wanted
        name, number = wanted, 1
        while name.lower() in {*taken, *names}:
            name, number = f"{wanted}_{number}", number + 1
        names.add(name.lower())
        table.final_name = name
        if table.creation.unique and table.creation.named_by is not None:
            table.creation.notes.append("its `name` is computed, and the table has that of the code")
        if not table.creation.unique:
            given[shared] = name
    bearers = Counter(table.wanted_name for table in judgement.moving)
    for table in judgement.moving:
        late = table.creation.emitted or table.creation.scoped or table.creation.numbered
        table.identity = "run time" if late else "order" if bearers[table.wanted_name] > 1 else "name"
