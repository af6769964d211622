"""Findings and table records of one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import libcst as cst

from migrate.report.model import Applicability, Finding, FlowStep, State, TableRecord, with_ids
from migrate.source.tensorflow.base.arguments import without
from migrate.source.tensorflow.base.findings import finding, in_one_line, of_blocker, of_line, of_use
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Table, only_doubts, refused_state
from migrate.source.tensorflow.base.other_sdks import is_apart, of_other_sdk
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.checks.judgement import Judgement, concerns
from migrate.source.tensorflow.checks.unresolved_lookups import left_alone, namesakes
from migrate.source.tensorflow.edits.planner import Plan
from migrate.source.tensorflow.facts.calls.callers import call_sites
from migrate.source.tensorflow.facts.ids.bounds import bounds_of, growth
from migrate.source.tensorflow.facts.optimizers.optimizers import OptimizerCall
from migrate.source.tensorflow.facts.optimizers.training_model import RULE as STEP
from migrate.source.tensorflow.facts.optimizers.training_model import owner
from migrate.source.tensorflow.facts.references.ways import steps_to
from migrate.source.tensorflow.facts.training.dense_half import reaches
from migrate.source.tensorflow.facts.variables.creations import OTHER_ORDER

#: More statements than this that block tables of other files for the same reason are one finding.
MANY = 3


def report(file: File, judgement: Judgement, plan: Plan) -> tuple[tuple[Finding, ...], tuple[TableRecord, ...]]:
    """Return everything that was found and done, in source order."""
    reporter = _Reporter(file, judgement, plan)
    findings = sorted(reporter.findings(), key=lambda f: (f.location.line, f.rule))
    return with_ids(findings), tuple(reporter.records())


class _Reporter:
    def __init__(self, file: File, judgement: Judgement, plan: Plan) -> None:
        self.file = file
        self.tree = file.tree
        self.judgement = judgement
        self.plan = plan
        self.moving = {id(table) for table in judgement.moving}
        self.pointed: set[int] = set()  # calls of functions that look rows up

    def _makers(self, table: Table) -> list[OptimizerCall]:
        """Return the optimizers that train a table: those of its model, or all where the model is not known."""
        home = owner(self.file, table.creation.call)
        steps = [step for step in self.judgement.training.steps if step.trains(table)]
        own = [step for step in steps if self._related(home, owner(self.file, step.call))] or steps
        return [maker for step in own for maker in step.optimizer.makers]

    def _related(self, first: cst.CSTNode, second: cst.CSTNode) -> bool:
        return reaches(self.file, first, second) or reaches(self.file, second, first)

    def _assumed(self, table: Table) -> list[Blocker]:
        """Return the blockers of a table that `--assume` lifted."""
        return [*self.judgement.assumed, *table.assumed]

    def _applicability(self, table: Table) -> Applicability:
        """Return how closely a converted table follows the variable: the weakest of its assumptions."""
        applicabilities = {blocker.applicability for blocker in self._assumed(table)}
        order = (Applicability.CHANGES_VALUES, Applicability.ASSUMPTION)
        return next((one for one in order if one in applicabilities), Applicability.EXACT)

    def findings(self) -> Iterator[Finding]:
        """Yield the findings of all tables, of the training steps, and of the file."""
        free = [table for table in self.judgement.tables if only_doubts(table.blockers)]
        blockers = [s for s in self.judgement.file_blockers if any(concerns(self.file, s, table) for table in free)]
        judged = {(id(one.node), one.rule) for one in [*blockers, *self.judgement.assumed]}
        for part in self.file.files:
            for rule in rules(FileRule):
                for remark in rule.remarks(part):
                    if remark.state is not State.NOTED or (id(remark.node), remark.rule) not in judged:
                        yield self._remark(remark)
        for table in self.judgement.tables:
            yield from self._converted(table) if id(table) in self.moving else self._refused(table)
            if id(table) not in self.moving:
                yield from self._kept_lookups(table)
        yield from self._blockers_of_files(blockers, {self.tree.location(table.creation.call).path for table in free})
        if self.moving:
            yield from self._followed()
            yield from self._steps()
        yield from self._pointers()
        foreign = {part.tree.path for part in self.file.files if of_other_sdk(self.file, part.tree.module)}
        apart = (*left_alone(self.file, self.judgement.tables), *namesakes(self.file, self.pointed))
        yield from (found for found in apart if found.location.path not in foreign)

    def _blockers_of_files(self, blockers: list[Blocker], homes: set[str]) -> Iterator[Finding]:
        """Yield the blockers of whole files; of many alike in files without a table, the first."""
        alike: dict[tuple[str, str], list[Blocker]] = {}
        for blocker in blockers:
            if self.tree.location(blocker.node).path in homes:
                yield of_blocker(self.file, blocker)
            else:
                alike.setdefault((blocker.rule, blocker.reason), []).append(blocker)
        for group in alike.values():
            group.sort(key=self._place)
            if len(group) <= MANY:
                yield from (of_blocker(self.file, blocker) for blocker in group)
            else:
                first = of_blocker(self.file, group[0])
                path, line = self._place(group[1])
                more = f"the same holds for {len(group) - 1} more statements, the next at {path}:{line}"
                yield replace(first, reason="; ".join(filter(None, [first.reason, more])))

    def _place(self, blocker: Blocker) -> tuple[str, int]:
        location = self.tree.location(blocker.node)
        return location.path, location.line

    def _remark(self, remark: Remark) -> Finding:
        texts = (remark.message, remark.reason, remark.action)
        return finding(self.file, remark.node, remark.rule, "use", remark.state, *texts)

    def _steps_to(self, table: Table, node: cst.CSTNode) -> tuple[FlowStep, ...]:
        return steps_to(self.file, table.creation.call, table.label, node, table.holders)

    def _refused(self, table: Table) -> Iterator[Finding]:
        name = table.known_as
        seen: set[tuple[int, str]] = set()
        for blocker in table.blockers if not is_apart(table.blockers) else ():
            if (key := (id(blocker.node), blocker.reason)) not in seen:
                seen.add(key)
                yield of_blocker(self.file, blocker, table=name, steps=self._steps_to(table, blocker.node))

    def _kept_lookups(self, table: Table) -> Iterator[Finding]:
        """Yield a finding for every lookup in a table that was not converted, so that each lookup is reported.

        Each has the id of the rule that blocks the table, so that `--ignore` of the rule also hides its lookups.
        """
        blockers = table.blockers or self._around(table)
        if not blockers or refused_state(blockers) is State.NOTED:
            return
        reported = {id(blocker.node) for blocker in table.blockers}
        place = self.tree.location(table.creation.call)
        for lookup in table.lookups:
            if id(lookup.call) not in reported:
                line = of_line(place, self.tree.location(lookup.call))
                message = f"left unchanged because table `{table.label}`{line} was not converted"
                more: dict[str, Any] = {"table": table.known_as, "steps": self._steps_to(table, lookup.call)}
                yield finding(self.file, lookup.call, blockers[0].rule, "lookup", State.NOTED, message, **more)

    def _converted(self, table: Table) -> Iterator[Finding]:
        creation = table.creation
        notes = [creation.initializer.note if creation.initializer else "", *creation.notes]
        reason = "; ".join(note for note in notes if note)
        message = f"`{table.label}` becomes the dynamic table `{table.final_name}`"
        yield self._applied(
            creation.call, creation.rule, "table", message, reason,
            applicability=self._applicability(table),
            assumptions=tuple(dict.fromkeys(b.assumption for b in self._assumed(table))),
            table=table.final_name,
        )  # fmt: skip
        for lookup in table.lookups:
            message = f"a lookup in `{table.label}` becomes `{self.file.target.functions[lookup.function].name}`"
            more: dict[str, Any] = {"table": table.final_name, "steps": self._steps_to(table, lookup.call)}
            yield self._applied(lookup.call, lookup.rule, "lookup", message, without(lookup.dropped), **more)

    def _applied(self, node: cst.CSTNode, rule: str, subject: str, *texts: str, **more: Any) -> Finding:
        """Return the finding for code that is converted, or understood and left as it is."""
        more = {"applicability": Applicability.EXACT, "after": self.plan.after[id(node)], **more}
        return finding(self.file, node, rule, subject, more.pop("state", State.APPLIED), *texts, **more)

    def _followed(self) -> Iterator[Finding]:
        """Yield the uses of converted tables: those that are valid unchanged, and those changed under an assumption."""
        seen: set[tuple[int, str, str]] = set()
        for table in self.judgement.moving:
            uses: list[Blocker | Adaptation] = [
                *table.adaptations,
                *(blocker for blocker in table.assumed if blocker.changes),
            ]
            for use in uses:
                key = (id(use.node), use.rule, "" if use.changes else use.message)
                if key not in seen:
                    seen.add(key)
                    more: dict[str, Any] = {"table": table.final_name, "steps": self._steps_to(table, use.node)}
                    yield of_use(self.file, use, self.plan.after.get(id(use.node), ""), **more)
        further: list[Blocker | Adaptation] = [*self.judgement.assumed, *self.plan.notes]
        for use in further:
            yield of_use(self.file, use, self.plan.after.get(id(use.node), ""))

    def _steps(self) -> Iterator[Finding]:
        splits = self.file.target.splits
        for step in self.judgement.steps:
            kinds = ", ".join(sorted({maker.stock.module for maker in step.optimizer.makers}))
            message = f"the training step becomes two: yours for other variables, `{kinds}` of the runtime for tables"
            reason = "; ".join(filter(None, map(_dropped, step.optimizer.makers)))
            if not splits:
                message = "the training step is left unchanged: a table is a trainable variable of the graph"
            state = State.APPLIED if splits else State.NOTED
            yield self._applied(step.call, STEP, "optimizer", message, reason if splits else "", state=state)

    def _pointers(self) -> Iterator[Finding]:
        """Report, at calls of a function of another file, in which table it looks rows up, and the table's verdict."""
        seen: set[tuple[int, int]] = set()
        for table in self.judgement.tables:
            for function in [self.tree.enclosing(lookup.call, cst.FunctionDef) for lookup in table.lookups]:
                if function is None or self.tree.enclosing(function, cst.ClassDef) is not None:
                    continue
                for call in call_sites(self.file, function):
                    apart = self.tree.module_of(call) is not self.tree.module_of(function)
                    self.pointed.add(id(call))
                    if apart and (id(call), id(table)) not in seen:
                        seen.add((id(call), id(table)))
                        yield self._pointer(call, table)

    def _pointer(self, call: cst.Call, table: Table) -> Finding:
        location = self.tree.location(table.creation.call)
        state = "becomes a dynamic table" if id(table) in self.moving else "is left unchanged"
        message = f"`{self.tree.source(call.func)}` looks rows up in `{table.label}`, which {state}"
        reason = f"the table is created in {location.path}:{location.line}"
        return finding(self.file, call, "tf-embedding-lookup", "lookup", State.NOTED, message, reason)

    def records(self) -> Iterator[TableRecord]:
        """Yield one record a table."""
        for table in self.judgement.tables:
            moves = id(table) in self.moving
            optimizers = ", ".join(sorted({maker.name.rpartition(".")[2] for maker in self._makers(table)}))
            creation = table.creation
            blockers = self._blockers(table)
            grows, bound = (
                growth(self.file, bounds_of(self.file, table), creation.given_up.number) if moves else ("", "")
            )
            yield TableRecord(
                table.known_as,
                self.tree.location(creation.call),
                State.APPLIED if moves else refused_state(blockers),
                self._applicability(table) if moves else None,
                creation.dim_text,
                creation.rows_text,
                creation.initializer.text if creation.initializer else "",
                optimizers,
                tuple(map(self.tree.location, [*(lookup.call for lookup in table.lookups), *table.readers])),
                tuple(dict.fromkeys(in_one_line(self.file, blocker, creation.call) for blocker in blockers)),
                identity=table.identity,
                by_parts=OTHER_ORDER in creation.notes,
                base_buckets=creation.given_up.number,
                growth=grows,
                bound=bound,
            )

    def _blockers(self, table: Table) -> list[Blocker]:
        """Return the blockers of a table: its own and, where `--assume` would lift all of these, those of its file."""
        return [*table.blockers, *(self._around(table) if only_doubts(table.blockers) else ())]

    def _around(self, table: Table) -> list[Blocker]:
        return [blocker for blocker in self.judgement.file_blockers if concerns(self.file, blocker, table)]


def _dropped(maker: OptimizerCall) -> str:
    """Return the arguments of an optimizer that the table optimizer does not receive."""
    return without(maker.dropped, f"the table's `{maker.stock.module}`")
