"""Verdicts: which tables are converted, and why others are not. All is decided here, before any text changes.

A judgement begins with the facts: tables, each with the blockers of its own code, and training steps. Rules add
blockers to a table, or to all tables of a file; only `--assume` takes some away, those that are doubts. Last come
blockers because of other tables, until no table that moves needs one that stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from migrate.source.settings.options import Assume
from migrate.source.tensorflow.base.model import Blocker, Table, only_doubts, parted
from migrate.source.tensorflow.base.other_sdks import of_other_sdk
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.user_choice import keep_tables, quiet
from migrate.source.tensorflow.checks.final_names import name_tables, take_places
from migrate.source.tensorflow.checks.given_up_buckets import give_up_buckets
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement, concerns, spread
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


def judge(file: File, assume: Assume) -> Judgement:
    """Return the verdicts; a table is converted only if it has no blocker."""
    judgement, apart = _found(file)
    if judgement.tables:
        judgement = _decide(judgement, assume)
    keep_tables(file, apart)
    quiet(file, (table.blockers for table in apart))
    judgement.tables += apart
    if judgement.tables:
        name_tables(judgement)
        take_places(judgement)
    if judgement.tables and file.unbucket:
        give_up_buckets(judgement)
    return judgement


def _decide(judgement: Judgement, assume: Assume) -> Judgement:
    """Return the judgement of the rules; with `assume`, that in which these doubts are lifted.

    A table with doubts alone, which `--assume` would seem to convert, also gets the blockers that it would have then:
    the user need not decide in vain.
    """
    file = judgement.file
    judgement.file_blockers = list(_file_blockers(judgement))
    keep_tables(file, judgement.tables)
    for rule in check_rules():
        rule.judge(judgement)
    every = [judgement.file_blockers, *(table.blockers for table in judgement.tables)]
    quiet(file, every)
    doubts = any(blocker.assumption for blockers in every for blocker in blockers)
    lifted = _lifted(judgement, True) if doubts else judgement
    judgement = _lifted(judgement, assume) if isinstance(assume, tuple) and doubts else judgement
    _check_moving(lifted)
    if assume is True or not doubts:
        return lifted
    _check_moving(judgement)
    for table, supposed in zip(judgement.tables, lifted.tables, strict=True):
        around = [blocker for blocker in judgement.file_blockers if concerns(file, blocker, table)]
        if (table.blockers or around) and only_doubts([*table.blockers, *around]):
            table.blockers += supposed.blockers
            table.blockers += [blocker for blocker in lifted.file_blockers if concerns(file, blocker, table)]
    return judgement


def _lifted(judgement: Judgement, assume: Assume) -> Judgement:
    """Return a judgement without the blockers that `--assume` lifts, over copies of the tables.

    Where it names tables, doubts about a whole file stay doubts about each of its other tables.
    """
    left, doubts = parted(judgement.file_blockers, assume)
    names = [(table.known_as, table.label) for table in judgement.tables]
    apart = isinstance(assume, tuple) and any(not {*assume}.isdisjoint(known) for known in names)
    shared = [one for one in left if one.assumption] if apart else []
    tables = []
    for table, known in zip(judgement.tables, names, strict=True):
        around = [one for one in shared if concerns(judgement.file, one, table)]
        stay, lifted = parted([*table.blockers, *around], assume, *known)
        tables.append(replace(table, blockers=stay, assumed=[*table.assumed, *lifted]))
    return replace(judgement, tables=tables, file_blockers=[b for b in left if b not in shared], assumed=doubts)


def check_rules() -> list[CheckRule]:
    """Return the rules that judge programs, in their order."""
    positions = {rule: position for position, rule in enumerate(ORDER)}
    return sorted(rules(CheckRule), key=lambda rule: positions.get(rule.id, len(positions)))


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
    judgement = Judgement(file, tables, find_training(file, Owners(tables)) if tables else Training())
    settle_terms(judgement)
    return judgement, apart


def _file_blockers(judgement: Judgement) -> Iterator[Blocker]:
    checks = check_rules()
    for part in judgement.file.files:
        for rule in rules(FileRule):
            yield from rule.blockers(part)
        for check in checks:
            yield from check.of_file(judgement, part)


def _check_moving(judgement: Judgement) -> None:
    """Block tables because of others that stay, or move: what each rule adds spreads before the next one is asked."""
    asked = check_rules()
    needs = [[*rule.needs(judgement)] for rule in asked]
    for rule in (one for one in asked if type(one).judge_moving is not CheckRule.judge_moving):
        rule.judge_moving(judgement)
        spread(judgement, needs)
