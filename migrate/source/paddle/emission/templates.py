"""Writes one call in the form of an op: renames keywords and keeps the layout, or fills a template."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence

import libcst as cst

from migrate.source.paddle.emission import templates
from migrate.source.paddle.ops import registry
from migrate.source.paddle.ops.spec import Form, Op

_BLANK = cst.Module([])


class Unwritable(Exception):
    """The source's arguments do not fit a form; the helper takes them as they are."""


@functools.lru_cache(maxsize=16)  # the files of a folder are judged one by one, and rewritten together
def parsed(text: str) -> cst.Module:
    """Return the module of a text; raises cst.ParserSyntaxError."""
    return cst.parse_module(text)


def in_form(op: Op, form: Form, call: cst.Call | None, args: Sequence[cst.Arg]) -> cst.BaseExpression:
    """Return the expression that `form` gives for these arguments.

    Args:
        op: the op.
        form: one of its forms, with a text.
        call: the call, whose layout is kept; None for an operator.
        args: its arguments, with the receiver of a method in front.

    Raises:
        Unwritable: the arguments are given by `*` or `**`, or one cannot be left out.
    """
    bound = _bound(op, args)
    target = cst.parse_expression(form.tf)
    _check_dropped(op, form, bound)
    if call is None or not (isinstance(target, cst.Call) and target.args and all(arg.keyword for arg in target.args)):
        return _filled(op, form, target, bound)
    renames: dict[str, str] = {}
    fixed: list[cst.Arg] = []
    for arg in target.args:
        assert arg.keyword is not None
        if isinstance(arg.value, cst.Name) and arg.value.value in op.parameters:
            renames[arg.value.value] = arg.keyword.value
        else:
            fixed.append(arg)
    bound_names = {name for name, _ in bound}
    for name in form.write:
        if name not in bound_names:
            fixed.append(_keyword(renames[name], cst.parse_expression(repr(op.parameters[name]))))
    return _renamed(call, _BLANK.code_for_node(target.func), bound, renames, fixed)


def of_helper(function: str, call: cst.Call | None, args: Sequence[cst.Arg]) -> cst.Call:
    """Return a call of a helper with the arguments as they are."""
    func = cst.parse_expression(function)
    separated = _with_commas(list(args), None)
    if call is None:
        return cst.Call(func, separated)
    return call.with_changes(func=func, args=separated, lpar=call.lpar, rpar=call.rpar)


def operands(*nodes: cst.BaseExpression) -> list[cst.Arg]:
    """Return expressions as the arguments of a call, without the parentheses that they do not need there."""
    return [cst.Arg(_bare(node)) for node in nodes]


def comma() -> cst.Comma:
    """Return a comma and a space."""
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def _bound(op: Op, args: Sequence[cst.Arg]) -> list[tuple[str, cst.Arg]]:
    """Return (Paddle's parameter, argument), in the order of the source."""
    names = [name for name in op.parameters if name != op.rest]
    bound: list[tuple[str, cst.Arg]] = []
    rest: list[cst.Arg] = []
    for index, arg in enumerate(args):
        if arg.star:
            raise Unwritable("the arguments are given by `*` or `**`")
        if arg.keyword is not None:
            bound.append((arg.keyword.value, arg))
        elif index < len(names):
            bound.append((names[index], arg))
        else:
            rest.append(arg)
    if rest:
        bound.append((op.rest, cst.Arg(_listed(rest))))
    return bound


def _listed(args: list[cst.Arg]) -> cst.BaseExpression:
    if len(args) == 1 and isinstance(args[0].value, (cst.List, cst.Tuple)):
        return args[0].value
    last = len(args) - 1
    return cst.List(
        [cst.Element(arg.value, comma() if i < last else cst.MaybeSentinel.DEFAULT) for i, arg in enumerate(args)]
    )


def _check_dropped(op: Op, form: Form, bound: list[tuple[str, cst.Arg]]) -> None:
    for name, arg in bound:
        if form.ignored or name in form.mentioned or name == "name":
            continue
        try:
            same = ast.literal_eval(_BLANK.code_for_node(arg.value)) == op.parameters[name]
        except (ValueError, SyntaxError, TypeError):
            same = False
        if not same:
            raise Unwritable(f"`{name}` has no equivalent")


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
    func = cst.parse_expression(target)
    return call.with_changes(func=func, args=_with_commas(args, bound[-1][1] if dropped else None))


def _with_keyword(arg: cst.Arg, name: str) -> cst.Arg:
    if arg.keyword is not None:
        return arg.with_changes(keyword=cst.Name(name))
    named = _keyword(name, arg.value)
    return named.with_changes(comma=arg.comma, whitespace_after_arg=arg.whitespace_after_arg)


def _with_commas(args: list[cst.Arg], dropped: cst.Arg | None) -> list[cst.Arg]:
    """Separate arguments by commas; comments before a dropped last argument are kept."""
    result = [
        arg if isinstance(arg.comma, cst.Comma) or index == len(args) - 1 else arg.with_changes(comma=comma())
        for index, arg in enumerate(args)
    ]
    if dropped is not None and result and isinstance(result[-1].comma, cst.Comma):
        after = result[-1].comma.whitespace_after
        kept = after if "#" in cst.Module([]).code_for_node(after) else dropped.whitespace_after_arg
        result[-1] = result[-1].with_changes(comma=dropped.comma, whitespace_after_arg=kept)
    return result


def _filled(op: Op, form: Form, target: cst.BaseExpression, bound: list[tuple[str, cst.Arg]]) -> cst.BaseExpression:
    """Substitute the arguments in a template."""
    values = {name: arg.value for name, arg in bound}
    if isinstance(target, cst.Name):  # one of the arguments, or a constant
        return values.get(target.value, target)
    if isinstance(target, cst.SimpleString):
        return target
    for name, default in op.parameters.items():
        if name not in values and name in form.mentioned:
            values[name] = cst.parse_expression(repr(default))

    class Fill(cst.CSTTransformer):
        def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
            return updated_node.with_changes(keyword=original_node.keyword, value=_bare(updated_node.value))

        def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
            return updated_node.with_changes(attr=original_node.attr)

        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
            return atom(values[updated_node.value]) if updated_node.value in values else updated_node

    expression = target.visit(Fill())
    assert isinstance(expression, cst.BaseExpression)
    return atom(expression) if isinstance(expression, cst.BinaryOperation) else expression


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """Take the parentheses away that an argument of a call does not need."""
    loose = isinstance(node, (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.Comparison, cst.IfExp))
    return (
        node.with_changes(lpar=[], rpar=[])
        if loose and len(node.lpar) == 1 and "\n" not in _BLANK.code_for_node(node)
        else node
    )


def atom(node: cst.BaseExpression) -> cst.BaseExpression:
    """Put an expression in parentheses if it needs them inside another expression."""
    loose = isinstance(
        node, (cst.BinaryOperation, cst.UnaryOperation, cst.IfExp, cst.BooleanOperation, cst.Comparison, cst.Lambda)
    )
    if loose and not node.lpar:
        return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return node


_NOT_REACHED = 'raise NotImplementedError("not converted: the given configuration does not come here")'


def is_function(dotted: str) -> bool:
    """Whether a lower-case name of Paddle is a function of `runtime.nn`, not a module."""
    return dotted in {"paddle.create_parameter", "paddle.no_grad"} or registry.dtype(dotted) is not None


def text(node: cst.BaseExpression) -> str:
    """Return a dotted name as text; empty for other expressions."""
    if isinstance(node, cst.Attribute):
        return f"{text(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def of_paddle(name: cst.BaseExpression) -> bool:
    """Return whether a name that is imported is of Paddle."""
    return cst.Module([]).code_for_node(name).partition(".")[0] == "paddle"


def last_without_comma(names: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """Return imported names, the last one without a comma."""
    return [*names[:-1], names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]


def raising(body: cst.BaseSuite) -> cst.BaseSuite:
    """Return a block that raises an error in place of one that was not executed."""
    statement = cst.parse_statement(_NOT_REACHED)
    if not isinstance(body, cst.IndentedBlock):
        return cst.IndentedBlock([statement])
    lines = getattr(body.body[0], "leading_lines", ())
    return body.with_changes(body=[statement.with_changes(leading_lines=lines)], footer=[])


def argument(call: cst.Call, name: str) -> str:
    """Return the text of an argument that is given by its name, or comes first."""
    named = (arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name)
    return cst.Module([]).code_for_node(next(named, call.args[0]).value)


def with_argument(call: cst.Call, name: str, value: str) -> cst.Call:
    """Return a call with one more keyword."""
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    args = [*call.args]
    if args and not isinstance(args[-1].comma, cst.Comma):
        args[-1] = args[-1].with_changes(comma=templates.comma())
    return call.with_changes(args=[*args, cst.Arg(cst.parse_expression(value), cst.Name(name), tight)])


def index(node: cst.Subscript) -> cst.BaseExpression:
    """Return what stands in the brackets as an expression, with `slice(a, b)` for `a:b`."""
    parts = [part(element.slice) for element in node.slice]
    if len(parts) == 1 and not isinstance(node.slice[0].comma, cst.Comma):
        return parts[0]
    last = len(parts) - 1
    elements = [
        cst.Element(part, templates.comma() if i < last else cst.MaybeSentinel.DEFAULT) for i, part in enumerate(parts)
    ]
    return cst.Tuple(elements, [cst.LeftParen()], [cst.RightParen()])


def part(part: cst.BaseSlice) -> cst.BaseExpression:
    if isinstance(part, cst.Index):
        return part.value
    assert isinstance(part, cst.Slice)
    bounds = [part.lower, part.upper] + ([part.step] if part.step is not None else [])
    return cst.Call(cst.Name("slice"), [cst.Arg(item if item is not None else cst.Name("None")) for item in bounds])
