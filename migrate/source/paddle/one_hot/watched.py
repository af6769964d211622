"""The machine that watches a trainer: what it does with the model, the batch and the loss, and its optimizer."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from migrate.schema import Schema
from migrate.source.paddle.abstract import layers
from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.machine import Machine, bind
from migrate.source.paddle.abstract.run import Frame, Problem
from migrate.source.paddle.abstract.values import (
    Api,
    Class,
    Described,
    Function,
    Instance,
    Item,
    LayerValue,
    Method,
    Module,
    Refuse,
    Span,
    Stop,
    Tensor,
    Unknown,
    Value,
    Weight,
    words,
)
from migrate.source.paddle.one_hot.model import arguments_of, is_plain
from migrate.source.paddle.one_hot.trainer import only_classes
from migrate.source.paddle.ops.described import DESCRIBED
from migrate.source.paddle.ops.spec import Op

_KEPT = "the model that is converted begins as its class makes it"
_SPLIT = "of the parameters of a model with a one-hot input, some rows are those of a table"
_READS = words("set_value parameters named_parameters state_dict to_static_state_dict apply set_state_dict")
_CHANGES = frozenset({"set_value", "add_sublayer", "add_parameter", "register_buffer", "create_parameter"})


@dataclass(eq=False)
class LossCall:
    """One call of `create_loss`."""

    node: ast.AST
    arguments: dict[str, Value]
    spelled: dict[str, str]  #: parameter -> source text of its argument
    result: Value = None


@dataclass
class Watched(Machine):
    """Executes a model by the schema, and its trainer, whose calls of the model and of the loss are recorded."""

    model_class: Class = None  # type: ignore[assignment]
    schema: Schema = None  # type: ignore[assignment]
    arguments: Mapping[str, Value] = field(default_factory=dict)  #: what the model is made with
    model: Instance | None = None
    loss_node: ast.AST | None = None
    returned: Value = None  #: what the model returns
    following: bool = False  #: whether the trainer is executed, not the model or the loss
    made_with: dict[str, Value] = field(default_factory=dict)  #: arguments of the model's class in `create_model`
    inputs: list[tuple[Value, Module, ast.AST]] = field(default_factory=list)  #: what the model is called with, where
    losses: list[LossCall] = field(default_factory=list)
    outputs: dict[int, tuple[Tensor, int]] = field(default_factory=dict)  #: id -> output of the model, its index
    #: id of a tensor -> where it is computed
    origins: dict[int, tuple[Value, Module, ast.AST]] = field(default_factory=dict)
    optimizers: dict[int, tuple[Described, Span]] = field(default_factory=dict)
    parts: set[int] = field(default_factory=set)  #: ids of the model, its layers and its weights

    @contextlib.contextmanager
    def apart(self, module: Module, node: ast.AST) -> Iterator[None]:
        """Execute what is converted, in the course of the trainer; what is refused is a problem of this node."""
        depth, before, self.following = len(self.frames), self.following, False
        self.frames.append(Frame(module, ""))
        try:
            yield
        except Refuse as reason:
            self.problem_in(module, node, str(reason))
            raise Stop from None
        finally:
            del self.frames[depth:]
            self.following = before

    def make_model(self, arguments: dict[str, Value]) -> Value:
        """Return the model, which is made once, with these arguments and those of the schema."""
        self.made_with = self.made_with or arguments
        if self.model is not None:
            return self.model
        cls = self.model_class
        self.arguments = arguments_of(self.schema, cls, arguments)
        with self.apart(cls.module, cls.node):
            self.model = layers.instantiate(self, _called(cls), cls, [], dict(self.arguments))
        for _, layer in named_layers(self.model):
            self.parts |= {id(layer), *map(id, layer.weights.values())}
        self._begin()
        return self.model

    def run_model(self, value: Value) -> Value:
        """Execute the model with its input; what it returns is returned to the trainer, too."""
        assert self.model is not None
        cls = self.model_class
        self._begin()
        with self.apart(cls.module, cls.node):
            self.returned = layers.forward(self, _called(cls), self.model, [value], {})
        return self.returned

    def _begin(self) -> None:
        """Begin a pass, before which there was what is made so far."""
        self.lasting.begin([*self.modules.values(), *self.layers, *self.defaults.values()])

    def call(self, node: ast.AST, callee: Value, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Call any value; of a trainer, record what it does with the model and the loss."""
        of_model = isinstance(callee, Method) and isinstance(callee.receiver, (Weight, LayerValue))
        if not self.following:
            if of_model and callee.name in _READS:
                raise Refuse(f"`.{callee.name}` is not supported here: {_SPLIT}")
            return super().call(node, callee, positional, keywords)
        if isinstance(callee, Class) and callee is self.model_class:
            return self.make_model(self._arguments(callee, positional, keywords))
        if callee is self.model or self._is_forward(callee):
            return self._passed(node, [*positional, *keywords.values()])
        if isinstance(callee, Function) and callee.node is self.loss_node:
            return self._lost(node, callee, positional, keywords)
        if isinstance(callee, Api) and callee.name.startswith(_MODULE) and callee.name.count(".") == 2:
            return self._optimizer(node, callee.name, positional, keywords)
        if of_model and callee.name in _CHANGES:
            raise Refuse(f"`.{callee.name}` changes which parameters are trained, or how they begin; {_KEPT}")
        return super().call(node, callee, positional, keywords)

    def call_function(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Execute a function of the program; those of a trainer have no decorators."""
        of_trainer = self.following or function.node is self.loss_node
        if of_trainer and isinstance(function.node, ast.FunctionDef) and function.node.decorator_list:
            self.problem_in(function.module, function.node.decorator_list[0], "a decorator is not supported here")
        return super().call_function(function, positional, keywords)

    def apply(
        self, node: ast.AST, op: Op, positional: list[Value], keywords: Mapping[str, Value], kind: str = "call"
    ) -> Value:
        """Execute an op; of a trainer, take note where a tensor is computed."""
        result = super().apply(node, op, positional, keywords, kind)
        if self.following and isinstance(result, Tensor) and not isinstance(result, Item):
            self.origins[id(result)] = (result, self.frame.module, node)
        return result

    def set_attribute(self, node: ast.AST, receiver: Value, name: str, value: Value) -> None:
        """Set an attribute; a trainer must not set those of the model."""
        if self.following and (id(receiver) in self.parts or isinstance(receiver, Class)):
            raise Refuse(f"`{name}` of the model is set here; {_KEPT}")
        if self.following and isinstance(receiver, Tensor) and not isinstance(receiver, Item) and name != "name":
            raise Refuse(f"`{name}` of what the model or the loss returns is set here, which changes what is trained")
        if isinstance(receiver, Class) and receiver.find(name) is not None:
            raise Refuse(f"`{receiver.name}.{name}` is replaced here; define it in the class")
        super().set_attribute(node, receiver, name, value)

    def _run_With(self, node: ast.With) -> Iterator[Value]:
        if self.following:
            raise Refuse("`with` statements are not supported in the trainer")
        return super()._run_With(node)

    def problem_in(self, module: Module, node: ast.AST, message: str) -> None:
        """Record a problem at a node of a file."""
        self.frames.append(Frame(module, scope_at(module, getattr(node, "lineno", 0))))
        self.problem(node, message)
        self.frames.pop()

    def problem_at(self, module: Module, span: Span, message: str) -> None:
        """Record a problem at a position of a file."""
        source = module.lines[span[0] - 1].strip()
        problem = Problem(module.path, span, scope_at(module, span[0]), message, source)
        self.problems.setdefault((module.path, span), problem)

    def blame(self, value: Value, module: Module, node: ast.AST, message: str) -> None:
        """Record a problem where a value is made; at `node` if that is not known."""
        origin = next((self.origins[id(item)] for item in _tensors(value) if id(item) in self.origins), None)
        self.problem_in(*(origin[1:] if origin else (module, node)), message)

    def _is_forward(self, callee: Value) -> bool:
        if not isinstance(callee, Function) or callee.receiver is not self.model or self.model is None:
            return False
        definition = self.model.cls.find("forward")
        return definition is not None and callee.node is definition[0]

    def _arguments(self, cls: Class, positional: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
        constructor = cls.method("__init__")
        if constructor is None:
            return {}
        names = bind(self, constructor, [None, *positional], keywords)
        names.pop(constructor.node.args.args[0].arg)
        return names

    def _passed(self, node: ast.AST, inputs: list[Value]) -> Value:
        self.inputs += [(value, self.frame.module, node) for value in inputs]
        outputs = [replace(item, sources=()) for item in self.listed()]
        self.outputs |= {id(item): (item, index) for index, item in enumerate(outputs)}
        return outputs if isinstance(self.returned, (list, tuple)) else outputs[0]

    def listed(self) -> list[Tensor]:
        """Return the outputs of the model."""
        return list(self.returned) if isinstance(self.returned, (list, tuple)) else [self.returned]

    def _lost(self, node: ast.AST, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Execute the loss of outputs and labels; these are what the module gives them: columns of numbers."""
        receiver = [] if function.receiver is None else [function.receiver]
        names = bind(self, function, [*receiver, *positional], keywords)
        own = names.pop(function.node.args.args[0].arg, None)
        order = [item.arg for item in function.node.args.args][1:]
        self.losses.append(LossCall(node, names, _spelled(node, order)))
        values = {name: self._as_given(function, name, value) for name, value in names.items()}
        with self.apart(function.module, function.node):
            result = self.call_function(replace(function, receiver=None), [own], values)
        self.losses[-1].result = result
        if isinstance(result, Tensor) and result.shape not in ((), (1,), None):
            message = f"the loss is a tensor of shape {list(result.shape or ())}; it must be a scalar"
            self.problem_in(function.module, function.node, message)
        return result

    def _as_given(self, function: Function, name: str, value: Value) -> Value:
        if not isinstance(value, (Item, Unknown)):
            return value
        return Tensor((None, 1), "int64" if only_classes(function.node, name) else "float32", fed=True)

    def _optimizer(self, node: ast.AST, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Return an optimizer with its arguments by name; one at an unknown position is named by it, e.g. `#4`."""
        names = list(DESCRIBED[name].parameters) if name in DESCRIBED else ["learning_rate"]
        arguments = {(names[i] if i < len(names) else f"#{i}"): value for i, value in enumerate(positional)}
        optimizer = Described(name, arguments | keywords)
        self.optimizers[id(optimizer)] = optimizer, self.place(node)[1]
        return optimizer


def _called(cls: Class) -> ast.AST:
    """Return a call of a class, which stands where the class does."""
    return ast.copy_location(ast.Call(ast.Name(cls.name, ast.Load()), [], []), cls.node)


def _spelled(node: ast.AST, order: list[str]) -> dict[str, str]:
    if not isinstance(node, ast.Call) or any(isinstance(item, ast.Starred) for item in node.args):
        return {}
    texts = dict(zip(order, map(ast.unparse, node.args), strict=False))
    return texts | {item.arg: ast.unparse(item.value) for item in node.keywords if item.arg}


def _tensors(value: Value) -> list[Value]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _tensors(item)]
    return [value]


def scope_at(module: Module, line: int) -> str:
    """Return the qualified name of the innermost method, function or class around a line of a file."""
    for node in module.tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.lineno <= line <= (node.end_lineno or 0):
            methods = [
                item for item in node.body if isinstance(node, ast.ClassDef) and isinstance(item, ast.FunctionDef)
            ]
            inner = [f"{node.name}.{item.name}" for item in methods if item.lineno <= line <= (item.end_lineno or 0)]
            return next(iter(inner), node.name)
    return ""


_MODULE = "paddle.optimizer."


@dataclass(frozen=True)
class Optimizer:
    """The optimizer that `create_optimizer` returns."""

    name: str  #: Paddle's class, e.g. `Adam`; empty if unknown
    arguments: dict[str, Value]  #: numbers and flags that are not None
    beyond: tuple[str, ...]  #: other settings, as in the source
    span: Span  #: of the call that makes it; empty, at the function, if unknown


def optimizer_of(call: tuple[Described, Span] | None, parameters: Iterable[Value], line: int) -> Optimizer:
    """Return the optimizer that `create_optimizer` returns.

    Args:
        call: what the function returns, and where it is made; None if that is no optimizer.
        parameters: all of the model's parameters.
        line: that of the function.
    """
    if call is None:
        message = "`create_optimizer` does not return a single Paddle optimizer"
        return Optimizer("", {}, (message,), (line, 0, line, 0))
    optimizer, span = call
    spec = DESCRIBED[optimizer.name].parameters if optimizer.name in DESCRIBED else {}
    every = {**{key: default for key, default in spec.items() if key.endswith("weight_decay")}, **optimizer.arguments}
    settings = {name: one for name, one in every.items() if name not in {"name", "parameters"} and one is not None}
    numbers = {name: one for name, one in settings.items() if isinstance(one, (bool, int, float))}
    plain = numbers.keys() - {name for name, one in settings.items() if name.endswith("weight_decay") and one}
    beyond = [_told(name, one) for name, one in settings.items() if name not in plain or name.startswith("#")]
    trained = optimizer.arguments.get("parameters")
    if not isinstance(trained, (list, tuple)) or {id(one) for one in trained} != {id(one) for one in parameters}:
        beyond.append("it does not train all of `parameters()`")
    return Optimizer(optimizer.name.removeprefix(_MODULE), numbers, tuple(beyond), span)


def _told(name: str, value: Value) -> str:
    if isinstance(value, Described):
        return f"{name}={value.name.removeprefix('paddle.')}"
    return f"{name}={value!r}" if is_plain(value) else f"`{name}`, which is computed"
