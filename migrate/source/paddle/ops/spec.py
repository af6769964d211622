"""What an op is: Paddle's signature, the result's shape and dtype, and the forms in which TensorFlow computes it.

The last form is always the helper of `runtime.nn.functional` with the same name and arguments: it computes what Paddle
does for all shapes and dtypes. The forms before it are plain TensorFlow, each with the condition under which it
computes the same.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from migrate.source.paddle.abstract.values import Refuse, Value

REQUIRED = object()  #: marks a parameter without a default
Arguments = Mapping[str, Value]  #: Paddle's parameter names -> values, with defaults
Condition = Callable[[Arguments], bool]
Result = Callable[[Arguments], Value]


def _always(bound: Arguments) -> bool:
    return True


@dataclass(frozen=True)
class Form:
    """One spelling in TensorFlow.

    `tf` is an expression over Paddle's parameter names. If it is one call with keywords (`tf.concat(values=x,
    axis=axis)`), the layout of the source is kept: keywords are in TensorFlow's positional order, and omitted arguments
    are not written unless they are in `write`. Any other expression is a template. The empty text leaves the source
    as it is.
    """

    tf: str
    when: Condition = _always
    write: tuple[str, ...] = ()  #: parameters that are always written, because defaults differ
    ignored: bool = False  #: whether arguments that the expression does not use have no effect

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The names in the expression; an argument that it does not use must have its default."""
        tree = ast.parse(self.tf or "None", mode="eval")
        return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


AS_IT_IS = Form("")


@dataclass(frozen=True)
class Op:
    """One function of Paddle.

    `paddle` is the signature. Parameters after `*` take the rest of positional arguments: `reshape(x, *shape)`.
    """

    paddle: str
    result: Result  #: raises `Refuse` for what Paddle itself refuses, or no form computes
    forms: tuple[Form, ...] = ()
    methods: tuple[str, ...] = ()  #: tensor methods with the same meaning; the receiver is the first argument
    aliases: tuple[str, ...] = ()  #: other dotted names
    helper: str = ""  #: its name in `runtime.nn.functional`, if it is another

    @cached_property
    def name(self) -> str:
        """Paddle's dotted name."""
        return self.paddle.partition("(")[0]

    @property
    def functional(self) -> str:
        """The helper's name."""
        return self.helper or self.name.rpartition(".")[2]

    @cached_property
    def _signature(self) -> ast.arguments:
        tree = ast.parse(f"def f({self.paddle.partition('(')[2][:-1]}): ...").body[0]
        assert isinstance(tree, ast.FunctionDef)
        return tree.args

    @property
    def rest(self) -> str:
        """The parameter that takes the rest of the positional arguments, or an empty text."""
        return self._signature.vararg.arg if self._signature.vararg else ""

    @cached_property
    def parameters(self) -> Mapping[str, Value]:
        """Parameter name -> default (or `REQUIRED`), in order."""
        names = [argument.arg for argument in self._signature.args]
        defaults = [ast.literal_eval(default) for default in self._signature.defaults]
        parameters = dict(zip(names, [REQUIRED] * (len(names) - len(defaults)) + defaults, strict=True))
        parameters |= {self.rest: ()} if self.rest else {}
        for argument, default in zip(self._signature.kwonlyargs, self._signature.kw_defaults, strict=True):
            parameters[argument.arg] = REQUIRED if default is None else ast.literal_eval(default)
        return parameters

    def bind(self, positional: list[Value], keywords: Mapping[str, Value]) -> dict[str, Value]:
        """Return parameter -> value, with defaults; raises `Refuse` for arguments that the function does not have."""
        plain = [argument.arg for argument in self._signature.args]
        if len(positional) > len(plain) and not self.rest:
            raise Refuse(f"`{self.name}` takes {len(plain)} arguments, and {len(positional)} are given")
        bound = dict(zip(plain, positional, strict=False))
        if self.rest and len(positional) > len(plain):
            bound[self.rest] = tuple(positional[len(plain) :])
        for name, value in keywords.items():
            if name not in self.parameters or name in bound:
                raise Refuse(f"`{self.name}` has no argument `{name}`, or it is given twice")
            bound[name] = value
        result = {name: bound.get(name, default) for name, default in self.parameters.items()}
        if missing := [name for name, value in result.items() if value is REQUIRED]:
            raise Refuse(f"`{self.name}` is called without `{missing[0]}`")
        return result

    def form(self, bound: Arguments) -> int:
        """Return the index of the first form that computes the same for these arguments; that of the helper is last."""
        for index, form in enumerate(self.forms):
            if self._fits(form, bound):
                return index
        return len(self.forms)

    def _fits(self, form: Form, bound: Arguments) -> bool:
        for name, default in self.parameters.items():
            if (
                form.tf
                and not form.ignored
                and name not in form.mentioned
                and name != "name"
                and not _equal(bound[name], default)
            ):
                return False
        return form.when(bound)


def _equal(value: Value, default: Value) -> bool:
    plain = isinstance(value, (bool, int, float, str, tuple)) and type(value) is type(default)
    return value is default or (plain and bool(value == default))


def function(signature: str, result: Result, tf: str = "", when: Condition = _always, **more: Any) -> Op:
    """Return the row of a function of `paddle`, with the form `tf` where the condition holds; `more` is of `Op`."""
    return Op(f"paddle.{signature}", result, (Form(tf, when),) if tf else (), **more)


def method(signature: str, result: Result, tf: str = "", when: Condition = _always, **more: Any) -> Op:
    """Return the row of a function that tensors have as a method of its name, too."""
    return function(signature, result, tf, when, methods=(signature.partition("(")[0],), **more)
