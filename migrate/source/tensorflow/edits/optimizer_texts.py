"""The optimizers of tables as text: beside the dense ones, as twins of functions, or chosen by a class."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.files.edits import Edit, apply_edits
from migrate.source.tensorflow.base.insertion_points import end_of_line, line_after, line_before
from migrate.source.tensorflow.base.model import Adaptation
from migrate.source.tensorflow.base.repeatable import is_repeatable, reads_plainly
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.edits.edit_buffer import Editing
from migrate.source.tensorflow.facts.optimizers.factories import Builder, import_of_twin, imported
from migrate.source.tensorflow.facts.optimizers.optimizers import Maker
from migrate.targets.layout import in_brackets


class OptimizerEditing(Editing):
    """Writes the optimizers of the tables of one file."""

    def __init__(self, file: File, judgement: Judgement) -> None:
        super().__init__(file, judgement)
        self._made: set[int] = set()  #: nodes that are edited already: several steps may share them
        self._beside_of: dict[int, list[str]] = {}  #: call that creates an optimizer -> names of the tables' optimizer
        self._imported: set[tuple[int, str]] = set()  #: statements that import a builder, with its twin

    def _twin(self, builder: Builder) -> str:
        """Return the call that creates the optimizer of the tables, as `builder` creates the dense one."""
        tree, call = self.tree, builder.call
        start, end = tree.span(call.func)
        name = tree.span(call.func.attr if isinstance(call.func, cst.Attribute) else call.func)
        statement = imported(self.file, call)
        if statement is not None and (id(statement), builder.twin) not in self._imported:
            self._imported.add((id(statement), builder.twin))
            head = import_of_twin(self.file, statement, builder.function)
            self.plan.edits.append(line_after(tree, statement, [f"{head} {builder.twin}"]))
        whole = tree.span(call)
        return f"{tree.text[start : name[0]]}{builder.twin}{tree.text[end : whole[1]]}"

    def _twins(self) -> None:
        """Write functions that create the optimizers of tables after those of this file that create the dense ones."""
        tree = self.tree
        for step in self.judgement.steps:
            for builder, function in [(b, f) for b in step.optimizer.builders for f in b.functions]:
                if not self._is_mine(function) or id(function) in self._made:
                    continue
                self._made.add(id(function))
                start, end = tree.line_start(function), end_of_line(tree, function)
                inside = [Edit(*tree.span(function.name), builder.twin)]
                inside += [self._unsaid(line) for line in builder.spoken if tree.contains(function, line)]
                above = [one.attr for one in builder.above if tree.contains(function, one)]
                inside += [Edit(*tree.span(one), builder.twin) for one in above]
                made = {id(m.call): m for m in step.optimizer.makers if tree.contains(function, m.call)}
                for maker in made.values():
                    inside.append(Edit(*tree.outer_span(maker.call), self._maker(maker, alone=True)[2]))
                    self.plan.after.setdefault(id(maker.call), inside[-1].text)
                moved = [Edit(one.start - start, one.end - start, one.text) for one in inside]
                line = tree.newline
                text = apply_edits(tree.text[start:end], moved)
                before = "" if tree.text[start:end].endswith(("\n", "\r")) else line
                gap = line if tree.indent(function) else line * 2
                self.plan.edits.append(Edit(end, end, f"{before}{gap}{text}"))
                dense = function.name.value
                message = f"`{builder.twin}` creates the optimizer of the tables, as `{dense}` creates the dense one"
                self.plan.notes.append(Adaptation(function.name, "tf-optimizer", message))

    def _unsaid(self, line: cst.CSTNode) -> Edit:
        """Remove a line that prints or logs; a block without another line gets `pass`."""
        block = self.tree.parent(line)
        if isinstance(block, cst.IndentedBlock) and len(block.body) > 1:
            return Edit(self.tree.line_start(line), end_of_line(self.tree, line), "")
        return Edit(*self.tree.span(line), "pass")

    def _is_new(self, made: cst.BaseExpression, sparse: str) -> bool:
        """False when the table's optimizer is already created beside `made`; a second name is bound to it as well."""
        names = self._beside_of.setdefault(id(made), [])
        if names and sparse not in names:
            self.plan.edits.append(line_after(self.tree, made, [f"{sparse} = {names[0]}"]))
        names.append(sparse)
        return len(names) == 1

    def _beside(self, maker: Maker, sparse: str, together: Sequence[Maker]) -> None:
        """Create the sparse optimizer right after the dense one; `together` are the branches of one choice."""
        if not self._is_new(maker.choice or maker.call, sparse):
            return
        if maker.choice is not None:
            start, end = self.tree.outer_span(maker.choice)
            spans = [(self.tree.outer_span(one.call), self._maker(one, alone=True)[2]) for one in together]
            inside = [Edit(left - start, right - start, text) for (left, right), text in spans]
            chosen = apply_edits(self.tree.text[start:end], inside)
            self.plan.edits.append(line_after(self.tree, maker.call, [f"{sparse} = {chosen}"]))
            return
        hoisted, given, table = self._maker(maker)
        if hoisted:
            self._replace(maker.call, given)
            self.plan.edits.append(line_before(self.tree, maker.call, hoisted))
        self.plan.edits.append(line_after(self.tree, maker.call, [f"{sparse} = {table}"]))

    def _maker(self, maker: Maker, alone: bool = False) -> tuple[list[str], str, str]:
        """Return lines to put before, the stock optimizer's text, and the table optimizer's text.

        A learning rate that is computed in the call is assigned to a name, so that both share it (unless `alone`).
        """
        tree = self.tree
        source = tree.source(maker.call)
        if maker.others and not self.target.wrapper:
            return [], source, self._by_class(maker)
        return self._one_maker(maker, source, alone)

    def _by_class(self, maker: Maker) -> str:
        """Return the table optimizer of a class that is chosen at run time, by comparing the class."""
        texts = [self._one_maker(one, "", alone=True)[2] for one in maker.others]
        func = self.tree.source(maker.call.func)
        func = f"({func})" if isinstance(maker.call.func, cst.IfExp) and not func.startswith("(") else func
        last = texts.pop()
        for one, text in reversed(list(zip(maker.others, texts, strict=False))):
            last = f"{text} if {func} is {self.tf}.{one.name} else {last}"
        return f"({last})" if texts else last

    def _one_maker(self, maker: Maker, source: str, alone: bool) -> tuple[list[str], str, str]:
        """Do this for one class, given the stock optimizer's text."""
        tree = self.tree
        offset = tree.outer_span(maker.call)[0]
        hoisted: list[str] = []
        named: list[Edit] = []
        texts: dict[str, str] = {}
        for key, node in sorted(maker.arguments.items(), key=lambda item: tree.span(item[1])):
            texts[key] = tree.source(node)
            if not alone and not (is_repeatable(node) and reads_plainly(self.file, node)):
                name = self.fresh.local(f"{key}_value" if key == maker.stock.module else key)  # a module is imported
                hoisted.append(f"{name} = {in_brackets(texts[key])}")
                left, right = (place - offset for place in tree.outer_span(node))
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
