"""Calls: of ops, layers, functions and classes of the program, of Python's functions, and of methods."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from migrate.source.paddle.abstract import attributes, layers, python_calls
from migrate.source.paddle.abstract.definitions import questions
from migrate.source.paddle.abstract.host import metrics
from migrate.source.paddle.abstract.lasting import is_random
from migrate.source.paddle.abstract.libraries import records
from migrate.source.paddle.abstract.python_calls import (
    BUILTINS,
    check_power,
    library_function,
    python_method,
    run_python,
)
from migrate.source.paddle.abstract.run import Run, derive
from migrate.source.paddle.abstract.values import (
    UNKNOWN,
    Api,
    Class,
    Container,
    Described,
    Dtype,
    Fetched,
    Function,
    Instance,
    LayerValue,
    Method,
    Partial,
    Refuse,
    Size,
    Super,
    Tensor,
    Unknown,
    Value,
    Weight,
    mentions,
    words,
)
from migrate.source.paddle.ops import registry
from migrate.source.paddle.ops.spec import Op

_FIRST_ONLY = frozenset({"isinstance", "hasattr", "callable", "print", "type", "len", "issubclass"})
_NOT_IN_GRAPHS = {
    "set_value": "only parameters are set, by an initializer such as `nn.initializer.Assign`",
    "backward": "the optimizer's `minimize` computes gradients, after `train_forward`",
    "gradient": "use `tf.gradients`",
    "item": "it has no value when the graph is built; return the tensor, and take the value of what the session gives",
}
_STRUCTURE = words("list tuple enumerate zip reversed set dict len iter sorted repr str")


def call(run: Run, node: ast.AST, callee: Value, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call a value; raises `Refuse` for what is not supported."""
    if isinstance(callee, (Unknown, Fetched)):
        return callee
    if run.in_step and (measured := metrics.called(run, node, callee, positional, keywords)) is not None:
        return measured[0]
    if isinstance(callee, Method) and isinstance(callee.receiver, Tensor):
        return _tensor_method(run, node, callee, positional, keywords)
    if isinstance(callee, Api) and callee.name == "paddle.is_tensor":
        return questions.is_tensor(run, node, positional, keywords)
    if isinstance(callee, Api) and (op := _op_of(callee.name, positional, keywords)) is not None:
        if op.name.startswith("paddle.static.") and not run.static:
            raise Refuse(f"`{op.name}` is of static graphs; Paddle refuses it in a dynamic one, too")
        return run.apply(node, op, positional, keywords)
    run.record_plain(node)
    if isinstance(callee, Api):
        return _api(run, node, callee.name, positional, keywords)
    if isinstance(callee, Function) and metrics.is_step(run, callee):
        return metrics.step(run, callee, positional, keywords)
    if isinstance(callee, Function):
        return run.call_function(callee, positional, keywords)
    if isinstance(callee, Class):
        return layers.instantiate(run, node, callee, positional, keywords)
    if isinstance(callee, LayerValue):
        return layers.forward(run, node, callee, positional, keywords)
    if isinstance(callee, Method):
        return _method(run, node, callee, positional, keywords)
    if isinstance(callee, Partial):
        return call(run, node, callee.func, [*callee.args, *positional], {**callee.keywords, **keywords})
    if isinstance(callee, type) and hasattr(callee, "_fields"):  # a named tuple, which holds anything
        return callee(*positional, **keywords)
    if callee in (dict, list) or callable(callee):
        return _python(callee, positional, keywords)
    what = f"a `{callee.name}`" if isinstance(callee, Described) else f"a {type(callee).__name__}"
    raise Refuse(f"{what} is called like a function, which is not supported; call one of its methods")


def _op_of(name: str, positional: list[Value], keywords: dict[str, Value]) -> Op | None:
    """Return Paddle's op of a dotted name, or NumPy's if a tensor is among the arguments."""
    if name.startswith("numpy.") and mentions([positional, keywords], Tensor):
        return registry.find("tensor." + name)
    return registry.find(name)


def _tensor_method(
    run: Run, node: ast.AST, method: Method, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    if method.name == "set_value" and isinstance(method.receiver, Weight):
        if run.lasting.begun:
            raise Refuse(
                "`.set_value()` of a weight in the forward pass is not supported: a graph sets what weights begin "
                "with, where the model is created; let the optimizer change it, or train this part by another program"
            )
        run.record_plain(node)
        run.not_read(method.receiver)
        return None
    if method.name in _NOT_IN_GRAPHS:
        raise Refuse(f"`.{method.name}()` of a tensor is not supported in a graph: {_NOT_IN_GRAPHS[method.name]}")
    op = registry.method_of(method.receiver, method.name)
    result = run.apply(node, op, [method.receiver, *positional], keywords, "method")
    if method.name.endswith("_"):
        method.receiver.changed = method.name
    return result


def _api(run: Run, node: ast.AST, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    module, _, function = name.partition(".")
    if module == "builtins":
        return _builtin(run, node, function, positional, keywords)
    if module == "paddle" and python_calls.find(run, name) is None:
        return layers.make(run, node, name, positional, keywords)
    if name in _RECORDS:
        return _RECORDS[name](run, node, *positional, **keywords)
    if name == "functools.partial":
        return Partial(positional[0], tuple(positional[1:]), keywords)
    if name == "functools.reduce":
        return functools.reduce(lambda a, b: run.call(node, positional[0], [a, b], {}), positional[1], *positional[2:])
    callee = python_calls.find(run, name) or library_function(name)
    if callee is None:
        raise Refuse(f"`{name}` is not supported")
    if mentions([positional, keywords], Tensor):
        raise Refuse(_of_tensor(name))
    if name.startswith("copy.") and any(map(attributes.is_layer, positional)):
        run.lasting.makes_weights()
    return _python(callee, *_plain(run, node, positional, keywords))


def _of_tensor(name: str) -> str:
    """Return why a function of Python or NumPy is not applied to a tensor, and Paddle's function that does the same."""
    same = f"paddle.{name.rpartition('.')[2]}"
    remedy = f"; use `{same}`" if registry.find(same) is not None else ", which has no value when the graph is built"
    return f"`{name}` of a tensor is not supported{remedy}"


_RECORDS: dict[str, Callable[..., Value]] = {
    "dataclasses.asdict": lambda run, node, value: records.as_dict(value),
    "dataclasses.replace": lambda run, node, value, **changed: layers.instantiate(
        run, node, value.cls, [], records.fields_of(value) | changed
    ),
}


def _plain(
    run: Run, node: ast.AST, positional: list[Value], keywords: dict[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """Return arguments in which functions of the program, and builtins, are functions that Python can call."""

    def plain(value: Value) -> Value:
        if isinstance(value, Api):
            module, _, name = value.name.partition(".")
            known = BUILTINS.get(name) if module == "builtins" else library_function(value.name)
            return value if known is None else known
        if isinstance(value, (Function, Class, Method, Partial)):
            return lambda *arguments, **options: run.call(node, value, list(arguments), options)
        return value

    return [plain(item) for item in positional], {key: plain(item) for key, item in keywords.items()}


def _builtin(run: Run, node: ast.AST, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    if name == "print":  # a tensor prints its description
        return None
    if name not in _FIRST_ONLY:
        for item in positional:
            run.lasting.takes(item)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(run, node, positional)
    function = python_calls.find(run, "builtins." + name) or BUILTINS.get(name)
    if function is None:
        raise Refuse(f"`{name}` is not supported")
    positional = [item.items if isinstance(item, Container) else item for item in positional]
    if name == "len" and isinstance(positional[0], Tensor):
        return _length(run, node, positional[0])
    if name in {"len", "iter"} and isinstance(positional[0], Instance):
        return attributes.special(run, node, positional[0], f"__{name}__")
    positional, keywords = _plain(run, node, positional, keywords)
    if name in _STRUCTURE and not any(isinstance(item, (Tensor, LayerValue)) for item in positional):
        return run_python(function, positional, keywords)
    if name in {"int", "float"} and positional and isinstance(positional[0], Size):
        return positional[0]
    if name == "sum" and positional and isinstance(positional[0], Iterator):
        positional = [list(positional[0]), *positional[1:]]
    if name == "sum" and mentions(positional, Tensor) and not isinstance(positional[0], Tensor):
        return _sum(run, node, list(positional[0]), *positional[1:])
    return _python(function, positional, keywords)


def _length(run: Run, node: ast.AST, value: Tensor) -> Value:
    if not value.shape:
        raise Refuse("`len` of this tensor is not known")
    run.record(node, "len", None, int(value.shape[0] is None))
    return Size(value.extent or 1) if value.shape[0] is None else value.shape[0]


def _sum(run: Run, node: ast.AST, items: list[Value], start: Value = 0) -> Value:
    total = start
    for item in items:
        dtypes = {value.dtype for value in (total, item) if isinstance(value, Tensor)}
        if len(dtypes) > 1:
            raise Refuse("Python's `sum` of tensors with several dtypes is not supported; cast them first")
        add = registry.operator_of("Add")
        both = [total, item]
        total = add.result(add.bind(both, {}))
        derive(total, both)
    return total


def _pow(run: Run, node: ast.AST, arguments: list[Value]) -> Value:
    if mentions(arguments, Tensor):
        return run.apply(node, registry.operator_of("Pow"), arguments[:2], {}, "call")
    check_power(*arguments[:2])
    return pow(*arguments)


def _next(run: Run, node: ast.AST, arguments: list[Value]) -> Value:
    run.lasting.takes(arguments[0])
    return next(*arguments)


_SPECIAL: dict[str, Callable[[Run, ast.AST, list[Value]], Value]] = {
    **questions.SPECIAL,
    "map": lambda run, node, arguments: [
        run.call(node, arguments[0], list(items), {}) for items in zip(*arguments[1:], strict=False)
    ],
    "filter": lambda run, node, arguments: [
        item
        for item in arguments[1]
        if (run.call(node, arguments[0], [item], {}) if arguments[0] is not None else item)
    ],
    "pow": _pow,
    "next": _next,
}


def _python(function: Callable[..., Value], positional: list[Value], keywords: dict[str, Value]) -> Value:
    if mentions([positional, keywords], Unknown):
        return UNKNOWN
    if function is range and mentions(positional, Tensor | Size):
        raise Refuse(
            "a loop over a size that is known only when the model runs has no fixed number of turns in a graph; "
            "compute on the whole tensor, or let `paddle.nn.RNN(cell)` take the steps of a cell"
        )
    if any(isinstance(item, (Tensor, Size)) for item in [*positional, *keywords.values()]):
        raise Refuse(f"Python's `{getattr(function, '__name__', 'function')}` of a tensor or its size is not supported")
    if function is np.finfo:
        return np.finfo({"float64": "float64"}.get(getattr(positional[0], "name", "float32"), "float32"))
    dtypes = {key: value.name if isinstance(value, Dtype) else value for key, value in keywords.items()}
    return run_python(function, [item.name if isinstance(item, Dtype) else item for item in positional], dtypes)


def _method(run: Run, node: ast.AST, method: Method, positional: list[Value], keywords: dict[str, Value]) -> Value:
    receiver, name = method.receiver, method.name
    run.lasting.changes(receiver, name)
    for item in positional:
        run.lasting.takes(item)
    if is_random(receiver):
        run.lasting.draws()
    if isinstance(receiver, Super):
        return layers.super_method(run, node, receiver, name, positional, keywords)
    if isinstance(receiver, LayerValue):
        return layers.own_method(run, node, receiver, name, positional, keywords)
    if isinstance(receiver, Described):
        return registry.described_method(receiver, name, positional)
    if name == "format" and isinstance(receiver, Iterable) and mentions([positional, keywords], Tensor | Size):
        return str(receiver)
    if isinstance(receiver, list) and name == "sort" and mentions(receiver, Tensor):
        raise Refuse("tensors cannot be sorted when the graph is built")
    if isinstance(receiver, (list, dict, set, tuple)):  # their items may be anything
        return python_method(receiver, name)(*positional, **_plain(run, node, [], keywords)[1])
    return _python(python_method(receiver, name), positional, keywords)
