"""Turns verdicts into edits: the new text of every creation, lookup and training step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import is_none
from migrate.source.tensorflow.base.insertion_points import (
    kept_comments,
    line_before,
    with_import,
    without_arguments,
    without_line,
)
from migrate.source.tensorflow.base.known_shapes import is_int64
from migrate.source.tensorflow.base.model import (
    Adaptation,
    Blocker,
    CodeChange,
    Creation,
    Lookup,
    Rewrite,
    Table,
)
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.edits.edit_buffer import Plan
from migrate.source.tensorflow.edits.session_wiring import AroundEditing
from migrate.targets.base import LookupText, Spelling, TableText
from migrate.targets.layout import TAB

__all__ = ["Plan", "Planner"]
#: Calls that start a server in tasks that do not build the model.
STARTING = ("train.Server", "distribute.Server", "estimator.train_and_evaluate")
#: Further arguments of pooled lookups: field of `LookupText` -> its names in TensorFlow.
MORE = {"weights": ("sp_weights", "sparse_weights"), "combiner": ("combiner",)}


class Planner(AroundEditing):
    """Writes the plan of one file."""

    def __init__(self, file: File, judgement: Judgement) -> None:
        super().__init__(file, judgement)
        self._gone: set[int] = set()  #: removed statements

    def run(self) -> Plan:
        """Return the edits for every converted table and every step that trains one."""
        moving = self.judgement.moving
        if not moving:
            return self.plan
        self._take(change for table in moving for use in table.assumed for change in use.changes if change.early)
        for table in moving:
            if self._is_mine(table.creation.call):
                self._table(table)
        own = [(lookup, t.creation.rank) for t in moving for lookup in t.lookups if self._is_mine(lookup.call)]
        for lookup, rank in sorted(own, key=lambda pair: self._place(pair[0])):
            if id(lookup.call) not in self.plan.after:  # one lookup may read several tables
                self._lookup(lookup, rank)
        self._follow(moving)
        for step in filter(lambda step: self._is_mine(step.call), self.judgement.steps):
            if not self.target.splits:
                self.plan.after[id(step.call)] = self.tree.source(step.call)
            elif step.listed is not None or self.judgement.trains_dense(step):
                self._step(step)
            else:
                self._step_of_tables(step)
        if any(self.tree.related(self.tree.module, table.creation.call) for table in moving):
            self._around()
        if self.plan.edits:
            self._imports()
        if self.target.on_servers and not self.fresh.imported:
            self._load_first(moving)
        return self.plan

    def _load_first(self, moving: list[Table]) -> None:
        """Import the target where a server starts that may have imported no converted file: a function may, later."""
        starts, link = self.file.calls(*STARTING), self.tree.link
        if not starts or link is None or link.loads({self.file.part(one.creation.call).tree.path for one in moving}):
            return
        what, name = f"`{self.tree.source(starts[0][0].func)}`", self.target.name
        text = f"import {name}  # a server needs its operations before it starts{self.tree.newline}"
        self.plan.edits.append(with_import(self.tree, text, len(self.tree.text)))
        reason = "a server needs the operations of tables before it starts, and converted files are imported later"
        self.plan.notes.append(
            Adaptation(starts[0][0], "tf-surroundings", f"`import {name}` is added for {what}", reason)
        )

    def _follow(self, moving: list[Table]) -> None:
        """Change the uses of converted tables; code that uses several tables is changed once."""
        uses: list[Blocker | Adaptation] = [use for table in moving for use in table.adaptations]
        uses += [*(blocker for table in moving for blocker in table.assumed), *self.judgement.assumed]
        changes = [change for use in uses for change in use.changes if self._is_mine(change.node)]
        takers = [one for one in changes if one.takes and not one.early]
        changes = [change for change in changes if not change.takes]
        texts: list[tuple[cst.CSTNode, str]] = []
        for node in {id(change.node): change.node for change in changes}.values():
            same = [change for change in changes if change.node is node]
            texts.append((node, same[0].text(self.fresh, tuple(sorted({change.item for change in same})))))
        gone = [node for node, text in texts if _goes(node, text)]
        for node, text in texts:
            if not any(self.tree.contains(one, node) and one is not node for one in gone):
                self._change(node, text)
        self._take(takers)  # when what they contain is planned
        for use in filter(lambda use: self._is_mine(use.node), uses):
            self.plan.after.setdefault(id(use.node), self._planned(use.node) if use.changes else "")

    def _take(self, changes: Iterable[CodeChange]) -> None:
        """Carry out changes that take the code in them along, from inside out; those of one node once."""
        mine = {id(one.node): one for one in changes if self._is_mine(one.node)}
        for change in sorted(mine.values(), key=lambda candidate: len(self.tree.source(candidate.node))):
            assert change.takes is not None
            self._change(change.node, change.text(self.fresh, (self._moved(change.takes),)))

    def _change(self, node: cst.CSTNode, text: str) -> None:
        """Replace the text of a node; a statement with an empty text is removed, but not its comments."""
        if not _goes(node, text):
            self._replace(node, text)
            return
        self._gone.add(id(node))
        self.plan.edits.append(without_line(self.tree, node, self._gone))
        self.plan.after[id(node)] = ""

    def _table(self, table: Table) -> None:
        creation = table.creation
        call = creation.call
        if creation.target_function:
            function = self._same_arguments(call, creation.target_function)
            self.plan.after[id(call)] = f"{function}(...)"
            return
        initializer = creation.initializer.text if creation.initializer else ""
        naming = creation.naming
        name = table.final_name if naming.suffixed else creation.name
        called = f'"{name}"' if naming.computed is None else self.tree.source(naming.computed)
        matrix = self._matrix(creation) if creation.first_rows.matrix is not None else ""
        trainable = self.tree.source(creation.trainable) if creation.trainable is not None else ""
        texts = TableText(
            table.final_name,
            creation.dim_text,
            creation.rows_text,
            initializer,
            scoped=called if naming.scoped else "",
            numbered=called if naming.suffixed else "",
            matrix=matrix,
            trainable=trainable,
            place=naming.expression,
            base_buckets=creation.given_up.argument,
        )
        lead = self._on_device(call, table.label) + self.tree.lead(call)
        if not creation.regularizer:
            self._replace(call, self.target.create(self.spelling, texts, lead))
            return
        begin = f"{self._function('regularized')}("
        created = self.target.create(self.spelling, texts, lead + begin)
        self._replace(call, f"{begin}{created}, {creation.regularizer.replace('{tf}', self.tf)})")

    def _on_device(self, call: cst.Call, label: str) -> str:
        """Make a table on the target's device, if its statement is a line of its own; return how much it moves."""
        device, tree = self.target.device(self.file.switches), self.tree
        if not device:
            return ""
        statement, scope = tree.statement(call), f'{self.spelling.v1}.device("{device}")'
        if not isinstance(statement, cst.SimpleStatementLine) or tree.enclosing(call, cst.Lambda) is not None:
            self._note(f"`{label}` is created within a statement", f"make it under `with {scope}:`")
            return ""
        indent, where = tree.indent(statement), tree.line_start(statement)
        deeper = "\t" if indent.startswith("\t") else " " * TAB
        if id(statement) not in self._made:
            self._made.add(id(statement))
            self.plan.edits.append(Edit(where, where, f"{indent}with {scope}:{tree.newline}{deeper}"))
        return deeper

    def _matrix(self, creation: Creation) -> str:
        """Return the text of the matrix that a table is made of."""
        assert creation.first_rows.matrix is not None
        before, after = creation.first_rows.form.split("{matrix}")
        return f"{before}{self._moved(creation.first_rows.matrix)}{after}".replace("{tf}", self.tf)

    def _same_arguments(self, call: cst.Call, name: str) -> str:
        """Call the target's function with the same arguments, and return its text."""
        function = self.target.functions[name]
        if not function.module and self.file.names.of(call.func) == function.name:
            return self.tree.source(call.func)
        self._replace(call.func, self._function(name))
        return self.plan.after[id(call.func)]

    def _lookup(self, lookup: Lookup, rank: int) -> None:
        """Edit a lookup argument by argument, which keeps layout and comments; or replace the whole call."""
        call, tree = lookup.call, self.tree
        if lookup.rewrite is not None:
            self._rewrite(lookup, lookup.rewrite, rank)
            return
        if self.target.lookup is not None:
            self._write(lookup, rank, self.target.lookup)
            return
        kept = self._is_kept(lookup)
        function = tree.source(call.func) if kept else self._function(lookup.function)
        start, end = tree.outer_span(call.func)
        before, after = (text.replace("{tf}", self.tf) for text in lookup.around)
        before, after = (f"{self.tf}.squeeze({before}", f"{after}, axis=-1)") if rank == 1 else (before, after)
        edits = [Edit(start, end, before + function), *self._ids(lookup)]
        edits += [] if kept else self._arguments(lookup)
        more = self._more(call, lookup.function, lookup.dense_gradient)
        if more:
            last = [arg for arg in call.args if all(arg is not d for d in lookup.drop)][-1]
            where = tree.outer_span(last.value)[1]
            edits.append(Edit(where, where, more))
        if after:
            edits.append(Edit(tree.span(call)[1], tree.span(call)[1], after))
        self.plan.edits += edits
        comments = [] if kept else kept_comments(tree, call.func)
        if comments:
            self.plan.edits.append(line_before(tree, call, comments))
        self.plan.after[id(call)] = f"{before}{function}(...){after}"

    def _write(self, lookup: Lookup, rank: int, write: Callable[[Spelling, LookupText], str]) -> None:
        """Replace a lookup by the target's form of it."""
        bound, tree = lookup.bound, self.tree
        params = lookup.listed.elements[0].value if lookup.listed is not None else bound["table"].value
        assert lookup.ids is not None
        ids = tree.source(lookup.ids.value)
        first, last = (text.replace("{tf}", self.tf) for text in self._around_ids(lookup.ids.value))
        more = {name: self._argument(lookup, *names) for name, names in MORE.items()}
        keys, dim = f"{first}{ids}{last}", self._table_of(lookup).creation.dim_text
        text = LookupText(lookup.function, tree.source(params), ids, keys, dim, **more)
        left, right = (part.replace("{tf}", self.tf) for part in lookup.around)
        new = f"{left}{write(self.spelling, text)}{right}"
        self._replace(lookup.call, f"{self.tf}.squeeze({new}, axis=-1)" if rank == 1 else new)

    def _table_of(self, lookup: Lookup) -> Table:
        return next(t for t in self.judgement.moving if any(one is lookup for one in t.lookups))

    def _argument(self, lookup: Lookup, *names: str) -> str:
        """Return the text of an argument; empty for one that is missing, or None."""
        argument = next((lookup.bound[name] for name in names if name in lookup.bound), None)
        return "" if argument is None or is_none(argument) else self.tree.source(argument.value)

    def _is_kept(self, lookup: Lookup) -> bool:
        """True for a lookup whose function and order of arguments the target shares with TensorFlow."""
        call, function = lookup.call, self.target.functions[lookup.function]
        same = not function.module and self.file.names.of(call.func) == function.name and lookup.around == ("", "")
        leading = 2 if lookup.function == "sparse_lookup" else 3
        return same and all(arg.keyword for arg in call.args[leading:])

    def _more(self, call: cst.Call, function: str, dense_gradient: bool = False) -> str:
        """Return further arguments of a lookup, with the comma before them."""
        training = self._is_train(call) if self.target.takes_is_train else ""
        text = f", is_train={training}" if training else ""
        dense = ", dense_gradient=True" if dense_gradient else ""
        return text + dense + self.target.arguments(self.spelling, function)

    def _ids(self, lookup: Lookup) -> Iterator[Edit]:
        """Yield the text around the ids."""
        if lookup.ids is not None:
            first, last = (text.replace("{tf}", self.tf) for text in self._around_ids(lookup.ids.value))
            left, right = self.tree.outer_span(lookup.ids.value)
            yield Edit(left, left, first)
            yield Edit(right, right, last)

    def _around_ids(self, ids: cst.BaseExpression) -> tuple[str, str]:
        """Return the text that the target needs before and after the ids."""
        if isinstance(ids, (cst.List, cst.Tuple)) and any(self.target.listed_ids):
            return self.target.listed_ids
        return ("", "") if is_int64(self.file, ids) else self.target.ids

    def _arguments(self, lookup: Lookup) -> Iterator[Edit]:
        """Yield the edits of a lookup's arguments."""
        tree = self.tree
        table = self.target.functions[lookup.function].table
        for keyword, text in lookup.renames:
            yield Edit(*tree.span(keyword), table if text in {"hashtable", "table"} else text)
        yield from without_arguments(tree, lookup.call, lookup.drop)
        for arg, text in lookup.named:
            yield Edit(tree.outer_span(arg.value)[0], tree.outer_span(arg.value)[0], f"{text}=")
        if lookup.listed is not None:
            left, right = tree.outer_span(lookup.listed)
            first, last = tree.outer_span(lookup.listed.elements[0].value)
            yield from (Edit(left, first, ""), Edit(last, right, ""))

    def _place(self, lookup: Lookup) -> tuple[bool, int]:
        """Order lookups so that one inside another, replaced one comes first."""
        start, end = self.tree.span(lookup.call)
        return lookup.rewrite is not None, end - start if lookup.rewrite is not None else 0

    def _rewrite(self, lookup: Lookup, rewrite: Rewrite, rank: int) -> None:
        """Replace the whole call by the template of the lookup."""
        texts = {name: text if isinstance(text, str) else self._moved(text) for name, text in rewrite.texts}
        ids = dict(rewrite.texts).get("ids")
        asked = texts.get("ids", "")
        if isinstance(ids, cst.BaseExpression):
            before, after = (text.replace("{tf}", self.tf) for text in self._around_ids(ids))
            texts["ids"] = f"{before}{texts['ids']}{after}"
        if self.target.lookup is not None and rewrite.form:
            matrix = texts["x"] if rewrite.form == "matrix" else ""
            dim = self._table_of(lookup).creation.dim_text
            lookup_text = LookupText(rewrite.functions[0], texts["W"], asked, texts.get("ids", ""), dim, matrix=matrix)
            text = self.target.lookup(self.spelling, lookup_text)
        else:
            functions = {name: self._function(name) for name in rewrite.functions}
            train = self._more(lookup.call, rewrite.functions[0], lookup.dense_gradient)
            text = rewrite.template.format(tf=self.tf, train=train, **texts, **functions)
        self._replace(lookup.call, f"{self.tf}.squeeze({text}, axis=-1)" if rank == 1 else text)

    def _imports(self) -> None:
        text = self.target.imports(self.fresh.imported, self.tree.newline)
        if not self.file.names.v1_prefix:
            text = f"import tensorflow.compat.v1 as tf{self.tree.newline}" + text
        text += "".join(f"{line}{self.tree.newline}" for line in self.head)
        first = min(edit.start for edit in self.plan.edits)
        # It comes before other text that is inserted at the next line.
        self.plan.edits.insert(0, with_import(self.tree, text, first))


def _goes(node: cst.CSTNode, text: str) -> bool:
    """True for a statement that is removed."""
    return not text and isinstance(node, (cst.SimpleStatementLine, cst.If))
