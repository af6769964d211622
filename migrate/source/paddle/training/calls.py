"""Calls in a trainer: the model, its loss and inputs are interpreted; others that may change values are problems."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

from migrate.source.paddle.interpreter.calls import BUILTINS
from migrate.source.paddle.mapping.values import Api, Class, Config, Function, Module, Refuse, Value
from migrate.source.paddle.training import loops
from migrate.source.paddle.training.feeds import fed_function, fed_method
from migrate.source.paddle.training.following import Following
from migrate.source.paddle.training.optimizer import named
from migrate.source.paddle.training.values import (
    METRICS,
    MODEL,
    PARAMETERS,
    Computed,
    Fed,
    Loss,
    LossCall,
    Made,
    Metrics,
    Model,
    Parameters,
    Trainer,
    is_plain,
    origins_of,
)

LOSS = "create_loss"
REFUSED = frozenset(
    {"exec", "eval", "setattr", "delattr", "globals", "locals", "open", "__import__", "vars", "next", "iter"}
)
#: Methods of the model without effect on values.
_HARMLESS = frozenset({"train", "eval", "named_parameters", "state_dict", "sublayers", "named_sublayers"})
#: Methods of tensors with side effects.
_EFFECTS = frozenset({"set_value", "backward", "register_hook", "clear_grad", "clear_gradient", "step", "minimize"})
#: Functions that change the state of the framework.
_GLOBAL = frozenset(
    {"shuffle", "seed", "increment", "no_grad", "enable_grad", "set_grad_enabled", "enable_static", "disable_static"}
)
#: Modules whose functions do not change their arguments.
_COMPUTING = ("paddle.", "numpy.", "math.", "time.", "logging.")
_MADE = ("paddle.optimizer.", "paddle.nn.ClipGrad", "paddle.regularizer.")
#: Methods of a part of the model that only read it.
_READING = frozenset({"parameters", "named_parameters", "sublayers", "named_sublayers", "children", "named_children"})
_READING |= {"buffers", "named_buffers", "state_dict", "full_name", "keys", "values", "items", "get"}
_READING |= {"numel", "numpy", "item", "tolist", "dim", "ndimension", "size", "element_size", "is_floating_point"}
_READING |= {"astype", "cast", "clone", "detach", "cpu", "reshape", "flatten", "transpose", "matmul", "isnan", "isinf"}
_READING |= {"sum", "mean", "max", "min", "abs", "square", "sqrt", "norm", "pow", "prod", "std", "var", "all", "any"}
_LIST = frozenset({"append", "extend", "insert", "pop", "reverse", "index", "count", "copy"})
_DICT = frozenset({"get", "items", "keys", "values", "update", "pop", "setdefault", "copy"})
_STR = frozenset({"format", "join", "lower", "upper", "split", "strip", "replace"})


def call(at: Following, node: ast.Call) -> Value:
    """Return the value of a call."""
    positional, keywords = _arguments(at, node)
    everything = [*positional, *keywords.values()]
    if isinstance(node.func, ast.Attribute):
        owner = at.value(node.func.value)
        if not isinstance(owner, Api | Module):
            return _method(at, node, owner, node.func.attr, positional, keywords)
    callee = at.value(node.func)
    if isinstance(callee, Model):
        return _feed_model(at, node, positional, keywords)
    if isinstance(callee, Function):
        return at.call(callee, positional, keywords)
    if isinstance(callee, Class):
        return _construct(at, node, callee, positional, keywords)
    if isinstance(callee, Api):
        return _framework(at, node, callee.name, positional, keywords)
    if _is_part(callee):
        return at.problem(
            node, f"`{ast.unparse(node.func)}` belongs to the model, and its effect is not converted; remove the call"
        )
    _keep_model(at, node, everything)
    _keep_lists(at, node, everything)
    return at.computed(node, callee, *everything)


def _is_part(value: Value) -> bool:
    """Return whether a value is the model or a part of it, or depends on it."""
    return any(isinstance(item, Model | Parameters) for item in origins_of(value))


def _arguments(at: Following, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
    positional: list[Value] = []
    for item in node.args:
        found = at.value(item.value if isinstance(item, ast.Starred) else item)
        positional += list(found) if isinstance(item, ast.Starred) and isinstance(found, list | tuple) else [found]
    keywords = {item.arg or "**": at.value(item.value) for item in node.keywords}
    return positional, keywords


def _method(
    at: Following, node: ast.Call, owner: Value, name: str, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    everything = [*positional, *keywords.values()]
    if isinstance(owner, Trainer):
        return _own_method(at, node, name, positional, keywords)
    if isinstance(owner, Model):
        return _model_method(at, node, name, positional, keywords)
    if isinstance(owner, Metrics):
        return METRICS
    if isinstance(owner, Config):
        return _setting(owner, name, positional, keywords)
    if isinstance(owner, list | dict | str):
        return _python_method(at, node, owner, name, positional, keywords)
    if name in _EFFECTS or (name.endswith("_") and not name.endswith("__")):
        return at.problem(node, f"`.{name}` changes which parameters are trained, which is not converted")
    if _is_part(owner) and name in _READING:
        return at.computed(node, owner, *everything)
    if _is_part(owner):
        return at.problem(node, f"`.{name}` is called on a part of the model and may change it; remove the call")
    _keep_model(at, node, everything)
    if isinstance(owner, Fed):
        found = fed_method(owner, name, positional, keywords)
        if found is not None:
            return found
    return at.computed(node, owner, *everything)


def _setting(config: Config, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Return the value of `config.get(key, default)`; without a config.yaml, the default if there is one."""
    if name != "get" or not positional or not isinstance(positional[0], str):
        return Computed()
    default = positional[1] if len(positional) > 1 else keywords.get("default")
    found = config.values.get(positional[0], default)
    return Computed() if found is None and not config.known else found


def _own_method(at: Following, node: ast.Call, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    function = at.method(name)
    if name == LOSS and function is not None:
        return _loss(at, node, function, positional, keywords)
    if function is not None:
        return at.call(function, positional, keywords)
    _keep_model(at, node, [*positional, *keywords.values()])
    return at.computed(node, *positional, *keywords.values())


def _loss(
    at: Following, node: ast.Call, function: Function, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    names = [item.arg for item in function.node.args.args][1:]
    spelled = {name: ast.unparse(item) for name, item in zip(names, node.args, strict=False)}
    spelled |= {item.arg or "**": ast.unparse(item.value) for item in node.keywords}
    made = Loss()
    at.losses.append(LossCall(made, dict(zip(names, positional, strict=False)) | keywords, spelled, node))
    return made


def _model_method(
    at: Following, node: ast.Call, name: str, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    if name in {"forward", "__call__"}:
        return _feed_model(at, node, positional, keywords)
    if name == "parameters" and not positional and not keywords:
        return PARAMETERS
    if name in {"train", "eval"}:
        return None
    if name in _HARMLESS:
        return at.computed(node, MODEL)
    return at.problem(node, f"`.{name}` is called on the model, which is not converted; remove the call")


def _feed_model(at: Following, node: ast.Call, positional: list[Value], keywords: dict[str, Value]) -> Value:
    given = [*positional, *keywords.values()]
    if len(given) != 1:
        at.problem(node, f"the model is called with {len(given)} arguments; the converted module has one input")
    at.fed.append((given[0] if given else None, node))
    return list(at.outputs) if isinstance(at.outputs, list) else at.outputs


def _construct(at: Following, node: ast.Call, cls: Class, positional: list[Value], keywords: dict[str, Value]) -> Value:
    if cls is at.model:
        return at.construct(cls, positional, keywords, node)
    _keep_model(at, node, [*positional, *keywords.values()])
    return at.computed(node, *positional, *keywords.values())


def _framework(at: Following, node: ast.Call, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    everything = [*positional, *keywords.values()]
    last = name.rpartition(".")[2]
    if at.model is not None and name == f"net.{at.model.name}":
        return at.construct(at.model, positional, keywords, node)
    if name.startswith("builtins."):
        return _builtin(at, node, last, positional, keywords)
    if name.startswith("math.") and all(map(is_plain, everything)) and callable(getattr(math, last, None)):
        return _tried(at, node, getattr(math, last), positional, keywords)
    if name.startswith(_MADE):
        return Made(origins_of(*everything), node, at.run.frame.module, name, named(name, positional, keywords))
    _keep_model(at, node, everything, pure=_is_pure(name))
    if not name.startswith(_COMPUTING):
        _keep_lists(at, node, everything)
    into = {"out", "output"} & keywords.keys() or (last == "assign" and len(positional) > 1)
    if last in _GLOBAL or last.startswith("set_") or last.endswith("_") or into:
        return at.problem(node, f"`{name}` has a side effect, which is not converted")
    found = fed_function(name, positional, keywords)
    return at.computed(node, *everything) if found is None else found


def _builtin(at: Following, node: ast.Call, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    everything = [*positional, *keywords.values()]
    if name in REFUSED:
        return at.problem(node, f"`{name}` is not supported in the trainer")
    if name in {"print", "isinstance", "type"}:
        return None if name == "print" else Computed()
    found = loops.many(at, node, name, positional)
    if found is not None:
        return found
    if name in BUILTINS and (all(map(is_plain, everything)) or name in {"list", "tuple", "len", "enumerate", "zip"}):
        return _tried(at, node, BUILTINS[name], positional, keywords)
    _keep_model(at, node, everything, pure=name in BUILTINS and not keywords)
    return at.computed(node, *everything)


def _tried(
    at: Following, node: ast.Call, function: Callable[..., Value], positional: list[Value], keywords: dict[str, Value]
) -> Value:
    try:
        return function(*positional, **keywords)
    except (Refuse, ArithmeticError, LookupError, TypeError, ValueError):
        return at.computed(node, *positional, *keywords.values())


def _python_method(
    at: Following, node: ast.Call, owner: Value, name: str, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    everything = [*positional, *keywords.values()]
    allowed = _LIST if isinstance(owner, list) else _DICT if isinstance(owner, dict) else _STR
    read = isinstance(owner, str) or name in {"get", "items", "keys", "values", "index", "count", "copy"}
    if not read:
        at.may_change(owner, node)
    try:
        if name in allowed and (not isinstance(owner, str) or all(map(is_plain, everything))):
            found = getattr(owner, name)(*positional, **keywords)
        else:
            raise LookupError
    except (LookupError, TypeError, ValueError):
        if not read:
            return at.problem(node, f"the result of `.{name}` of a {type(owner).__name__} cannot be determined")
        return at.computed(node, owner, *everything)
    return list(found) if isinstance(owner, dict) and name in {"items", "keys", "values"} else found


def _is_pure(name: str) -> bool:
    """Return whether a call is of a Paddle function that only computes with tensors."""
    module, _, last = name.rpartition(".")
    return module in {"paddle", "paddle.nn.functional", "paddle.linalg", "paddle.tensor"} and last[:1].islower()


def _keep_lists(at: Following, node: ast.Call, values: list[Value]) -> None:
    """Record a problem if a list or dict that is used later is passed to a function that may change it."""
    for value in values:
        lasts = id(value) in at.lasting.containers
        if isinstance(value, list | dict) and (lasts or origins_of(value)):
            kind = type(value).__name__
            at.problem(node, f"`{ast.unparse(node.func)}` is called with a {kind} and may change it")


def _keep_model(at: Following, node: ast.Call, values: list[Value], pure: bool = False) -> None:
    """Record a problem if the model or a part of it is passed to an unknown function; pure functions may read parts."""
    read = [value for value in values if not (pure and isinstance(value, Computed))]
    if _is_part(read):
        at.problem(
            node, f"`{ast.unparse(node.func)}` is called with the model, which is not converted; remove the call"
        )
