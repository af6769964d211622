"""The planned edits of one file: nodes get new texts, and a node that moves takes the edits inside it along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.files.edits import Edit, apply_edits
from migrate.source.tensorflow.base.insertion_points import kept_comments, line_before
from migrate.source.tensorflow.base.model import Adaptation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.ids.sessions import in_model_function
from migrate.targets.base import Spelling


@dataclass
class Plan:
    """The edits of one file, and the new text of each converted node."""

    edits: list[Edit] = field(default_factory=list)
    after: dict[int, str] = field(default_factory=dict)  #: id of the old node -> its new text
    notes: list[Adaptation] = field(default_factory=list)  #: further notes on the program


class Editing:
    """The base of all parts of a plan: the file, its target's spelling and the edits so far."""

    def __init__(self, file: File, judgement: Judgement) -> None:
        self.file = file
        self.tree = file.tree
        self.judgement = judgement
        self.target = file.target
        self.fresh = Fresh(file.tree.identifiers(), file.tree.bound(), file.target.name)
        prefix = file.names.v1_prefix or "tf"
        self.tf = prefix.split(".compat")[0]
        self.spelling = Spelling(self.tf, prefix, self._function, self.tree.newline, file.switches)
        self.plan = Plan()
        self.head: list[str] = []  #: lines after the imports

    def _function(self, name: str) -> str:
        """Return the local name of a function of the target, and import it where it is not TensorFlow's."""
        function = self.target.functions[name]
        if function.of:
            return f"{self._function(function.of)}.{function.name}"
        return self.fresh.imports(name) if function.module else f"{self.spelling.v1}.{function.name}"

    def _is_mine(self, node: cst.CSTNode) -> bool:
        """True for a node of the planned file, where several files are judged together."""
        return self.tree.module_of(node) is self.tree.module

    def _planned(self, node: cst.CSTNode) -> str:
        """Return the text of a node with the edits planned inside it."""
        start, end = self.tree.span(node)
        if any(e.start <= start and end <= e.end and e.end - e.start > end - start for e in self.plan.edits):
            return ""
        inside = [
            Edit(e.start - start, e.end - start, e.text) for e in self.plan.edits if start <= e.start <= e.end <= end
        ]
        return apply_edits(self.tree.text[start:end], inside)

    def _replace(self, node: cst.CSTNode, text: str, beside: Sequence[str] = ()) -> None:
        """Replace the text of a node; comments that would be lost are moved above its statement."""
        start, end = self.tree.span(node)
        lost = [
            comment for comment in kept_comments(self.tree, node) if all(comment not in one for one in (text, *beside))
        ]
        if lost:
            self.plan.edits.append(line_before(self.tree, node, lost))
        self.plan.edits.append(Edit(start, end, text))
        self.plan.after[id(node)] = text

    def _moved(self, node: cst.BaseExpression) -> str:
        """Return the text of an expression for use in another place, with the edits planned inside it."""
        start, end = self.tree.outer_span(node)
        inside = [edit for edit in self.plan.edits if start <= edit.start and edit.end <= end]
        self.plan.edits = [edit for edit in self.plan.edits if all(edit is not moved for moved in inside)]
        return apply_edits(self.tree.text[start:end], [Edit(e.start - start, e.end - start, e.text) for e in inside])

    def _is_train(self, call: cst.Call) -> str:
        """Return the expression for `is_train` inside an Estimator's model function."""
        return f"mode == {self.tf}.estimator.ModeKeys.TRAIN" if in_model_function(self.file, call) else ""
