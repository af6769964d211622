"""Verdicts: which tables are converted, and why others are not. All is decided here, before any text changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.other_sdks import of_other_sdk
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.user_choice import keep_tables, quiet
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.final_names import name_tables
from migrate.source.tensorflow.checks.given_up_buckets import give_up_buckets
from migrate.source.tensorflow.checks.judgement import Judgement, concerns
from migrate.source.tensorflow.checks.variable_places import take_places
from migrate.source.tensorflow.checks.whole_terms import settle_terms
from migrate.source.tensorflow.facts.lists.var_lists import Owners
from migrate.source.tensorflow.facts.optimizers.training_model import Training
from migrate.source.tensorflow.facts.training.training_steps import find_training
from migrate.source.tensorflow.facts.variables.column_names import describe
from migrate.source.tensorflow.facts.variables.embedding_columns import are_of_keras, find_columns
from migrate.source.tensorflow.facts.variables.find_tables import find_tables

#: The order in which rules judge, and in which their reasons are reported: a rule sees what the earlier ones added. A
#: rule that is not listed here comes last.
ORDER = (
    "tf-already-converted", "tf-surroundings", "tf-variable-collection", "tf-saver", "tf-get-variable", "tf-table-use",
    "tf-embedding-column", "tf-regularizer", "tf-training-step", "tf-optimizer", "tf-export", "tf-read-by-name",
    "tf-warm-start", "tf-untrained", "tf-target", "tf-evidence", "tf-unbucket",
)  # fmt: skip


def judge(file: File, assume: bool) -> Judgement:
    """Return the verdicts; a table is converted only if it has no blocker."""
    judgement, apart = _found(file)
    if judgement.tables:
        _decide(judgement, assume)
    keep_tables(file, apart)
    quiet(file, (table.blockers for table in apart))
    judgement.tables += apart
    if judgement.tables:
        name_tables(judgement)
        take_places(judgement)
    if judgement.tables and file.unbucket:
        give_up_buckets(judgement)
    return judgement


def _decide(judgement: Judgement, assume: bool) -> None:
    """Ask the rules; `assume` lifts doubts."""
    file = judgement.file
    judgement.file_blockers = list(_file_blockers(judgement))
    keep_tables(file, judgement.tables)
    for rule in check_rules():
        rule.judge(judgement)
    quiet(file, [judgement.file_blockers, *(table.blockers for table in judgement.tables)])
    if assume:
        _lift(judgement)
        _check_moving(judgement)
    else:
        hidden = _hidden(judgement)
        _check_moving(judgement)
        _show(judgement, hidden)


def check_rules() -> list[CheckRule]:
    """Return the rules that judge programs, in their order."""
    places = {rule: place for place, rule in enumerate(ORDER)}
    return sorted(rules(CheckRule), key=lambda rule: places.get(rule.id, len(places)))


def _found(file: File) -> tuple[Judgement, list[Table]]:
    """Return the facts about a program, before any verdict; apart from them, the tables in programs of other SDKs."""
    columns = [table for table in find_columns(file) if not are_of_keras(file, table.creation.call)]
    for table in columns:
        describe(file, table)
    tables, apart = list[Table](), list[Table]()
    for table in (*find_tables(file), *columns):
        kept = of_other_sdk(file, table.creation.call)
        table.blockers[:] = table.blockers if kept is None else [kept]
        (tables if kept is None else apart).append(table)
    found = Judgement(file, tables, find_training(file, Owners(tables)) if tables else Training())
    settle_terms(found)
    return found, apart


def _file_blockers(judgement: Judgement) -> Iterator[Blocker]:
    checks = check_rules()
    for part in judgement.file.files:
        for rule in rules(FileRule):
            yield from rule.blockers(part)
        for check in checks:
            yield from check.of_file(judgement, part)


def _check_moving(judgement: Judgement) -> None:
    for rule in check_rules():
        rule.judge_moving(judgement)


def _hidden(judgement: Judgement) -> list[list[Blocker]]:
    """Return, for each table, the blockers that appear only once `--assume` has lifted the others.

    The doubts are lifted, `judge_moving` is asked, what is new is noted, and the judgement is as before.
    """
    tables = judgement.tables
    before = [judgement.file_blockers[:], *(table.blockers[:] for table in tables)]
    assumed_before = [judgement.assumed[:], *(table.assumed[:] for table in tables)]
    if not any(blocker.assumption for blockers in before for blocker in blockers):
        return [[] for _ in tables]
    _lift(judgement)
    known = {id(blocker) for blockers in before for blocker in blockers}
    _check_moving(judgement)
    new_of_file = [blocker for blocker in judgement.file_blockers if id(blocker) not in known]
    found = [
        [blocker for blocker in table.blockers if id(blocker) not in known]
        + [blocker for blocker in new_of_file if concerns(judgement.file, blocker, table)]
        for table in tables
    ]
    subjects: list[Judgement | Table] = [judgement, *tables]
    for subject, blockers, assumed in zip(subjects, before, assumed_before, strict=True):
        subject.assumed[:] = assumed
        (subject.file_blockers if isinstance(subject, Judgement) else subject.blockers)[:] = blockers
    return found


def _show(judgement: Judgement, hidden: Sequence[Sequence[Blocker]]) -> None:
    """Add further blockers to tables that `--assume` would seem to convert: the user need not decide in vain."""
    for table, blockers in zip(judgement.tables, hidden, strict=True):
        around = [blocker for blocker in judgement.file_blockers if concerns(judgement.file, blocker, table)]
        if (table.blockers or around) and all(blocker.assumption for blocker in (*table.blockers, *around)):
            table.blockers += blockers


def _lift(judgement: Judgement) -> None:
    """Remove the blockers that `--assume` lifts."""
    subjects: list[Judgement | Table] = [judgement, *judgement.tables]
    for subject in subjects:
        blockers = subject.file_blockers if isinstance(subject, Judgement) else subject.blockers
        subject.assumed += [blocker for blocker in blockers if blocker.assumption]
        blockers[:] = [blocker for blocker in blockers if not blocker.assumption]
