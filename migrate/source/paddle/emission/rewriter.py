"""Rewrites one file: each site in the form that its executions need; all other text and comments are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from migrate.source.paddle.abstract.definitions.classes import WITHOUT_EFFECT
from migrate.source.paddle.abstract.run import Site
from migrate.source.paddle.abstract.values import Span
from migrate.source.paddle.emission import templates
from migrate.source.paddle.emission.names import HOMES, Names
from migrate.source.paddle.ops import registry
from migrate.source.syntax.node_index import nodes_in

_WITH_NAMES = frozenset({"nn", "nn.functional", "nn.initializer", "optimizer", "regularizer", "metric"})
_NOT_REACHED = "is not reached with the given configuration; it raises NotImplementedError"
_CHECKED = "# checked: sizes that are known when the graph runs"
#: Modules that stand for themselves, as in `getattr(F, name)`.
MODULES = {dotted: home for dotted, home in HOMES.items() if dotted.partition(".")[2] in _WITH_NAMES}
Start = tuple[int, int]


@dataclass
class Facts:
    """What was executed in one file."""

    imports: Mapping[str, str]  #: local name, or one below a file of the model -> dotted name
    references: frozenset[Start]  #: where names of imports are read
    sites: Mapping[Span, Site]
    loops: frozenset[Span]
    checks: frozenset[Span]  #: `if` and `assert` that only check sizes of the run
    executed: frozenset[Start]  #: where the executed statements begin
    dense: frozenset[Span]  #: embeddings whose whole matrix is read
    names: Names
    ruled: frozenset[Span] = frozenset()  #: embeddings whose tables get rules
    rules: str = ""  #: arguments of `nn.TableRules`
    freed: frozenset[Span] = frozenset()  #: those of them whose ids give up their buckets
    divided: frozenset[Span] = frozenset()  #: what divides these ids
    arrays: bool = False  #: whether tensors are arrays, as in a reader
    refused: dict[Span, str] = field(default_factory=dict)
    notes: dict[Span, str] = field(default_factory=dict)
    stopped: frozenset[Start] = frozenset()  #: where the bodies of functions begin that could not be executed


class Rewriter(cst.CSTTransformer):
    """Replaces Paddle's names, calls, operators and items by those of TensorFlow and `runtime.nn`."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, facts: Facts) -> None:
        """Take what was executed in the file."""
        super().__init__()
        self.facts, self.names = facts, facts.names
        self._left: dict[int, tuple[cst.BaseExpression, Span, str]] = {}  #: id -> a name of Paddle that was left

    # Calls, operators and items.

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        span = self._span(original_node)
        site = self.facts.sites.get(span)
        if span in self.facts.dense:
            return templates.with_argument(updated_node, "table", "False")
        if span in self.facts.ruled:
            rules = [self.facts.rules] if self.facts.rules else []
            if span in self.facts.freed:
                rules.append(f"base_buckets={templates.argument(updated_node, 'num_embeddings')}")
            return templates.with_argument(updated_node, "table", f"{self.names.nn('TableRules')}({', '.join(rules)})")
        if site is None:
            return self._constant(original_node, updated_node)
        if site.kind == "answer":
            return self._answer(span, site, updated_node)
        if site.kind == "named":
            return self._by_name(original_node, updated_node)
        if site.kind == "len":
            return cst.parse_expression(self._size(templates.atom(updated_node.args[0].value), "0", site.form))
        if site.op is None or (site.kind == "call" and self._dotted(original_node.func) is None):
            return updated_node  # a function that is a value is written where it is named
        args: Sequence[cst.Arg] = updated_node.args
        if site.kind == "method":
            func = updated_node.func
            if not isinstance(func, cst.Attribute) or func.attr.value not in registry.names_of(site.op):
                name = registry.names_of(site.op)[0]
                what = f"a method of a tensor is called by another name; write `x.{name}(...)` with that tensor"
                self.facts.refused[span] = what
                return updated_node
            separator = templates.comma() if args else cst.MaybeSentinel.DEFAULT
            args = [cst.Arg(func.value, comma=separator), *args]
        return self._written(span, site, updated_node, args)

    def _answer(self, span: Span, site: Site, updated: cst.Call) -> cst.BaseExpression:
        """Write the answer to a question about a value of Paddle, whose converted counterpart may answer otherwise."""
        if not site.fixed:
            return updated
        if site.mixed:
            self.facts.refused[span] = "the answer to this differs between two calls; write a line for each of them"
        return cst.Name(str(bool(site.form)))

    def _by_name(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """`getattr(paddle, name)`: the functions of `paddle` itself are those of `nn.functional`."""
        if self._dotted(original.args[0].value) != "paddle":
            return updated
        home = cst.parse_expression(self.names.nn("functional"))
        return updated.with_changes(args=[updated.args[0].with_changes(value=home), *updated.args[1:]])

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        """Keep the side that is taken where the answer to the question is written."""
        site = self.facts.sites.get(self._span(original_node.test))
        if site is None or site.kind != "answer" or not site.fixed or site.mixed:
            return updated_node
        return templates.atom(updated_node.body if site.form else updated_node.orelse)

    def _constant(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Rewrite a call that was not executed, but means the same everywhere, such as a question for the device."""
        op = registry.find(self._dotted(original.func) or "")
        if op is None or not op.forms or not op.forms[0].ignored:
            return updated
        return cst.parse_expression(self.names.spelled(op.forms[0].tf))

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        return self._operator(original_node, updated_node, updated_node.left, updated_node.right)

    def leave_Comparison(self, original_node: cst.Comparison, updated_node: cst.Comparison) -> cst.BaseExpression:
        if len(updated_node.comparisons) != 1:
            return updated_node
        return self._operator(original_node, updated_node, updated_node.left, updated_node.comparisons[0].comparator)

    def leave_UnaryOperation(
        self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation
    ) -> cst.BaseExpression:
        return self._operator(original_node, updated_node, updated_node.expression)

    def leave_AugAssign(self, original_node: cst.AugAssign, updated_node: cst.AugAssign) -> cst.AugAssign | cst.Assign:
        site = self.facts.sites.get(self._span(original_node))
        span = self._span(original_node)
        if site is None or site.op is None or (self._keeps(site) and span not in self.facts.divided):
            return updated_node
        value = self._written(span, site, None, templates.operands(updated_node.target, updated_node.value))
        return cst.Assign([cst.AssignTarget(updated_node.target)], value, updated_node.semicolon)

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        span = self._span(original_node)
        site = self.facts.sites.get(span)
        if site is None:
            return updated_node
        if site.kind == "size" and isinstance(original_node.value, cst.Attribute):
            return self._size_of(original_node, updated_node, site)
        if site.kind != "item" or site.op is None or self._keeps(site):
            return updated_node
        if site.mixed:
            self.facts.refused[span] = "in one call this is an item of a tensor, in another of a list; write two lines"
        index = templates.index(updated_node)
        return templates.of_helper(
            self.names.helper("operators.getitem"), None, templates.operands(updated_node.value, index)
        )

    def _size_of(self, original: cst.Subscript, updated: cst.Subscript, site: Site) -> cst.BaseExpression:
        """`x.shape[i]` where the size is known when the graph is built, else `tf.shape(x)[i]`."""
        shape = updated.value
        tensor = (
            shape.value
            if isinstance(shape, cst.Attribute)
            else shape.args[0].value
            if isinstance(shape, cst.Call)
            else shape
        )
        if site.form == 0:
            return updated.with_changes(value=cst.Attribute(templates.atom(tensor), cst.Name("shape")))
        if isinstance(updated.slice[0].slice, cst.Slice):
            return updated
        func = cst.parse_expression(self.names.tf("shape"))
        return updated.with_changes(value=cst.Call(func, templates.operands(tensor)))

    def _size(self, tensor: cst.BaseExpression, index: str, form: int) -> str:
        text = cst.Module([]).code_for_node(tensor)
        return f"{self.names.tf('shape')}({text})[{index}]" if form else f"{text}.shape[{index}]"

    def _operator(
        self, original: cst.BaseExpression, updated: cst.BaseExpression, *operands: cst.BaseExpression
    ) -> cst.BaseExpression:
        span = self._span(original)
        site = self.facts.sites.get(span)
        if site is None or site.op is None or site.kind != "operator":
            return updated
        if self._keeps(site) and span not in self.facts.divided:
            return updated
        return self._written(span, site, None, templates.operands(*operands))

    def _keeps(self, site: Site) -> bool:
        assert site.op is not None
        return site.form < len(site.op.forms) and not site.op.forms[site.form].tf

    def _written(self, span: Span, site: Site, call: cst.Call | None, args: Sequence[cst.Arg]) -> cst.BaseExpression:
        """Return the expression for a site; the helper takes what no form can."""
        op = site.op
        assert op is not None
        if site.mixed:
            kinds = {"method": "the receiver of this method call", "operator": "an operand"}
            reason = "here is a tensor in one pass and another object in another; write it twice"
            self.facts.refused[span] = f"{kinds.get(site.kind, 'what is used')} {reason}"
        if span in self.facts.divided:
            return templates.of_helper(self.names.helper("operators.divided"), call, args)
        if not site.mixed and site.form < len(op.forms):
            form = op.forms[site.form]
            try:
                named = replace(form, tf=self.names.spelled(form.tf))
                return templates.in_form(op, named, call, args)
            except templates.Unwritable:
                pass
        return templates.of_helper(self.names.helper(op.functional), call, args)

    # Names and attributes.

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        site = self.facts.sites.get(self._span(original_node))
        if site is not None and site.kind == "shape" and site.form:
            return templates.of_helper(self.names.helper("sizes"), None, templates.operands(updated_node.value))
        if site is not None and site.kind == "ndim":
            shape = cst.Attribute(templates.atom(updated_node.value), cst.Name("shape"))
            return cst.Call(cst.Name("len"), [cst.Arg(shape)])
        if site is not None and site.kind == "attribute" and site.op is not None:
            return self._written(self._span(original_node), site, None, templates.operands(updated_node.value))
        return self._reference(original_node, updated_node)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        known = original_node.value in self.facts.imports
        return self._reference(original_node, updated_node) if known else updated_node

    def _reference(self, original: cst.Name | cst.Attribute, updated: cst.BaseExpression) -> cst.BaseExpression:
        """Rewrite a name of Paddle; a module of Paddle is rewritten with the name after it."""
        dotted, span = self._dotted(original), self._span(original)
        written = self._spelled(dotted, updated)
        if written is updated and (dotted or "").partition(".")[0] == "paddle":
            self._left[id(updated)] = updated, span, dotted or ""
        return written

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        """Refuse a name of Paddle that is still there: nothing imports it."""
        present = map(id, nodes_in(updated_node, cst.Name, cst.Attribute))
        left = [self._left[one] for one in present if one in self._left]
        starts: set[Start] = set()
        for _, span, dotted in sorted(left, key=lambda item: -len(item[2])):  # the whole of `paddle.a.b` tells it
            if span[:2] not in starts:
                message = f"the converted code has no `{dotted}`; leave it out, or use a supported function of Paddle"
                self.facts.refused.setdefault(span, message)
            starts.add(span[:2])
        return updated_node

    def _spelled(self, dotted: str | None, updated: cst.BaseExpression) -> cst.BaseExpression:
        if dotted in MODULES:  # such as in `getattr(F, name)`
            return cst.parse_expression(self.names.nn(MODULES[dotted]) if MODULES[dotted] else self.names.module())
        if dotted is None or not dotted.startswith("paddle."):
            return updated
        if self.facts.arrays and dotted == "paddle.to_tensor":
            return cst.parse_expression(self.names.nn("data.array"))
        if (op := registry.find(dotted)) is not None:
            return cst.parse_expression(self.names.helper(op.functional))
        is_name = not dotted.rpartition(".")[2].islower() or templates.is_function(dotted)
        spelled = self.names.kept(dotted) if is_name else None
        return updated if spelled is None else cst.parse_expression(spelled)

    def _dotted(self, node: cst.BaseExpression) -> str | None:
        """Return the dotted name of Paddle, or of another module, that an expression is; None for any other."""
        if isinstance(node, cst.Name):
            known = node.value in self.facts.imports and self._span(node)[:2] in self.facts.references
            return registry.canonical(self.facts.imports[node.value]) if known else None
        if isinstance(node, cst.Attribute):
            if (text := templates.text(node)) in self.facts.imports:  # of another file of the model
                return registry.canonical(self.facts.imports[text])
            parent = self._dotted(node.value)
            return registry.canonical(f"{parent}.{node.attr.value}") if parent else None
        return None

    # Statements.

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        if self._span(original_node.iter) in self.facts.loops:
            return updated_node.with_changes(iter=self._unstacked(updated_node.iter))
        return updated_node

    def leave_CompFor(self, original_node: cst.CompFor, updated_node: cst.CompFor) -> cst.CompFor:
        if self._span(original_node.iter) in self.facts.loops:
            return updated_node.with_changes(iter=self._unstacked(updated_node.iter))
        return updated_node

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        target = original_node.targets[0].target
        site = self.facts.sites.get(self._span(target))
        if site is not None and site.kind == "stop_gradient" and isinstance(target, cst.Attribute):
            stop = cst.parse_expression(self.names.tf("stop_gradient"))
            name = cst.ensure_type(target.value, cst.Name)
            return cst.Assign([cst.AssignTarget(name)], cst.Call(stop, [cst.Arg(name)]))
        if self._span(target) in self.facts.loops:
            return updated_node.with_changes(value=self._unstacked(updated_node.value))
        return updated_node

    def _unstacked(self, value: cst.BaseExpression) -> cst.BaseExpression:
        return cst.Call(cst.parse_expression(self.names.tf("unstack")), templates.operands(value))

    def leave_Assert(self, original_node: cst.Assert, updated_node: cst.Assert) -> cst.BaseSmallStatement:
        return cst.Pass() if self._span(original_node) in self.facts.checks else updated_node

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.SimpleStatementLine:
        if self._span(original_node) in self.facts.checks:
            comment = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(_CHECKED))
            return cst.SimpleStatementLine([cst.Pass()], updated_node.leading_lines, comment)
        if self._is_dead(original_node.body):
            self._note(original_node, original_node.test, "")
            updated_node = updated_node.with_changes(body=templates.raising(updated_node.body))
        other = original_node.orelse
        if isinstance(other, cst.Else) and isinstance(updated_node.orelse, cst.Else) and self._is_dead(other.body):
            self._note(other, original_node.test, "not ")
            updated_node = updated_node.with_changes(
                orelse=updated_node.orelse.with_changes(body=templates.raising(updated_node.orelse.body))
            )
        return updated_node

    def _note(self, node: cst.CSTNode, test: cst.BaseExpression, negated: str) -> None:
        text = " ".join(cst.Module([]).code_for_node(templates.atom(test) if negated else test).split())
        self.facts.notes[self._span(node)] = f"the branch for `{negated}{text}` {_NOT_REACHED}"

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        if not self._is_dead(original_node.body):
            return updated_node
        if self._start(original_node.body) not in self.facts.stopped:
            self.facts.notes[self._span(original_node)] = f"`{original_node.name.value}` {_NOT_REACHED}"
        return updated_node.with_changes(body=templates.raising(updated_node.body))

    def _start(self, body: cst.BaseSuite) -> Start:
        place = self.get_metadata(PositionProvider, body.body[0]).start
        return place.line, place.column

    def _is_dead(self, body: cst.BaseSuite) -> bool:
        """Whether a block cannot stay as it is: it was not executed, and has something of Paddle or could not be."""
        if self._start(body) in self.facts.stopped:
            return True
        if self._start(body) in self.facts.executed:
            return False
        methods = registry.methods()
        for node in nodes_in(body, cst.Name, cst.Attribute):
            if (self._dotted(node) or "").startswith("paddle"):
                return True
            if isinstance(node, cst.Attribute) and node.attr.value in methods | {"shape"}:
                return True
        return False

    # Imports.

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import | cst.RemovalSentinel:
        kept = [item for item in updated_node.names if not templates.of_paddle(item.name)]
        if len(kept) == len(updated_node.names):
            return updated_node
        return updated_node.with_changes(names=templates.last_without_comma(kept)) if kept else cst.RemoveFromParent()

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.RemovalSentinel:
        if updated_node.module is not None and not updated_node.relative and templates.of_paddle(updated_node.module):
            return cst.RemoveFromParent()
        if isinstance(updated_node.names, cst.ImportStar):
            return updated_node
        kept = [item for item in updated_node.names if not self._gone(item)]
        if len(kept) == len(updated_node.names):
            return updated_node
        return updated_node.with_changes(names=templates.last_without_comma(kept)) if kept else cst.RemoveFromParent()

    def _gone(self, item: cst.ImportAlias) -> bool:
        """Whether a name that another file of the model imported from Paddle is taken from there."""
        local = item.asname.name if item.asname is not None else item.name
        return isinstance(local, cst.Name) and self.facts.imports.get(local.value, "").partition(".")[0] == "paddle"

    def leave_Decorator(
        self, original_node: cst.Decorator, updated_node: cst.Decorator
    ) -> cst.Decorator | cst.RemovalSentinel:
        node = original_node.decorator
        dotted = self._dotted(node.func if isinstance(node, cst.Call) else node)
        if dotted not in WITHOUT_EFFECT:
            return updated_node
        self.facts.notes[self._span(node)] = f"`@{dotted}` is left out: the converted code builds a graph without it"
        return cst.RemoveFromParent()

    def _span(self, node: cst.CSTNode) -> Span:
        place = self.get_metadata(PositionProvider, node)
        return place.start.line, place.start.column, place.end.line, place.end.column


def rewrite(text: str, facts: Facts) -> cst.Module:
    """Return the rewritten file, without the imports that it now needs."""
    return MetadataWrapper(templates.parsed(text), unsafe_skip_copy=True).visit(Rewriter(facts))
