"""Models of builtin functions and of functions from the standard library, reflective ones included."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst

from migrate.source.flow.arguments import Arguments, Given
from migrate.source.flow.calls import Calls
from migrate.source.flow.graph import Variable
from migrate.source.flow.keys import literal
from migrate.source.flow.library.containers import ITERATING, Read, external_result, merge, method, move, new_holder
from migrate.source.flow.library.modules import attribute, of_package
from migrate.source.flow.values import (
    ANY,
    Class,
    Function,
    Holder,
    Member,
    RecordType,
    SuperProxy,
    Symbol,
    Value,
)

#: Functions that read their arguments without storing or modifying them.
LOOKS = {
    f"builtins.{name}"
    for name in (
        "abs", "all", "any", "bool", "callable", "chr", "complex", "delattr", "dir", "divmod", "float", "format",
        "hasattr", "hash", "hex", "id", "int", "isinstance", "issubclass", "len", "oct", "ord", "pow", "print",
        "range", "repr", "round", "slice", "str", "bytes", "input", "open",
    )
}  # fmt: skip


#: Functions of the standard library, by their last names, that modify their arguments or run unanalysed code.
CHANGES = {
    "shuffle", "insort", "insort_left", "insort_right", "heapify", "heappop", "heappush", "heappushpop", "heapreplace",
    "put", "place", "copyto", "putmask", "fill_diagonal", "exec", "eval", "setattr", "__setattr__", "swap_attr",
}  # fmt: skip
#: Prefixes of qualified names whose functions are all assumed to do so.
CHANGING = ("operator.", "builtins.list.", "builtins.dict.", "builtins.set.", "builtins.object.", "collections.",
            "unittest.", "ctypes.", "gc.", "inspect.", "weakref.")  # fmt: skip

#: A symbol that stands for the result of `functools.wraps(f)`, before `f` is bound to it.
_WRAPS = "functools.wraps()"


def changes(name: str) -> bool:
    """True for library functions that may modify the lists and objects they receive."""
    return name.rpartition(".")[2] in CHANGES or name.startswith(CHANGING)


def external(calls: Calls, callee: Value, arguments: Arguments, site: cst.CSTNode, out: Variable) -> bool:
    """Model a call of a builtin function or of a container method; False if the callee is not modelled."""
    if isinstance(callee, Member):
        return method(calls, callee, arguments, site, out)
    name = callee.name if isinstance(callee, Symbol) else ""
    if name in LOOKS:
        external_result(calls, name, site, out)
        return True
    read = FUNCTIONS.get(name)
    if read is None or (not arguments and name in _NEED_ONE):
        return False
    move(calls, arguments)
    read(calls, arguments, site, out)
    return True


def _type(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `type(x)`. The class that `type(name, bases, dict)` creates is unknown."""
    if len(arguments) != 1:
        for argument in arguments:
            calls.graph.watch(argument.variable, lambda value: calls.escapes.spoil(value, site))
        calls.graph.put(out, calls.program.unknown(site, "a class that is created when the program runs"))
        return

    def arrived(value: Value) -> None:
        if isinstance(value, Holder) and value.cls is not None:
            calls.graph.put(out, value.cls)
        else:
            external_result(calls, "builtins.type", site, out)

    calls.graph.watch(arguments[0].variable, arrived)


def _first(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    calls.graph.edge(arguments[0].variable, out)


def _vars(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    for argument in arguments[:1]:
        _touched(calls, argument, site)
        calls.attributes.load(argument.variable, "__dict__", out, site)


def _touched(calls: Calls, argument: Given, site: cst.CSTNode) -> None:
    """Record that `getattr` or a similar function uses a value of external code."""

    def arrived(value: Value) -> None:
        if isinstance(value, (Holder, Class, Function)):
            return
        if argument.node is not None:
            calls.program.handed_out.add(argument.node)
        else:
            calls.program.escaped.setdefault(value, []).append(site)

    calls.graph.watch(argument.variable, arrived)


def _copied_object(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `copy.copy(x)`: a copied holder is identified with the original; a copied external value is new."""
    _touched(calls, arguments[0], site)

    def arrived(value: Value) -> None:
        if isinstance(value, (Holder, Class, Function)):
            calls.graph.put(out, value)
        else:
            external_result(calls, "copy.copy", site, out)

    calls.graph.watch(arguments[0].variable, arrived)


def _getattr(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    _touched(calls, arguments[0], site)
    name = literal(arguments[1].node) if len(arguments) > 1 else ANY
    if isinstance(name, str):
        calls.attributes.load(arguments[0].variable, name, out, site)
    else:
        nodes = [argument.node for argument in arguments[:2]]
        calls.graph.watch(arguments[0].variable, lambda value: _computed(calls, value, nodes, site, out))
    for argument in arguments[2:]:
        calls.graph.edge(argument.variable, out)


def _computed(
    calls: Calls, value: Value, nodes: Sequence[cst.CSTNode | None], site: cst.CSTNode, out: Variable
) -> None:
    """Read an attribute of a computed name."""
    name = attribute(calls.program, value, *nodes) if len(nodes) == 2 else None
    if name is not None:
        inner = Variable()
        calls.graph.put(inner, value)
        calls.attributes.load(inner, name, out, site)
        return
    calls.graph.put(out, calls.program.unknown(site, "an attribute of a name that is decided at run time"))
    calls.escapes.spoil(value, site)


def _setattr(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    for argument in arguments:
        if argument.star:
            calls.escapes.leave(calls.program.symbol("operator.setattr"), arguments, site, out)
            return
    if len(arguments) != 3:
        return
    _touched(calls, arguments[0], site)
    name = literal(arguments[1].node)
    if isinstance(name, str):
        calls.stores.store(arguments[0].variable, name, arguments[2].variable, arguments[2].node)
    else:
        calls.entries.put(arguments[0].variable, ANY, arguments[2].variable, arguments[2].node)


def _super(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    program = calls.program
    tree = program.home(site)
    function, cls = None, None
    for around in tree.ancestors(site):
        if isinstance(around, cst.FunctionDef):
            function = around
        if isinstance(around, cst.ClassDef):
            cls = around
            break
    if len(arguments) == 2:
        _above(calls, arguments[0].variable, arguments[1].variable, out)
        return
    if function is None or cls is None:
        calls.graph.put(out, program.unknown(site, "it is not known above which class `super` looks"))
        return
    names = [*function.params.posonly_params, *function.params.params]
    owner = program.cls(cls)
    for first in names[:1]:
        calls.graph.watch(
            program.definition(first.name),
            lambda value: calls.graph.put(
                out, program.interned(("above", owner, value), lambda: SuperProxy(cls, owner, value))
            ),
        )


def _above(calls: Calls, classes: Variable, receivers: Variable, out: Variable) -> None:
    """Model `super(C, self)` for all pairs of classes and receivers, as they become known."""

    def pair(cls: Value, receiver: Value) -> None:
        if not isinstance(cls, Class):
            calls.graph.put(out, calls.program.unknown(cls.node, "it is not known above which class `super` looks"))
        elif not calls.graph.is_full(out):
            proxy = calls.program.interned(("above", cls, receiver), lambda: SuperProxy(cls.node, cls, receiver))
            calls.graph.put(out, proxy)

    def class_found(cls: Value) -> None:
        for receiver in list(receivers.values):
            pair(cls, receiver)

    def receiver_found(receiver: Value) -> None:
        for cls in list(classes.values):
            pair(cls, receiver)

    calls.graph.watch(classes, class_found)
    calls.graph.watch(receivers, receiver_found)


def _partial(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    calls.graph.put(out, calls.partial(arguments[0].variable, arguments[1:], site))


def _namedtuple(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    spec = arguments[1].node if len(arguments) > 1 else None
    if isinstance(spec, (cst.List, cst.Tuple)):
        names = [str(literal(element.value)) for element in spec.elements]
    else:
        text = literal(spec)
        names = text.replace(",", " ").split() if isinstance(text, str) else []
    if names:
        calls.graph.put(out, calls.program.interned(("record type", site), lambda: RecordType(site, tuple(names))))
    else:
        calls.graph.put(out, calls.program.unknown(site, "the names of its fields are not written out"))


def _dict(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable, kind: str = "dict") -> None:
    """Model `dict(...)`, and namespaces, whose attributes are given as the entries of a dict are."""
    holder = new_holder(calls, site, kind, out)
    for argument in arguments:
        if argument.star == "**":
            calls.entries.copy(argument.variable, holder)
        elif argument.keyword:
            calls.graph.edge(argument.variable, calls.program.written(holder, argument.keyword))
        else:
            merge(calls, argument, holder, site)


def _default_dict(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    _dict(calls, arguments[1:], site, out)
    holder = calls.program.holder(site, "dict", "built")
    for argument in arguments[:1]:
        calls.call(argument.variable, (), argument.node or site, calls.program.written(holder, ANY))


def _nothing(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `dataclasses.field(...)`: the class attribute is the default; constructing the object reads the rest."""
    calls.graph.put(out, calls.program.none)
    for argument in arguments:
        if argument.keyword == "default":
            calls.graph.edge(argument.variable, out)


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
    calls.graph.watch(second, lambda wrapper: _get_attributes(calls, wrapper, first))


def _get_attributes(calls: Calls, target: Value, sources: Variable) -> None:
    program = calls.program
    if not isinstance(target, (Function, Class)) or not program.is_new(("wraps", target, sources)):
        return
    calls.graph.edge(sources, program.written(target, "__wrapped__"))

    def arrived(source: Value) -> None:
        if isinstance(source, (Function, Class)) and source is not target:
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
    raised = calls.program.holder(site, "list", "raised")
    calls.graph.put(out, raised)
    calls.graph.edge(calls.program.named("raised"), calls.program.written(raised, 1))


_NEED_ONE = {
    "builtins.next", "builtins.enumerate", "builtins.map", "builtins.filter", "builtins.getattr", "functools.partial",
    "copy.copy", "copy.deepcopy", "asyncio.run", "builtins.max",
}  # fmt: skip

_NAMESPACE = partial(_dict, kind="namespace")
FUNCTIONS: dict[str, Read] = {
    **ITERATING,
    "argparse.Namespace": _NAMESPACE,
    "asyncio.run": _first,
    "builtins.__import__": _module("builtins.__import__"),
    "builtins.dict": _dict,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.super": _super,
    "builtins.type": _type,
    "builtins.vars": _vars,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _default_dict,
    "collections.namedtuple": _namedtuple,
    "copy.copy": _copied_object,
    "dataclasses.field": _nothing,
    "functools.partial": _partial,
    "functools.wraps": _wraps,
    "importlib.import_module": _module("importlib.import_module"),
    "sys.exc_info": _exc_info,
    "sys.exception": _raised,
    "sys.modules.get": _module("sys.modules.get"),
    "types.SimpleNamespace": _NAMESPACE,
    _WRAPS: _wrapped,
}
