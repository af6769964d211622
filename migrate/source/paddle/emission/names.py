"""Which names of a file are Paddle's, and how they are written, with those of TensorFlow and the runtime's layers.

Paddle's are those of its own imports, and of other files of the model that it imports. Imports of Paddle go where a
file is rewritten: what another file took from it is Paddle's name there, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from migrate.source.paddle.abstract.modules import imported_names
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Api, Module
from migrate.source.paddle.model_files import absolute
from migrate.source.paddle.ops import registry

#: Modules of Paddle -> the module of `runtime.nn` with the same names.
HOMES = {
    "paddle.nn.functional": "functional",
    "paddle.nn.initializer": "initializer",
    "paddle.nn": "",
    "paddle.regularizer": "regularizer",
    "paddle.optimizer": "optimizer",
    "paddle.metric": "metric",
    "paddle.io": "data",
    "paddle.distributed.fleet": "static",
    "paddle.distributed": "static",
    "paddle": "",
}


@dataclass
class Names:
    """The spelling of one file."""

    tensorflow: str
    layers: str  #: the name of `runtime.nn`
    used: set[str] = field(default_factory=set)  #: those of the two that the text needs

    def tf(self, name: str) -> str:
        """Return the spelling of a name of TensorFlow."""
        self.used.add("tensorflow")
        return f"{self.tensorflow}.{name}"

    def nn(self, name: str) -> str:
        """Return the spelling of a name of `runtime.nn`."""
        self.used.add("layers")
        return f"{self.layers}.{name}"

    def module(self) -> str:
        """Return the name of `runtime.nn` itself."""
        self.used.add("layers")
        return self.layers

    def helper(self, name: str) -> str:
        """Return the spelling of a function of `runtime.nn.functional`, or of `runtime.nn.static`."""
        return self.nn(name if name.startswith("static.") else f"functional.{name}")

    @property
    def imported(self) -> str:
        """How `runtime.nn` is imported."""
        return "nn" if self.layers == "nn" else f"nn as {self.layers}"

    def spelled(self, text: str) -> str:
        """Return a form's text with this file's names."""
        first, dot, rest = text.partition(".")
        if first == "tf":
            return self.tf(rest)
        return self.nn(rest) if first == "nn" and dot else text

    def kept(self, dotted: str) -> str | None:
        """Return the spelling of what `runtime.nn` has under Paddle's name; None if it has not."""
        module, _, name = dotted.rpartition(".")
        if dotted == "paddle.Tensor":
            return self.tf("Tensor")
        if registry.dtype(dotted) is not None:
            return self.tf(name)
        for start, target in HOMES.items():
            if module == start or module.startswith(start + "."):
                rest = module[len(start) + 1 :]
                return self.nn(".".join(part for part in (target, rest, name) if part))
        return None


def names_for(tree: ast.Module, imports: Mapping[str, str]) -> Names:
    """Choose names that the file does not bind to something else; an alias of `paddle.nn` stays."""
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    bound |= {name for name, dotted in imports.items() if dotted.partition(".")[0] != "paddle"}
    own = next((name for name, dotted in imports.items() if dotted == "paddle.nn" and name not in bound), None)

    def free(*candidates: str) -> str:
        return next(name for name in candidates if name not in bound)

    return Names(free("tf", "tensorflow", "tf_v1"), own or free("nn", "layers", "rec_nn"))


_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SCOPES = ast.FunctionDef | ast.Lambda | ast.ClassDef | _COMPREHENSIONS


def framework_names(run: Run, module: Module, inside: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the names of a file, dotted ones of other files included, that are gone with Paddle's imports.

    Args:
        run: the execution of the program.
        module: the file.
        inside: the files whose names are being collected, as imports may go in a circle.

    Returns:
        The local name -> what it stands for: Paddle's dotted name, or that of any other module.
    """
    statements = [node for node in ast.walk(module.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    own = dict(imported_names(statements))
    names: dict[str, str] = {}
    for node in statements:
        for local, other in _files(run, module, node):
            if other.path not in inside:
                taken = framework_names(run, other, (*inside, module.path))
                names |= {local(name): dotted for name, dotted in taken.items() if dotted.startswith("paddle")}
    names = {name: dotted for name, dotted in names.items() if "." in name or _stands_for(module, name, dotted)}
    return own | {name: dotted for name, dotted in names.items() if name}


def rebound(module: Module, names: Mapping[str, str]) -> list[str]:
    """Return the names that a file imports from Paddle and binds to something else in the end."""
    return [
        name
        for name, dotted in names.items()
        if dotted.partition(".")[0] == "paddle" and name in module.names and not _stands_for(module, name, dotted)
    ]


def _stands_for(module: Module, name: str, dotted: str) -> bool:
    return module.names.get(name) == Api(registry.canonical(dotted))


def _files(run: Run, module: Module, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[_Local, Module]]:
    """Yield the files of the program that a statement names, each with how its names are spelled there."""
    if isinstance(node, ast.Import):
        for item in node.names:
            if (other := run.modules.get(item.name)) is not None:
                yield _Local(prefix=item.asname or item.name), other
        return
    source = absolute(node.module, node.level, module.path)
    for item in node.names:
        if (inner := run.modules.get(f"{source}.{item.name}" if source else item.name)) is not None:
            yield _Local(prefix=item.asname or item.name), inner
        elif (other := run.modules.get(source)) is not None:
            yield _Local(only=item.name, named=item.asname or item.name), other


class _Local:
    """How a name of another file is spelled where it is imported; empty where it is not."""

    def __init__(self, prefix: str = "", only: str = "", named: str = "") -> None:
        self.prefix, self.only, self.named = prefix, only, named

    def __call__(self, name: str) -> str:
        """Return the spelling of a name."""
        if self.prefix:
            return f"{self.prefix}.{name}"
        if self.only == "*":
            return "" if name.startswith("_") or "." in name else name
        first, dot, rest = name.partition(".")
        return f"{self.named}{dot}{rest}" if first == self.only else ""


def references(module: Module, imports: Mapping[str, str]) -> frozenset[tuple[int, int]]:
    """Return where names of imports are read: neither where they are bound, nor in functions that bind them."""
    names = [one for one in ast.walk(module.tree) if isinstance(one, ast.Name) and one.id in imports]
    local: set[int] = set()
    for node in ast.walk(module.tree) if names else ():
        if isinstance(node, _SCOPES) and (own := _locals(node) & imports.keys()):
            local |= {id(inner) for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in own}
    read = [one for one in names if isinstance(one.ctx, ast.Load) and id(one) not in local]
    return frozenset(module.span(one)[:2] for one in read)


def _locals(node: ast.AST) -> set[str]:
    """Return the names that a function has of its own, its parameters and what it assigns, or a comprehension."""
    if isinstance(node, _COMPREHENSIONS):
        return {name for one in node.generators for name in _stored(one.target)}
    if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return set()
    spec = node.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
    body = node.body if isinstance(node.body, list) else []
    return {one.arg for one in parameters} | {name for item in body for name in _stored(item)}


def _stored(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, but for those of the scopes in it."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    for inner in () if isinstance(node, _SCOPES) else ast.iter_child_nodes(node):
        yield from _stored(inner)
