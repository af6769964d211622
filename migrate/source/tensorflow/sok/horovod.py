"""Horovod in a program for SOK: replaced by the runtime's ranks, or left unchanged as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import bind, is_none, literal
from migrate.source.tensorflow.base.bindings import single_value
from migrate.source.tensorflow.base.insertion_points import without_line
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.gradients import holds_gradients
from migrate.source.tensorflow.sok.symbols import HOROVOD, PROGRAM, horovod_name, imports_of, sok_calls, spelled
from migrate.source.tensorflow.sok.tables import Tables
from migrate.source.tensorflow.sok.tf_spelling import builds_graph

_OPERATIONS = {"Sum": "sum", "Average": "mean", "mpi_ops.Sum": "sum", "mpi_ops.Average": "mean"}
_REDUCE = ("tensor", "average", "device_dense", "device_sparse", "compression", "op", "prescale_factor",
           "postscale_factor", "name")  # fmt: skip
_TAPE = ("gradtape", "device_dense", "device_sparse", "compression", "sparse_as_dense", "op")
_NO_COMPRESSION = {"compression.NoneCompressor", "Compression.none"}


@dataclass
class Horovod:
    """The uses of Horovod in a file."""

    draft: Draft
    tables: Tables
    edits: list[Edit] = field(default_factory=list)
    left: list[cst.CSTNode] = field(default_factory=list)  #: uses without a counterpart
    lines: list[cst.CSTNode] = field(default_factory=list)  #: removed statements
    _read: list[cst.CSTNode] = field(default_factory=list)

    @property
    def stays(self) -> bool:
        """True where the program still needs Horovod."""
        return bool(self.left)

    def read(self) -> None:
        """Read all uses of Horovod, and replace them if each has a counterpart."""
        tree = self.draft.tree
        for node in _mentions(self.draft):
            call = tree.parent(node)
            known = isinstance(call, cst.Call) and call.func is node and self._call(call, horovod_name(tree, node))
            if known:
                self._read.append(call if call is not None else node)
        for node in _mentions(self.draft):
            within = [node, *tree.ancestors(node)]
            if not any(one is done for one in within for done in self._read):
                self.left.append(node)
        if self.left:
            return
        self.draft.edits += self.edits
        gone = {id(line) for line in self.lines}
        self.draft.edits += [without_line(tree, line, gone) for line in self.lines]

    def _call(self, call: cst.Call, name: str) -> bool:
        """Replace a call by that of the runtime's ranks; False where no equivalent is known."""
        tree, ranks = self.draft.tree, self.draft.function
        if name == "init":
            line = tree.statement(call)
            body = line.body if isinstance(line, cst.SimpleStatementLine) else ()
            if line is None or len(body) != 1 or not isinstance(body[0], cst.Expr) or call.args:
                return False
            self.lines.append(line)
            return True
        known = name == "local_rank" or (name in {"rank", "size"} and self._is_started(call))
        if known and not call.args:
            self._write(call, f"{ranks('ranks')}.{name}()")
            return True
        if builds_graph(self.draft.file) or not self._is_started(call):
            return False
        if name == "allreduce":
            return self._reduced(call)
        if name == "broadcast_variables":
            given = bind(call, ("variables", "root_rank"))
            root = given.get("root_rank") if given is not None else None
            if given is None or "variables" not in given or root is None or literal(root.value) != 0:
                return False
            self._write(call, f"{ranks('ranks')}.broadcast({tree.source(given['variables'].value)})")
            return True
        return name == "DistributedGradientTape" and self._tape(call)

    def _is_started(self, node: cst.CSTNode) -> bool:
        """True for code that runs after the ranks are connected: after that line, or in functions not called before."""
        tree = self.draft.tree
        start = next((call for call, name in sok_calls(self.draft.file) if name in {"init", "Init"}), None)
        around = tree.enclosing(node, cst.FunctionDef)
        if start is None:
            return around is not None
        within = tree.enclosing(start, cst.FunctionDef)
        if around is None or around is within:
            return tree.span(node)[0] > tree.span(start)[0]
        return around.name.value not in self._called_before(start, within)

    def _called_before(self, start: cst.Call, within: cst.FunctionDef | None) -> set[str]:
        """Return the last names of all functions that may be called before the ranks are connected."""
        tree = self.draft.tree
        found: set[str] = set()
        first = [c for c in tree.calls if tree.span(c)[0] < tree.span(start)[0]]
        pending = [c for c in first if tree.enclosing(c, cst.FunctionDef) in (None, within)]
        while pending:
            name = _last(pending.pop().func)
            if name and name not in found:
                found.add(name)
                inside = (c for c in tree.calls if (f := tree.enclosing(c, cst.FunctionDef)) and f.name.value == name)
                pending += inside
        return found

    def _write(self, call: cst.Call, text: str) -> None:
        self.edits.append(Edit(*self.draft.tree.span(call), text))

    def _operation(self, given: dict[str, cst.Arg]) -> str:
        """Return "sum" or "mean"; empty for any other reduction."""
        for name in (
            "average",
            "device_dense",
            "device_sparse",
            "prescale_factor",
            "postscale_factor",
            "sparse_as_dense",
        ):
            if name in given and not is_none(given[name]):
                return ""
        tree, packed = self.draft.tree, given.get("compression")
        if packed is not None and horovod_name(tree, packed.value) not in _NO_COMPRESSION:
            return ""
        operation = given.get("op")
        return "mean" if operation is None else _OPERATIONS.get(horovod_name(tree, operation.value), "")

    def _reduced(self, call: cst.Call) -> bool:
        """Replace the reduction of a tensor, or of a list of gradients in one message."""
        tree, given = self.draft.tree, bind(call, _REDUCE)
        operation = self._operation(given) if given is not None else ""
        if given is None or not operation or "tensor" not in given:
            return False
        ranks, around, value = self.draft.function("ranks"), tree.parent(call), given["tensor"].value
        loop = around.for_in if isinstance(around, cst.ListComp) and around.elt is call else None
        plain = loop is not None and not loop.ifs and loop.inner_for_in is None and isinstance(loop.target, cst.Name)
        each = tree.source(value)
        if around is not None and loop is not None and plain and tree.source(loop.target) == each:
            one, pairs = self.draft.local("total"), f"[({each}, None) for {each} in {tree.source(loop.iter)}]"
            text = f'[{one} for {one}, _ in {ranks}.reduced_gradients({pairs}, "{operation}")]'
            self.edits.append(Edit(*tree.span(around), text))
            return True
        text = f"{ranks}.current().all_reduce({tree.source(value)})"
        if holds_gradients(self.draft.file, value):
            return False  # it may be IndexedSlices, which Horovod gathers
        mean = f"{text} / {ranks}.size()"
        alone = isinstance(around, cst.Assign | cst.AnnAssign | cst.Return | cst.Expr | cst.Arg)
        self._write(call, text if operation == "sum" else mean if alone else f"({mean})")
        return True

    def _tape(self, call: cst.Call) -> bool:
        """Replace `tape = DistributedGradientTape(tape)` and the gradients that it returns."""
        tree, given = self.draft.tree, bind(call, _TAPE)
        operation = self._operation(given) if given is not None else ""
        line, around = tree.statement(call), tree.parent(call)
        target = around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None
        inner = given["gradtape"].value if given is not None and "gradtape" in given else None
        if not operation or line is None or not isinstance(target, cst.Name) or not isinstance(inner, cst.Name):
            return False
        if target.value != inner.value:
            return False
        scope = tree.enclosing(call, cst.FunctionDef)
        asked = [
            one
            for one in tree.calls
            if tree.source(one.func) == f"{target.value}.gradient"
            and tree.enclosing(one, cst.FunctionDef) is scope
            and tree.span(one)[0] > tree.span(call)[0]
        ]
        names = [bind(one, ("target", "sources")) for one in asked]
        if not asked or any(one is None or len(one) != 2 for one in names):
            return False
        texts = []
        for one, pair in zip(asked, names, strict=True):
            sources = pair["sources"].value if pair is not None else one
            plain = isinstance(sources, cst.Name | cst.Attribute)
            if not plain or self.tables.kind(sources) is not None or self._is_nested(sources):
                return False
            listed, total, ranks = tree.source(sources), self.draft.local("total"), self.draft.function("ranks")
            pairs = f"zip({tree.source(one)}, {listed})"
            texts.append(f'[{total} for {total}, _ in {ranks}.reduced_gradients({pairs}, "{operation}")]')
        self.edits += [Edit(*tree.span(one), text) for one, text in zip(asked, texts, strict=True)]
        self.lines.append(line)
        return True

    def _is_nested(self, node: cst.BaseExpression) -> bool:
        """True for a name whose value is known to be no flat list."""
        value = single_value(self.draft.tree, node)
        if isinstance(value, cst.List | cst.Tuple):
            return any(isinstance(one.value, cst.List | cst.Tuple) for one in value.elements)
        return False

    def reduces(self) -> bool:
        """True where the file itself exchanges values over ranks."""
        names = {horovod_name(self.draft.tree, node) for node in _mentions(self.draft)}
        return bool(names & {"allreduce", "DistributedGradientTape", "DistributedOptimizer", "grouped_allreduce"})

    def tell(self) -> None:
        """Report whether the program still needs Horovod."""
        node = next(iter(self.left), None)
        for statement in imports_of(self.draft.tree, HOROVOD):
            if node is None:
                message = "Horovod is no longer needed: the ranks of the runtime replace it"
                self.draft.parts.append(Part(statement, PROGRAM, "use", HOROVOD, message))
                return
            shown = " ".join(self.draft.tree.source(node).split())[:60]
            message = f"Horovod is still needed for `{shown}`: start the program by horovodrun"
            reason = "the ranks of the runtime have no equivalent call"
            self.draft.parts.append(Part(statement, PROGRAM, "use", HOROVOD, message, reason=reason))
            return


def _mentions(draft: Draft) -> list[cst.Name | cst.Attribute]:
    """Return the outermost expressions that refer to Horovod, in source order."""
    tree = draft.tree
    found: list[cst.Name | cst.Attribute] = []
    for node in spelled(tree):
        around = tree.parent(node)
        inner = isinstance(around, cst.Attribute) and (around.value is node or around.attr is node)
        imported = any(isinstance(one, cst.Import | cst.ImportFrom) for one in tree.ancestors(node))
        if not inner and not imported and is_horovod(draft, node):
            found.append(node)
    return sorted(found, key=lambda node: tree.span(node)[0])


def _last(node: cst.BaseExpression) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""


def is_horovod(draft: Draft, node: cst.CSTNode) -> bool:
    """True for an expression that is Horovod's module, or a member of it."""
    imported, _ = draft.tree.imported_names(node)
    return any(name == HOROVOD or name.startswith(HOROVOD + ".") for name in imported)
