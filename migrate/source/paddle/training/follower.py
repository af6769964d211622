"""Interprets a method of the trainer; what it does to the model or the loss is a problem."""

from __future__ import annotations

import ast

from migrate.source.paddle.interpreter.run import Frame
from migrate.source.paddle.mapping.values import Api, Function, Stop, Value
from migrate.source.paddle.training import expressions, loops
from migrate.source.paddle.training.following import Following
from migrate.source.paddle.training.values import (
    BATCH,
    TRAINER_SELF,
    Computed,
    Fed,
    Feeds,
    Loss,
    Many,
    Metrics,
    Parameters,
    Returned,
    Trainer,
    is_metrics,
    is_plain,
    origins_of,
)

MOST_TURNS = 1000
MOST_CALLS = 200
DEEPEST = 20


class Follower(Following):
    """Follows statements, and hands expressions to `expressions.py` and loops of unknown length to `loops.py`."""

    def call(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Interpret a function or method of the trainer's file and return its result."""
        self.calls += 1
        if self.calls > MOST_CALLS or len(self.run.frames) > DEEPEST:
            self.run.problem(function.node, "the recursion of these functions is too deep")
            raise Stop
        owner = f"{function.owner.name}." if function.owner else ""
        names = self._bound(function, positional, keywords)
        self.run.frames.append(Frame(function.module, owner + function.node.name, names))
        try:
            if function.node.decorator_list:
                self.problem(function.node.decorator_list[0], "a decorator is not supported in the trainer")
            self.body(function.node.body)
        except Returned as returned:
            return returned.value
        finally:
            self.run.frames.pop()
        return None

    def _bound(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
        spec = function.node.args
        plain = [*spec.posonlyargs, *spec.args]
        if function.owner is not None:
            positional = [TRAINER_SELF, *positional]
        names: dict[str, Value] = {}
        defaults = list(zip(plain[len(plain) - len(spec.defaults) :], spec.defaults, strict=True))
        defaults += [(arg, node) for arg, node in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if node]
        for parameter, node in defaults:
            names[parameter.arg] = node.value if isinstance(node, ast.Constant) else Computed()
        return names | dict(zip([arg.arg for arg in plain], positional, strict=False)) | keywords

    def body(self, statements: list[ast.stmt]) -> None:
        """Interpret statements."""
        for statement in statements:
            self.run.tick(statement)
            handler = getattr(self, f"_do_{type(statement).__name__}", None)
            if handler is None:
                kind = type(statement).__name__.lower()
                self.problem(statement, f"`{kind}` statements are not supported in the trainer")
                raise Stop
            handler(statement)

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        self.run.tick(node)
        return expressions.evaluate(self, node)

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        before = len(self.run.problems)
        found = self.value(node.value)
        if len(self.run.problems) > before:
            return  # already reported
        done = is_metrics(found) or isinstance(found, Metrics | Loss) or is_plain(found)
        if not done and expressions.calls_untold(self, node.value):
            self.problem(node, "the effect of this call is not converted; remove the call")

    def _do_Assign(self, node: ast.Assign) -> None:
        found = self.value(node.value)
        for target in node.targets:
            self.assign(target, found)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        before, added = self.value(node.target), self.value(node.value)
        if isinstance(before, list) and isinstance(added, list | tuple) and isinstance(node.op, ast.Add):
            self.may_change(before, node)
            before.extend(added)
        else:
            self.assign(node.target, expressions.combined(self, node, node.op, before, added))

    def assign(self, target: ast.expr, found: Value) -> None:
        """Assign to a name; assigning an attribute or item of a lasting object is a problem."""
        if isinstance(target, ast.Name):
            self.names[target.id] = found
        elif isinstance(target, ast.Tuple | ast.List):
            parts = self._parts(target, found)
            for item, part in zip(target.elts, parts, strict=True):
                self.assign(item, part)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, self.value(target.value), found)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, self.value(target.value), found)
        else:
            self.problem(target, "this assignment is not supported")

    def _parts(self, target: ast.Tuple | ast.List, found: Value) -> list[Value]:
        count = len(target.elts)
        items = Feeds() if found is BATCH else found
        if isinstance(items, Feeds):
            return [items[i] for i in range(count)]
        fits = isinstance(items, list | tuple) and len(items) == count
        return list(items) if fits else [self.computed(target, items) for _ in target.elts]

    def _assign_attribute(self, target: ast.Attribute, owner: Value, found: Value) -> None:
        if isinstance(owner, Fed) and target.attr == "stop_gradient":
            return  # the input has no gradient
        if isinstance(owner, Trainer) and not self.steps and not self.unsure:
            self.kept[target.attr] = found
        elif isinstance(owner, Trainer):
            self.problem(target, "the trainer stores this from step to step, which a graph does not; remove it")
        else:
            self.problem(target, f"`{ast.unparse(target)}` is set here, which the converted module does not do")

    def _assign_item(self, target: ast.Subscript, owner: Value, found: Value) -> None:
        key = self.value(target.slice)
        try:
            if isinstance(owner, dict | list) and is_plain(key):
                self.may_change(owner, target)
                owner[key] = found
                return
        except (LookupError, TypeError):
            pass
        if not isinstance(owner, Metrics):
            self.problem(target, f"`{ast.unparse(target)}` is set here, which the converted module does not do")

    def _do_For(self, node: ast.For) -> None:
        items = self.value(node.iter)
        if isinstance(items, Many | Metrics):
            loops.repeat(self, node, items)
            return
        if isinstance(items, Computed | Parameters) and origins_of(items):
            self.problem(node, f"the effect of this loop on `{ast.unparse(node.iter)}` is not converted; remove it")
            return
        if not isinstance(items, list | tuple | range | dict) or len(items) > MOST_TURNS:
            self.problem(node, "the number of iterations of this loop is unknown")
            raise Stop
        for item in list(items):
            self.assign(node.target, item)
            self.body(node.body)
        self.body(node.orelse)

    def _do_If(self, node: ast.If) -> None:
        test = self.value(node.test)
        if not is_plain(test):
            self.problem(node.test, "this condition of the trainer is known only at run time")
            raise Stop
        self.body(node.body if test else node.orelse)

    def _do_Return(self, node: ast.Return) -> None:
        raise Returned(None if node.value is None else self.value(node.value), node)

    def _do_Assert(self, node: ast.Assert) -> None:
        self.value(node.test)

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Import(self, node: ast.Import) -> None:
        for item in node.names:
            self.names[item.asname or item.name.split(".")[0]] = Api(
                item.name if item.asname else item.name.split(".")[0]
            )

    def _do_ImportFrom(self, node: ast.ImportFrom) -> None:
        for item in node.names:
            self.names[item.asname or item.name] = Api(f"{node.module or ''}.{item.name}")
