"""Models of reflective functions: access to modules, exceptions and wrapped functions."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow.arguments import Arguments
from migrate.source.flow.calls import Calls
from migrate.source.flow.graph import Variable
from migrate.source.flow.library.containers import external_result
from migrate.source.flow.library.iteration import Read
from migrate.source.flow.library.modules import of_package
from migrate.source.flow.values import Class, Function, Value

#: A symbol that stands for the result of `functools.wraps(f)`, before `f` is bound to it.
_WRAPS = "functools.wraps()"


def _module(name: str) -> Read:
    """Model `importlib.import_module(name)` and similar functions, which may return modules of the program."""

    def read(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        modules = [module for one in arguments[:1] for module in of_package(calls.program, one.node)]
        if not modules:
            external_result(calls, name, site, out)
            modules = [module for one in arguments[:1] for module in calls.program.modules(one.node)]
        for module in modules:
            calls.graph.put(out, module)

    return read


def _wraps(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `functools.wraps(f)`, whose result is called with another function."""
    callee = calls.program.named("wraps")
    calls.graph.put(callee, calls.program.symbol(_WRAPS))
    calls.graph.put(out, calls.partial(callee, arguments[:1], site))


def _wrapped(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `functools.wraps(f)(g)`: returns `g`, to which the attributes of `f` are copied."""
    if len(arguments) < 2:
        return
    first, second = arguments[0].variable, arguments[1].variable
    calls.graph.edge(second, out)
    calls.graph.watch(second, lambda one: _get_attributes(calls, one, first))


def _get_attributes(calls: Calls, target: Value, sources: Variable) -> None:
    program = calls.program
    if not isinstance(target, Function | Class) or not program.is_new(("wraps", target, sources)):
        return
    calls.graph.edge(sources, program.written(target, "__wrapped__"))

    def arrived(source: Value) -> None:
        if isinstance(source, Function | Class) and source is not target:
            program.on_keys(source, lambda key: calls.graph.edge(program.written(source, key), _copy_of(key)))

    def _copy_of(key: object) -> Variable:
        return program.written(target, key) if key != "__wrapped__" else Variable()

    calls.graph.watch(sources, arrived)


def _raised(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    external_result(calls, "sys.exception", site, out)
    calls.graph.edge(calls.program.named("raised"), out)


def _exc_info(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `sys.exc_info()`: the class, the instance and the traceback of the current exception."""
    external_result(calls, "sys.exc_info", site, out)
    made = calls.program.holder(site, "list", "raised")
    calls.graph.put(out, made)
    calls.graph.edge(calls.program.named("raised"), calls.program.written(made, 1))


INSPECTING: dict[str, Read] = {
    "builtins.__import__": _module("builtins.__import__"),
    "functools.wraps": _wraps,
    _WRAPS: _wrapped,
    "importlib.import_module": _module("importlib.import_module"),
    "sys.exc_info": _exc_info,
    "sys.exception": _raised,
    "sys.modules.get": _module("sys.modules.get"),
}
