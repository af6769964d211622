"""Which names a rewritten file uses for TensorFlow and for the runtime's layers, and how Paddle's names are written."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

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
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    bound |= {name for name, dotted in imports.items() if dotted.partition(".")[0] != "paddle"}
    own = next((name for name, dotted in imports.items() if dotted == "paddle.nn" and name not in bound), None)

    def free(*candidates: str) -> str:
        return next(name for name in candidates if name not in bound)

    return Names(free("tf", "tensorflow", "tf_v1"), own or free("nn", "layers", "rec_nn"))
