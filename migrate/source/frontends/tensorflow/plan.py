"""Turns verdicts into edits: the new text of every creation, lookup and training step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.edits import Edit, apply_edits
from migrate.source.frontends.tensorflow.dense import trains_dense
from migrate.source.frontends.tensorflow.facts import Followed, Lookup, Rewrite, Stop, Table
from migrate.source.frontends.tensorflow.fresh import Fresh
from migrate.source.frontends.tensorflow.judge import Judgement, may_lack_tables
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.optimizers import Maker
from migrate.source.frontends.tensorflow.placing import (
    import_offset,
    kept_comments,
    line_after,
    line_before,
    without_line,
)
from migrate.source.frontends.tensorflow.shapes import is_repeatable
from migrate.source.frontends.tensorflow.training import Step
from migrate.targets import runtime

EXTRA = ("gate_gradients", "aggregation_method", "colocate_gradients_with_ops", "grad_loss")


@dataclass
class Plan:
    """The edits of one file, and what each converted node became."""

    edits: list[Edit] = field(default_factory=list)
    after: dict[int, str] = field(default_factory=dict)  #: id of the old node -> its new text


class Planner:
    """Writes the plan of one file."""

    def __init__(self, file: File, judgement: Judgement) -> None:
        self.file = file
        self.tree = file.tree
        self.judgement = judgement
        self.fresh = Fresh(file.tree.identifiers(), file.tree.bound())
        prefix = file.names.v1_prefix or "tf"
        self.tf = prefix.split(".compat")[0]
        self.plan = Plan()
        self._made: set[int] = set()
        self._gone: set[int] = set()  #: statements that are taken out

    def run(self) -> Plan:
        """Return the edits for every table that moves and every step that trains them."""
        moving = self.judgement.moving
        if not moving:
            return self.plan
        for table in moving:
            if self._is_mine(table.creation.call):
                self._table(table)
        own = [(lookup, t.creation.rank) for t in moving for lookup in t.lookups if self._is_mine(lookup.call)]
        for lookup, rank in sorted(own, key=lambda pair: self._place(pair[0])):
            if id(lookup.call) not in self.plan.after:  # one lookup may read one table or another
                self._lookup(lookup, rank)
        self._follow(moving)
        calls = {id(table.creation.call) for table in moving}
        for step in filter(lambda step: self._is_mine(step.call), self.judgement.steps):
            if trains_dense(self.file, step.call, calls):
                self._step(step)
            else:
                self._step_of_tables(step)
        if self.plan.edits:
            self._imports()
        return self.plan

    def _is_mine(self, node: cst.CSTNode) -> bool:
        """True for a node of the file that is planned, when several are judged together."""
        return self.tree.module_of(node) is self.tree.module

    def _follow(self, moving: list[Table]) -> None:
        """Change what follows the tables; one piece of code may follow several of them, in the same way."""
        uses: list[Stop | Followed] = [use for table in moving for use in table.followed]
        uses += [*(stop for table in moving for stop in table.assumed), *self.judgement.assumed]
        changes = [change for use in uses for change in use.changes if self._is_mine(change.node)]
        for node in {id(change.node): change.node for change in changes}.values():
            same = [change for change in changes if change.node is node]
            self._change(node, same[0].text(self.fresh, tuple(sorted({change.item for change in same}))))
        for use in filter(lambda use: self._is_mine(use.node), uses):
            self.plan.after.setdefault(id(use.node), self._planned(use.node) if use.changes else "")

    def _change(self, node: cst.CSTNode, text: str) -> None:
        """Write the new text of a node; a statement without one goes, its comments stay."""
        if text or not isinstance(node, cst.SimpleStatementLine | cst.If):
            self._replace(node, text)
            return
        self._gone.add(id(node))
        self.plan.edits.append(without_line(self.tree, node, self._gone))
        self.plan.after[id(node)] = ""

    def _planned(self, node: cst.CSTNode) -> str:
        """Return the text of a node with the edits planned inside it."""
        start, end = self.tree.span(node)
        if any(e.start <= start and end <= e.end and e.end - e.start > end - start for e in self.plan.edits):
            return ""
        inside = [
            Edit(e.start - start, e.end - start, e.text) for e in self.plan.edits if start <= e.start <= e.end <= end
        ]
        return apply_edits(self.tree.text[start:end], inside)

    def _replace(self, node: cst.CSTNode, text: str) -> None:
        start, end = self.tree.span(node)
        self.plan.edits.append(Edit(start, end, text))
        self.plan.after[id(node)] = text

    def _moved(self, node: cst.BaseExpression) -> str:
        """Return the text of an expression that is written elsewhere, with what was planned inside it."""
        start, end = self.tree.outer_span(node)
        inside = [edit for edit in self.plan.edits if start <= edit.start and edit.end <= end]
        self.plan.edits = [edit for edit in self.plan.edits if all(edit is not moved for moved in inside)]
        return apply_edits(self.tree.text[start:end], [Edit(e.start - start, e.end - start, e.text) for e in inside])

    def _table(self, table: Table) -> None:
        creation = table.creation
        call = creation.call
        if creation.emitted:
            function = self.fresh.imports(creation.emitted)
            self._replace(call.func, function)
            self.plan.after[id(call)] = f"{function}(...)"
            return
        initializer = creation.initializer.text if creation.initializer else ""
        texts = runtime.TableText(table.final_name, creation.dim_text, creation.rows_text, initializer)
        lead = self.tree.lead(call)
        self._replace(
            call, runtime.create_table(self.fresh.imports("create_table"), self.tf, texts, lead, self.tree.newline)
        )
        comments = kept_comments(self.tree, call)
        if comments:
            self.plan.edits.append(line_before(self.tree, call, comments))

    def _lookup(self, lookup: Lookup, rank: int) -> None:
        """Edit a lookup in place, argument by argument, so that its layout and comments stay; or write it anew."""
        call, tree = lookup.call, self.tree
        if lookup.rewrite is not None:
            self._rewrite(lookup, lookup.rewrite, rank)
            return
        function = self.fresh.imports(lookup.function)
        start, end = tree.span(call.func)
        before, after = (text.replace("{tf}", self.tf) for text in lookup.around)
        before, after = (f"{self.tf}.squeeze({before}", f"{after}, axis=-1)") if rank == 1 else (before, after)
        edits = [Edit(start, end, before + function), *self._arguments(lookup)]
        training = self._is_train(call)
        if training:
            last = [arg for arg in call.args if all(arg is not d for d in lookup.drop)][-1]
            where = tree.outer_span(last.value)[1]
            edits.append(Edit(where, where, f", is_train={training}"))
        if after:
            edits.append(Edit(tree.span(call)[1], tree.span(call)[1], after))
        self.plan.edits += edits
        self.plan.after[id(call)] = f"{before}{function}(...){after}"

    def _arguments(self, lookup: Lookup) -> Iterator[Edit]:
        """Yield the edits of a lookup's arguments."""
        tree, args = self.tree, lookup.call.args
        for keyword, text in lookup.renames:
            yield Edit(*tree.span(keyword), text)
        for position, arg in enumerate(args):
            if any(arg is dropped for dropped in lookup.drop):
                yield Edit(tree.outer_span(args[position - 1].value)[1], tree.outer_span(arg.value)[1], "")
        for arg, text in lookup.named:
            yield Edit(tree.outer_span(arg.value)[0], tree.outer_span(arg.value)[0], f"{text}=")
        for arg, before, after in lookup.wraps:
            left, right = tree.outer_span(arg.value)
            yield Edit(left, left, before.replace("{tf}", self.tf))
            yield Edit(right, right, after.replace("{tf}", self.tf))
        if lookup.listed is not None:
            left, right = tree.outer_span(lookup.listed)
            first, last = tree.outer_span(lookup.listed.elements[0].value)
            yield from (Edit(left, first, ""), Edit(last, right, ""))

    def _place(self, lookup: Lookup) -> tuple[bool, int]:
        """Order lookups so that those inside another one that is written anew come before it."""
        start, end = self.tree.span(lookup.call)
        return lookup.rewrite is not None, end - start if lookup.rewrite is not None else 0

    def _rewrite(self, lookup: Lookup, rewrite: Rewrite, rank: int) -> None:
        """Put the lookup's template in the place of the whole call."""
        training = self._is_train(lookup.call)
        texts = {name: text if isinstance(text, str) else self._moved(text) for name, text in rewrite.texts}
        functions = {name: self.fresh.imports(name) for name in rewrite.functions}
        train = f", is_train={training}" if training else ""
        text = rewrite.template.format(tf=self.tf, train=train, **texts, **functions)
        self._replace(lookup.call, f"{self.tf}.squeeze({text}, axis=-1)" if rank == 1 else text)

    def _is_train(self, call: cst.Call) -> str:
        """Return the expression for `is_train` inside an Estimator's model function."""
        function = self.tree.enclosing(call, cst.FunctionDef)
        while function is not None:
            parameters = {p.name.value for p in (*function.params.params, *function.params.kwonly_params)}
            if "mode" in parameters and self._mentions(function, ("EstimatorSpec", "ModeKeys")):
                return f"mode == {self.tf}.estimator.ModeKeys.TRAIN"
            function = self.tree.enclosing(function, cst.FunctionDef)
        return ""

    def _mentions(self, function: cst.FunctionDef, words: tuple[str, ...]) -> bool:
        uses = [use for word in words for use in (*self.tree.names[word], *self.tree.attributes[word])]
        return any(self.tree.contains(function, use) for use in uses)

    def _step(self, step: Step) -> None:
        """Split one training step: the gradients are taken once, for dense variables and tables together."""
        tree = self.tree
        dense_vars, sparse_vars = self.fresh.local("dense_vars"), self.fresh.local("sparse_vars")
        getter = self.fresh.imports("get_dense_and_sparse_variable")
        both = f"{dense_vars}, {sparse_vars} = {getter}()"
        dense, sparse, made = self._optimizers(step)
        lines = list(made)
        if step.is_minimize:
            grads = self.fresh.local("grads")
            loss = self._moved(step.arguments["loss"].value)
            extra = [f"{k}={tree.source(step.arguments[k].value)}" for k in EXTRA if k in step.arguments]
            arguments = ", ".join([loss, f"{dense_vars} + {sparse_vars}", *extra])
            lines = [both, *made, f"{grads} = {dense}.compute_gradients({arguments})"]
        else:
            for number, source in enumerate(step.sources):
                self._source(source, f"{dense_vars} + {sparse_vars}", both if number == 0 else "")
            for comprehension in step.filters:
                self._keep_positions(comprehension)
            grads, bind_pairs = self._pairs(step)
            lines += bind_pairs
        if may_lack_tables(self.file, self.judgement, step):
            rest = f"[pair for pair in {grads}[len({dense_vars}) :] if pair[0] is not None]"
            lines.append(f"{self.fresh.local('sparse_grads')} = {rest}")
        if lines:
            self.plan.edits.append(line_before(tree, step.call, lines))
        lead = tree.lead(step.call)
        name = step.arguments.get("name")
        optional = self.fresh.local("sparse_grads") if may_lack_tables(self.file, self.judgement, step) else ""
        halves = runtime.Halves(dense, sparse, grads, dense_vars, self._global_step(step), optional)
        text = runtime.apply_both(self.tf, halves, tree.source(name.value) if name else "", lead, tree.newline)
        self._replace(step.call, text)

    def _step_of_tables(self, step: Step) -> None:
        """Exchange the optimizer where there is nothing but tables to train; the step itself stays."""
        for maker in step.optimizer.makers:
            if id(maker.call) not in self._made:
                self._made.add(id(maker.call))
                self._replace(maker.call, self._maker(maker, alone=True)[2])
        for source in step.sources:
            if not isinstance(source.func, cst.Attribute) or source.func.attr.value != "compute_gradients":
                dense_vars, sparse_vars = self.fresh.local("dense_vars"), self.fresh.local("sparse_vars")
                getter = self.fresh.imports("get_dense_and_sparse_variable")
                self._source(source, sparse_vars, f"{dense_vars}, {sparse_vars} = {getter}()")
        inline = step.optimizer.inline
        self.plan.after[id(step.call)] = self.plan.after[id(step.optimizer.receiver)] if inline else ""

    def _global_step(self, step: Step) -> list[str]:
        given = step.arguments.get("global_step")
        if given is None:
            return []
        text = self.tree.source(given.value)
        return [f"global_step={text}" if given.keyword else text]

    def _pairs(self, step: Step) -> tuple[str, list[str]]:
        """Return the name of the list of pairs, and the line that binds it when it has none."""
        pairs = step.arguments["grads_and_vars"].value
        if isinstance(pairs, cst.Name):
            return pairs.value, []
        grads = self.fresh.local("grads")
        text = self._moved(pairs)
        plain = isinstance(pairs, cst.ListComp) or text.startswith("list(") or "zip(" not in text
        return grads, [f"{grads} = {text}" if plain else f"{grads} = list({text})"]

    def _source(self, source: cst.Call, variables: str, before: str) -> None:
        """Make the place where gradients are taken cover the tables as well."""
        if id(source) in self._made:
            return
        self._made.add(id(source))
        tree = self.tree
        if before:
            self.plan.edits.append(line_before(tree, source, [before]))
        if not isinstance(source.func, cst.Attribute) or source.func.attr.value != "compute_gradients":
            self._replace(source, variables)
            return
        given = next(
            (a for i, a in enumerate(source.args) if (a.keyword.value if a.keyword else i) in {"var_list", 1}), None
        )
        if given is not None:
            self.plan.edits.append(Edit(*tree.outer_span(given.value), variables))
        else:
            where = tree.outer_span(source.args[0].value)[1]
            text = f", {variables}" if source.args[0].keyword is None else f", var_list={variables}"
            self.plan.edits.append(Edit(where, where, text))
        self.plan.after[id(source)] = f"compute_gradients over {variables}"

    def _keep_positions(self, comprehension: cst.ListComp) -> None:
        """Let pairs without a gradient pass as they are instead of dropping them, because halves go by position."""
        if id(comprehension) in self._made or not isinstance(comprehension.elt, cst.Tuple):
            return
        self._made.add(id(comprehension))
        tree, condition = self.tree, comprehension.for_in.ifs[0]
        gradient = comprehension.elt.elements[0].value
        end = tree.span(condition)[1]
        before = tree.outer_span(comprehension.for_in.iter)[1]
        self.plan.edits.append(Edit(before, end, ""))
        if isinstance(gradient, cst.Call):
            where = tree.outer_span(gradient)[1]
            self.plan.edits.append(Edit(where, where, f" if {tree.source(condition.test).strip('()')} else None"))

    def _optimizers(self, step: Step) -> tuple[str, str, list[str]]:
        """Return the dense and the sparse optimizer's names, and the line that makes them when they are new."""
        optimizer = step.optimizer
        if optimizer.inline:
            dense, sparse = self.fresh.local("dense_optimizer"), self.fresh.local("sparse_optimizer")
            maker = optimizer.makers[0]
            hoisted, given, table = self._maker(maker)
            return dense, sparse, [*hoisted, *runtime.two_optimizers(dense, sparse, given, table)]
        dense = self.tree.source(optimizer.receiver)
        head, _, last = dense.rpartition(".")
        sparse = f"{head}.{self.fresh.local('sparse_' + last)}" if head else self.fresh.local(f"sparse_{last}")
        for maker in optimizer.makers:
            self._beside(maker, sparse)
        return dense, sparse, []

    def _beside(self, maker: Maker, sparse: str) -> None:
        """Make the sparse optimizer right after the dense one."""
        if id(maker.call) in self._made:
            return
        self._made.add(id(maker.call))
        hoisted, given, table = self._maker(maker)
        if hoisted:
            self._replace(maker.call, given)
            self.plan.edits.append(line_before(self.tree, maker.call, hoisted))
        self.plan.edits.append(line_after(self.tree, maker.call, [f"{sparse} = {table}"]))

    def _maker(self, maker: Maker, alone: bool = False) -> tuple[list[str], str, str]:
        """Return lines to put before, the stock optimizer's text, and the table optimizer's text.

        A learning rate that is computed in place is given a name, so that it is computed once by both (not `alone`).
        """
        tree = self.tree
        source = tree.source(maker.call)
        offset = tree.outer_span(maker.call)[0]
        hoisted: list[str] = []
        texts: dict[str, str] = {}
        for key, node in maker.arguments.items():
            texts[key] = tree.source(node)
            if not alone and not is_repeatable(node):
                name = self.fresh.local(key)
                hoisted.append(f"{name} = {texts[key]}")
                left, right = (place - offset for place in tree.outer_span(node))
                source = (
                    source[:left] + name + source[right:] if len(hoisted) == 1 else source.replace(texts[key], name)
                )
                texts[key] = name
        for key, default in maker.stock.defaults:
            texts.setdefault(key, default)
        order = [key for key in maker.stock.parameters if key in texts]
        module = self.fresh.imports(maker.stock.module)
        return hoisted, source, runtime.hash_optimizer(module, [(key, texts[key]) for key in order])

    def _imports(self) -> None:
        text = runtime.imports(self.fresh.imported, self.tree.newline)
        if not self.file.names.v1_prefix:
            text = f"import tensorflow.compat.v1 as tf{self.tree.newline}" + text
        first = min(edit.start for edit in self.plan.edits)
        where = import_offset(self.tree, first)
        if where > 0 and self.tree.text[where - 1] not in "\r\n":
            text = self.tree.newline + text
        self.plan.edits.append(Edit(where, where, text))
