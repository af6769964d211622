"""The plan of a training step: two halves by position, or another optimizer where it trains only tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise

import libcst as cst

from migrate.source.files.edits import Edit, apply_edits
from migrate.source.tensorflow.base.arguments import argument, bind, method_of
from migrate.source.tensorflow.base.insertion_points import line_after, line_before
from migrate.source.tensorflow.base.repeatable import is_repeatable, reads_plainly
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.edits.edit_buffer import Editing
from migrate.source.tensorflow.facts.optimizers.optimizers import OptimizerCall
from migrate.source.tensorflow.facts.optimizers.training_model import Step
from migrate.source.tensorflow.facts.training.gradient_lists import COMPUTE
from migrate.targets.layout import TAB, Halves, apply_both, in_brackets, two_optimizers

EXTRA = ("gate_gradients", "aggregation_method", "colocate_gradients_with_ops", "grad_loss")
#: Those that `tf.gradients` has, too -> its name for them. It gates, as `compute_gradients` does unless told otherwise.
OF_GRADIENTS = {name: name for name in EXTRA[1:]} | {"grad_loss": "grad_ys"}
RETURN = f"{' ' * TAB}return "
#: What may stand between parameters without a default, in several lines: comments, which are kept above, and `\\`.
NO_NAMES = re.compile(r"#[^\r\n]*|\\")


def _is_list(source: cst.BaseExpression) -> bool:
    """True for `trainable_variables()` and lists of variables, in contrast to `compute_gradients`."""
    return not isinstance(source, cst.Call) or method_of(source) != "compute_gradients"


class StepEditing(Editing):
    """Writes the training steps of one file, and the optimizers of its tables beside the dense ones."""

    def __init__(self, file: File, judgement: Judgement) -> None:
        super().__init__(file, judgement)
        self._steps_in: dict[int, list[int]] = {}  #: the steps of one statement
        self._made: set[int] = set()  #: nodes that are edited already: several steps may share them
        self._beside_of: dict[int, list[str]] = {}  #: call that creates an optimizer -> names of the tables' optimizer

    @cached_property
    def _interleave(self) -> bool:
        """True where one step begins before an earlier one has ended."""
        steps = [step for step in self.judgement.steps if self._is_mine(step.call)]
        spans = sorted(
            (min(self.tree.span(one)[0] for one in (step.call, *step.sources)), self.tree.span(step.call)[0])
            for step in steps
        )
        return any(later[0] < first[1] for first, later in pairwise(spans))

    def _step(self, step: Step) -> None:
        """Split one training step: gradients are computed once, for dense variables and tables together.

        A half of which no variable has a gradient is left out at run time, as the stock optimizer leaves variables out;
        where no half has one, the stock optimizer raises.
        """
        tree = self.tree
        dense_vars, sparse_vars = self._local("dense_vars", step), self._local("sparse_vars", step)
        both = self._variables(dense_vars, sparse_vars, step)
        dense, sparse, optimizer_lines = self._optimizers(step)
        lines = list(optimizer_lines)
        if step.is_minimize:
            grads = self._local("grads", step)
            pairs = self._computed(step.arguments, dense, f"{dense_vars} + {sparse_vars}")
            lines = [*both, *optimizer_lines, f"{grads} = {pairs}"]
        else:
            for number, source in enumerate(step.sources):
                self._source(source, f"{dense_vars} + {sparse_vars}", both if number == 0 else [])
            for comprehension in step.filters:
                self._keep_positions(comprehension)
            grads, bind_pairs = self._pairs(step)
            lines += bind_pairs
        dense_grads, sparse_grads = self._local("dense_grads", step), self._local("sparse_grads", step)
        lines += self._pairs_of_halves(grads, dense_vars, dense_grads, sparse_grads)
        if step.lambda_body is None:
            self.plan.edits.append(line_before(tree, step.call, lines))
        named = step.arguments.get("name")
        name = tree.source(named.value) if named else ""
        halves = Halves(dense, sparse, dense_grads, sparse_grads, grads, self._global_step(step))
        lead = (
            tree.lead(step.call)
            if step.lambda_body is None
            else f"{tree.indent(tree.statement(step.call) or step.call)}{RETURN}"
        )
        text = apply_both(self.tf, halves, name, lead, tree.newline)
        if step.lambda_body is None:
            self._replace(step.call, text, lines)
        else:
            self._function_of(step, step.lambda_body, [*(f"{' ' * TAB}{line}" for line in lines), RETURN + text])
            self.plan.after[id(step.call)] = text

    def _computed(self, bound: Mapping[str, cst.Arg], dense: str, variables: str) -> str:
        """Return the pairs of gradients and variables, by the optimizer or by `tf.gradients`."""
        loss = self._moved(bound["loss"].value)
        if self.target.computes_gradients:
            extra = [f"{name}={self.tree.source(bound[name].value)}" for name in EXTRA if name in bound]
            return f"{dense}.compute_gradients({', '.join([loss, variables, *extra])})"
        extra = [f"{to}={self.tree.source(bound[name].value)}" for name, to in OF_GRADIENTS.items() if name in bound]
        taken = ", ".join([loss, variables, "gate_gradients=True", *extra])
        return f"list(zip({self.spelling.v1}.gradients({taken}), {variables}))"

    def _function_of(self, step: Step, function: cst.Lambda, body: list[str]) -> None:
        """Write a lambda as a function with that body before its statement."""
        tree, name = self.tree, self._local("train_step", step)
        parameters = tree.text[tree.span(function)[0] + len("lambda") : tree.span(function.colon)[0]]
        parameters = " ".join(NO_NAMES.sub(" ", parameters).split())
        self.plan.edits.append(line_before(tree, function, [f"def {name}({parameters}):", *body]))
        self._replace(function, name, body)

    def _local(self, name: str, step: Step) -> str:
        """Return a new name; steps of one statement, such as those of a `tf.group`, have a name each.

        So have all steps where one trains a list, because the lists differ, and where the gradients of one step are
        computed before another step is applied.
        """
        listed = any(one.listed is not None for one in self.judgement.steps) or self._interleave
        statement = 0 if listed else id(self.tree.statement(step.call))
        steps = self._steps_in.setdefault(statement, [])
        step_id = id(step.sources[0]) if listed and step.sources else id(step.call)
        if step_id not in steps:
            steps.append(step_id)
        number = steps.index(step_id) + 1
        return self.fresh.local(f"{name}_{number}" if number > 1 else name)

    def _pairs_of_halves(self, grads: str, dense_vars: str, dense_grads: str, sparse_grads: str) -> list[str]:
        """Return the lines that list the pairs of each half that have a gradient."""
        having = "if pair[0] is not None"
        rows = f"[pair for pair in {grads}[len({dense_vars}) :] {having}]"
        return [
            f"{dense_grads} = [pair for pair in {grads}[: len({dense_vars})] {having}]",
            f"{sparse_grads} = {self._at_addresses(grads, dense_vars) if self._expands() else rows}",
        ]

    def _step_of_tables(self, step: Step) -> None:
        """Replace the optimizer of a step that trains all variables, which are tables; the step stays as it is."""
        for maker in step.optimizer.makers:
            if id(maker.call) not in self._made:
                self._made.add(id(maker.call))
                self._replace(maker.call, self._maker(maker, alone=True)[2])
        for source in step.sources:
            if _is_list(source):
                dense_vars, sparse_vars = self._local("dense_vars", step), self._local("sparse_vars", step)
                getter = self._function("get_dense_and_sparse_variable")
                self._source(source, sparse_vars, [f"{dense_vars}, {sparse_vars} = {getter}()"])
        for var_list in self._wholes(step):  # lists of all variables do not contain tables
            self.plan.edits.append(Edit(*self.tree.outer_span(var_list.value), "None"))
        inline = step.optimizer.inline
        self.plan.after[id(step.call)] = self.plan.after[id(step.optimizer.receiver)] if inline else ""

    def _wholes(self, step: Step) -> list[cst.Arg]:
        """Return the arguments that list all variables, and that are written outside of the call."""
        if any(_is_list(one) for one in step.sources):
            return []
        calls = [bind(one, COMPUTE) or {} for one in step.sources if isinstance(one, cst.Call)]
        arguments = [step.arguments] if step.is_minimize else calls
        return [one["var_list"] for one in arguments if "var_list" in one]

    def _global_step(self, step: Step) -> list[str]:
        counter = step.arguments.get("global_step")
        if counter is None:
            return []
        text = self.tree.source(counter.value)
        return [f"global_step={text}" if counter.keyword else text]

    def _pairs(self, step: Step) -> tuple[str, list[str]]:
        """Return the name of the list of pairs, and the line that assigns it where it has none."""
        pairs = step.arguments["grads_and_vars"].value
        if isinstance(pairs, cst.Name) and not step.is_zip:
            return pairs.value, []
        grads = self._local("grads", step)
        text = self._moved(pairs)
        plain = not step.is_zip or isinstance(pairs, cst.ListComp) or text.startswith("list(")
        return grads, [f"{grads} = {in_brackets(text)}" if plain else f"{grads} = list({text})"]

    def _variables(self, dense_vars: str, sparse_vars: str, step: Step) -> list[str]:
        """Return the lines that list the trained variables."""
        taken = any(_is_list(source) for source in step.sources)
        asked = taken or self._expands() or self.file.switches.multi_lookup
        merge = "do_merge_lookup" in self.target.functions and asked
        lines = [f"{self._function('do_merge_lookup')}({self._is_train(step.call) or True})"] if merge else []
        if self._expands():
            rows = f'{self.spelling.v1}.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")'
            dense = f"{self._function('get_dense_and_sparse_variable')}()[0]"
            return [*lines, f"{dense_vars}, {sparse_vars} = {dense}, {rows}"]
        return [*lines, self._both(dense_vars, sparse_vars, step)]

    def _both(self, dense_vars: str, sparse_vars: str, step: Step) -> str:
        """Return the line that lists the trained variables: dense ones and tables separately."""
        if step.listed is None:
            return self.target.variables(self.spelling, dense_vars, sparse_vars)
        assert self.target.lists is not None
        text = self.tree.source(step.listed.node)
        return self.target.lists(self.spelling, dense_vars, sparse_vars, text)

    def _expands(self) -> bool:
        """True when tables are trained by the addresses of the rows of a batch."""
        program = self.target.program
        return program is not None and program.pipeline and self.file.switches.dynamic_expansion

    def _at_addresses(self, grads: str, dense_vars: str) -> str:
        """Return the pairs of gradients of rows and their addresses."""
        addresses = f'{self.spelling.v1}.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")'
        pairs = f"zip({grads}[len({dense_vars}) :], {addresses})"
        return f"[(pair[0], address) for pair, address in {pairs} if pair[0] is not None]"

    def _source(self, source: cst.BaseExpression, variables: str, before: list[str]) -> None:
        """Change the call that computes the gradients so that it covers the tables as well."""
        if id(source) in self._made:
            return
        self._made.add(id(source))
        tree = self.tree
        if before:
            self.plan.edits.append(line_before(tree, source, before))
        if not isinstance(source, cst.Call) or _is_list(source):
            self._replace(source, variables)
            return
        listed = argument(source, "var_list", 1)
        if not self.target.computes_gradients:
            self._replace(source, self._computed(bind(source, COMPUTE) or {}, "", variables))
        elif listed is not None:
            self.plan.edits.append(Edit(*tree.outer_span(listed.value), variables))
        else:
            where = tree.outer_span(source.args[0].value)[1]
            text = f", {variables}" if source.args[0].keyword is None else f", var_list={variables}"
            self.plan.edits.append(Edit(where, where, text))
        how = "compute_gradients" if self.target.computes_gradients else "gradients"
        self.plan.after[id(source)] = f"{how} over {variables}"

    def _keep_positions(self, comprehension: cst.ListComp) -> None:
        """Keep pairs without a gradient instead of removing them, because halves are selected by position."""
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
        """Return the names of the dense and the sparse optimizer, and the line that creates them where they are new."""
        optimizer = step.optimizer
        if optimizer.inline:
            dense, sparse = self._local("dense_optimizer", step), self._local("sparse_optimizer", step)
            maker = optimizer.makers[0]
            hoisted, stock, table = self._maker(maker)
            return dense, sparse, [*hoisted, *two_optimizers(dense, sparse, stock, table)]
        dense = self.tree.source(optimizer.receiver)
        head, _, last = dense.rpartition(".")
        sparse = f"{head}.{self.fresh.local('sparse_' + last)}" if head else self.fresh.local(f"sparse_{last}")
        for maker in optimizer.makers:
            self._beside(maker, sparse)
        return dense, sparse, []

    def _is_new(self, maker: cst.BaseExpression, sparse: str) -> bool:
        """False when the table's optimizer is already created beside `maker`; a second name is bound to it as well."""
        names = self._beside_of.setdefault(id(maker), [])
        if names and sparse not in names:
            self.plan.edits.append(line_after(self.tree, maker, [f"{sparse} = {names[0]}"]))
        names.append(sparse)
        return len(names) == 1

    def _beside(self, maker: OptimizerCall, sparse: str) -> None:
        """Create the sparse optimizer right after the dense one."""
        if not self._is_new(maker.call, sparse):
            return
        hoisted, stock, table = self._maker(maker)
        if hoisted:
            self._replace(maker.call, stock)
            self.plan.edits.append(line_before(self.tree, maker.call, hoisted))
        self.plan.edits.append(line_after(self.tree, maker.call, [f"{sparse} = {table}"]))

    def _maker(self, maker: OptimizerCall, alone: bool = False) -> tuple[list[str], str, str]:
        """Return lines to put before, the stock optimizer's text, and the table optimizer's text.

        A learning rate that is computed in the call is assigned to a name, so that both share it (unless `alone`).
        """
        tree = self.tree
        source = tree.source(maker.call)
        offset = tree.outer_span(maker.call)[0]
        hoisted: list[str] = []
        named: list[Edit] = []
        texts: dict[str, str] = {}
        for key, node in sorted(maker.arguments.items(), key=lambda item: tree.span(item[1])):
            texts[key] = tree.source(node)
            if not alone and not (is_repeatable(node) and reads_plainly(self.file, node)):
                name = self.fresh.local(f"{key}_value" if key == maker.stock.module else key)  # a module is imported
                hoisted.append(f"{name} = {in_brackets(texts[key])}")
                left, right = (offset_in_file - offset for offset_in_file in tree.outer_span(node))
                named.append(Edit(left, right, name))
                texts[key] = name
        source = apply_edits(source, named)
        for key, default in maker.stock.defaults:
            texts.setdefault(key, default)
        if self.target.wrapper:
            return hoisted, source, f"{self._function(self.target.wrapper)}({source})"
        order = [key for key in maker.stock.parameters if key in texts]
        follows = self.target.optimizers(self.file.switches)[maker.stock.module]
        module = self._function(follows.module or maker.stock.module)
        return hoisted, source, self.target.optimizer(module, [(key, texts[key]) for key in order])
