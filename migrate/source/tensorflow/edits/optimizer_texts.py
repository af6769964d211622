"""The optimizers of tables as text, beside the dense ones."""

from __future__ import annotations

import libcst as cst

from migrate.source.files.edits import Edit, apply_edits
from migrate.source.tensorflow.base.insertion_points import line_after, line_before
from migrate.source.tensorflow.base.repeatable import is_repeatable, reads_plainly
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.edits.edit_buffer import Editing
from migrate.source.tensorflow.facts.optimizers.optimizers import Maker
from migrate.targets.layout import in_brackets


class OptimizerEditing(Editing):
    """Writes the optimizers of the tables of one file."""

    def __init__(self, file: File, judgement: Judgement) -> None:
        super().__init__(file, judgement)
        self._made: set[int] = set()  #: nodes that are edited already: several steps may share them
        self._beside_of: dict[int, list[str]] = {}  #: call that creates an optimizer -> names of the tables' optimizer

    def _is_new(self, made: cst.BaseExpression, sparse: str) -> bool:
        """False when the table's optimizer is already created beside `made`; a second name is bound to it as well."""
        names = self._beside_of.setdefault(id(made), [])
        if names and sparse not in names:
            self.plan.edits.append(line_after(self.tree, made, [f"{sparse} = {names[0]}"]))
        names.append(sparse)
        return len(names) == 1

    def _beside(self, maker: Maker, sparse: str) -> None:
        """Create the sparse optimizer right after the dense one."""
        if not self._is_new(maker.call, sparse):
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
