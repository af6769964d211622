"""Rewrites Paddle's names and calls to TensorFlow's, by the API table; all other text and comments are kept."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider

from migrate.source.paddle.interpreter.layers import PARAM_ATTR_DEFAULTS
from migrate.source.paddle.mapping.api_table import (
    CONTAINERS,
    IGNORED,
    LINEAR,
    METHODS,
    PARAM_ATTR,
    PLAIN,
    TABLE,
    Entry,
    canonical,
)
from migrate.source.paddle.mapping.values import Span

_BLANK = cst.Module([])


class Untranslatable(Exception):
    """A construct that the table does not support, with its position."""

    def __init__(self, span: Span, message: str) -> None:
        super().__init__(message)
        self.span = span


@dataclass
class Facts:
    """What the interpreter found about one file."""

    names: Mapping[str, str]  #: local name -> dotted name of an import
    methods: Mapping[Span, str]  #: calls that are tensor methods
    executed: frozenset[Span]  #: calls that the interpreter has executed
    refused: list[Untranslatable] = field(default_factory=list)
    used: set[str] = field(default_factory=set)  #: emitted classes and helpers in use
    after: dict[Span, str] = field(default_factory=dict)  #: rewritten call -> its new text


class Rewriter(cst.CSTTransformer):
    """Replaces Paddle's names and calls by TensorFlow's."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        result = self._call(original_node, updated_node)
        if result is not updated_node:
            self.facts.after[self._span(original_node)] = _BLANK.code_for_node(result)
        return result

    def _call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        name = self._dotted(original_node.func)
        span = self._span(original_node)
        try:
            if name is not None and name.startswith("paddle"):
                return self._framework_call(name, updated_node)
            if isinstance(updated_node.func, cst.Attribute):
                return self._method_call(span, updated_node, updated_node.func)
        except ValueError as reason:
            self.facts.refused.append(Untranslatable(span, str(reason)))
        return updated_node

    def _framework_call(self, name: str, call: cst.Call) -> cst.BaseExpression:
        if name == PARAM_ATTR:
            return _param_attr(call)
        if name == LINEAR:
            self.facts.used.add("Linear")
            names = ("in_features", "out_features", "weight_attr", "bias_attr", "name")
            return _renamed(call, "Linear", _bound(call, names), {item: item for item in names[:-1]}, ())
        if name in CONTAINERS:
            self.facts.used.add(CONTAINERS[name])
            return call.with_changes(func=cst.Name(CONTAINERS[name]))
        if name not in TABLE:
            raise ValueError(f"`{name}` is not supported")
        return self._table_call(TABLE[name], call, call.args)

    def _table_call(self, entry: Entry, call: cst.Call, args: Sequence[cst.Arg]) -> cst.BaseExpression:
        helper = entry.tf.partition("(")[0]
        if helper.isidentifier():
            self.facts.used.add(helper)
        return _translate(entry, call, args)

    def _method_call(self, span: Span, call: cst.Call, func: cst.Attribute) -> cst.BaseExpression:
        name = func.attr.value
        if span in self.facts.methods:
            receiver = cst.Arg(func.value, comma=_comma() if call.args else cst.MaybeSentinel.DEFAULT)
            return self._table_call(METHODS[self.facts.methods[span]], call, [receiver, *call.args])
        if name in METHODS and span not in self.facts.executed:
            raise ValueError(
                f"this code does not run with the given arguments, so it is unknown what `.{name}` is; remove it"
            )
        return call

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        return self._reference(original_node, updated_node)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self._reference(original_node, updated_node) if original_node.value in self.facts.names else updated_node

    def _reference(self, original: cst.Name | cst.Attribute, updated: cst.BaseExpression) -> cst.BaseExpression:
        """Rewrite a framework name that is not called: a dtype, a base class, or a function used as a value."""
        name = self._dotted(original)
        if name is None:
            return updated
        return cst.parse_expression(PLAIN[name]) if name in PLAIN else updated

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self.facts.used.add("Layer")
        return updated_node

    def _dotted(self, node: cst.BaseExpression) -> str | None:
        if isinstance(node, cst.Name):
            return canonical(self.facts.names[node.value]) if node.value in self.facts.names else None
        if isinstance(node, cst.Attribute):
            parent = self._dotted(node.value)
            return canonical(f"{parent}.{node.attr.value}") if parent else None
        return None

    def _span(self, node: cst.CSTNode) -> Span:
        place = self.get_metadata(PositionProvider, node)
        return place.start.line, place.start.column, place.end.line, place.end.column


def rewrite(text: str, facts: Facts) -> cst.Module:
    """Return the rewritten file; constructs that cannot be rewritten are added to `facts.refused`."""
    return MetadataWrapper(cst.parse_module(text)).visit(Rewriter(facts))


def _comma() -> cst.Comma:
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def _bound(call: cst.Call, names: Sequence[str], args: Sequence[cst.Arg] | None = None) -> list[tuple[str, cst.Arg]]:
    """Return (Paddle's parameter, argument), in the order of the source."""
    bound: list[tuple[str, cst.Arg]] = []
    for index, arg in enumerate(call.args if args is None else args):
        if arg.star:
            raise ValueError("`*` and `**` arguments are not supported")
        if arg.keyword is None and index >= len(names):
            raise ValueError(f"the call has more than {len(names)} arguments")
        bound.append((arg.keyword.value if arg.keyword else names[index], arg))
    for name, _ in bound:
        if name not in names:
            raise ValueError(f"argument `{name}` is not supported")
    return bound


def _translate(entry: Entry, call: cst.Call, args: Sequence[cst.Arg]) -> cst.BaseExpression:
    """Rewrite a call by its entry of the table."""
    bound = _bound(call, list(entry.parameters), args)
    _check_dropped(entry, bound)
    if entry.tf.startswith("SLICE"):
        return _slice(dict(bound))
    target = cst.parse_expression(entry.tf)
    if isinstance(target, cst.Call) and target.args and all(arg.keyword for arg in target.args):
        renames: dict[str, str] = {}
        fixed: list[cst.Arg] = []
        for arg in target.args:
            assert arg.keyword is not None
            if isinstance(arg.value, cst.Name) and arg.value.value in entry.parameters:
                renames[arg.value.value] = arg.keyword.value
            else:
                fixed.append(arg)
        given = {name for name, _ in bound}
        for name in entry.write:
            if name not in given:
                fixed.append(_keyword(renames[name], cst.parse_expression(repr(entry.parameters[name]))))
        return _renamed(call, _BLANK.code_for_node(target.func), bound, renames, fixed)
    return _filled(entry, target, bound)


def _check_dropped(entry: Entry, bound: list[tuple[str, cst.Arg]]) -> None:
    """Raise ValueError for an argument that TensorFlow does not have, unless it is the default."""
    for name, arg in bound:
        if name in entry.mentioned | IGNORED or entry.layer_of:
            continue
        try:
            same = ast.literal_eval(_BLANK.code_for_node(arg.value)) == entry.parameters[name]
        except (ValueError, SyntaxError, TypeError):
            same = False
        if not same:
            raise ValueError(f"`{name}` of `{entry.name}` has no equivalent in TensorFlow")


def _keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    tight = cst.SimpleWhitespace("")
    return cst.Arg(value, cst.Name(name), cst.AssignEqual(whitespace_before=tight, whitespace_after=tight))


def _renamed(
    call: cst.Call, target: str, bound: list[tuple[str, cst.Arg]], renames: Mapping[str, str], extra: Sequence[cst.Arg]
) -> cst.Call:
    """Rename keywords, drop arguments that the target does not have, and append `extra`; the layout is kept."""
    order = list(renames)
    args: list[cst.Arg] = []
    for name, arg in bound:
        if name not in renames:
            continue
        in_place = order.index(name) == len(args) and all(item.keyword is None for item in args)
        if arg.keyword is None and in_place:
            args.append(arg)
        elif in_place and name in {"x", "y", "input"}:
            args.append(arg.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT))
        else:
            args.append(_with_keyword(arg, renames[name]))
    args += [_keyword(item.keyword.value, item.value) for item in extra if item.keyword]
    dropped = bool(bound) and bound[-1][0] not in renames
    return call.with_changes(
        func=cst.parse_expression(target), args=_with_commas(args, bound[-1][1] if dropped else None)
    )


def _with_keyword(arg: cst.Arg, name: str) -> cst.Arg:
    if arg.keyword is not None:
        return arg.with_changes(keyword=cst.Name(name))
    made = _keyword(name, arg.value)
    return made.with_changes(comma=arg.comma, whitespace_after_arg=arg.whitespace_after_arg)


def _with_commas(args: list[cst.Arg], dropped: cst.Arg | None) -> list[cst.Arg]:
    """Separate arguments by commas; comments before a dropped last argument are kept."""
    result = [
        arg if isinstance(arg.comma, cst.Comma) or index == len(args) - 1 else arg.with_changes(comma=_comma())
        for index, arg in enumerate(args)
    ]
    if dropped is not None and result and isinstance(result[-1].comma, cst.Comma):
        after = result[-1].comma.whitespace_after
        kept = after if m.findall(after, m.Comment()) else dropped.whitespace_after_arg
        result[-1] = result[-1].with_changes(comma=dropped.comma, whitespace_after_arg=kept)
    return result


def _filled(entry: Entry, target: cst.BaseExpression, bound: list[tuple[str, cst.Arg]]) -> cst.BaseExpression:
    """Substitute the arguments in a template."""
    values = {name: _atom(arg.value) for name, arg in bound}
    for name, default in entry.parameters.items():
        if name not in values and name in entry.mentioned:
            values[name] = cst.parse_expression(repr(default))

    class Fill(cst.CSTTransformer):
        def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
            return updated_node.with_changes(keyword=original_node.keyword)

        def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
            return updated_node.with_changes(attr=original_node.attr)

        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
            return values.get(updated_node.value, updated_node)

    made = target.visit(Fill())
    assert isinstance(made, cst.BaseExpression)
    return _atom(made) if isinstance(made, cst.BinaryOperation) else made


def _atom(node: cst.BaseExpression) -> cst.BaseExpression:
    """Put an expression in parentheses if it needs them inside another expression."""
    loose = isinstance(
        node, cst.BinaryOperation | cst.UnaryOperation | cst.IfExp | cst.BooleanOperation | cst.Comparison
    )
    if loose and not node.lpar:
        return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return node


def _param_attr(call: cst.Call) -> cst.BaseExpression:
    names = list(PARAM_ATTR_DEFAULTS)
    initializer: cst.BaseExpression = cst.Name("None")
    for name, arg in _bound(call, names):
        if name == "initializer":
            initializer = arg.value
        elif name != "name" and _BLANK.code_for_node(arg.value) != repr(PARAM_ATTR_DEFAULTS[name]):
            raise ValueError(f"`{name}` of `ParamAttr` changes how the parameter trains and is not converted")
    return initializer


def _slice(arguments: Mapping[str, cst.Arg]) -> cst.BaseExpression:
    """`paddle.slice(x, axes=[1], starts=[1], ends=[2])` -> `x[:, 1:2]`."""
    lists = []
    for name in ("axes", "starts", "ends"):
        value = arguments[name].value if name in arguments else None
        if not isinstance(value, cst.List | cst.Tuple):
            raise ValueError(f"`{name}` of `paddle.slice` must be a list in the call")
        lists.append([_BLANK.code_for_node(element.value) for element in value.elements])
    axes = [int(axis) for axis in lists[0] if axis.isdigit()]
    if len(axes) != len(lists[0]):
        raise ValueError("`axes` of `paddle.slice` must not be negative")
    parts = [":"] * (max(axes) + 1)
    for axis, start, end in zip(axes, lists[1], lists[2], strict=True):
        parts[axis] = f"{start}:{end}"
    return cst.parse_expression(f"{_BLANK.code_for_node(_atom(arguments['input'].value))}[{', '.join(parts)}]")
