"""Notes variables that are made eagerly, and eager ops that use them."""

from __future__ import annotations

import sys
from typing import Any

from .op_kinds import kind_of
from .patching import wrap
from .stacks import Stacks
from .state import EagerVariable, Notes, unharmed

#: Modules of generated functions -> those that take variables, by a word of their names.
_MODULES = {
    "gen_resource_variable_ops": ("variable", "resource_"),
    "gen_state_ops": ("resource_",),
    "gen_training_ops": ("resource_",),
}
#: Modules that have imported all names of those, in some version of TensorFlow.
_COPIES = (
    *("tensorflow.python.ops.resource_variable_ops", "tensorflow.python.ops.state_ops"),
    "tensorflow.python.training.training_ops",
)


class Eager:
    """What TensorFlow executes eagerly leaves no graph, so its generated functions are wrapped."""

    def __init__(self, notes: Notes, stacks: Stacks) -> None:
        self._notes, self._stacks = notes, stacks

    def install(self) -> None:
        """Have TensorFlow, which is imported, tell of eager variables."""
        import importlib

        from tensorflow.python.eager import context
        from tensorflow.python.framework import ops
        from tensorflow.python.ops import resource_variable_ops

        self._tensor, self._executing_eagerly = ops.EagerTensor, context.executing_eagerly
        wrap(resource_variable_ops.BaseResourceVariable, "__init__", self._made)
        for name, words in _MODULES.items():
            self._wrap_all(importlib.import_module(f"tensorflow.python.ops.{name}"), words)

    def _wrap_all(self, module: Any, words: tuple[str, ...]) -> None:
        for name, one in list(vars(module).items()):
            public = not name.startswith("_") and not name.endswith("_eager_fallback")
            if public and callable(one) and not isinstance(one, type) and any(word in name for word in words):
                kind = "".join(part.capitalize() for part in name.split("_"))

                def call(original: Any, *arguments: Any, _kind: str = kind, **settings: Any) -> Any:
                    return self._used(_kind, original, arguments, settings)

                wrap(module, name, call)
                for other in (sys.modules[copy] for copy in _COPIES if copy in sys.modules):
                    if vars(other).get(name) is one:
                        setattr(other, name, vars(module)[name])

    def _made(self, original: Any, variable: Any, *arguments: Any, **settings: Any) -> None:
        original(variable, *arguments, **settings)
        with unharmed(self._notes):
            self._note(variable)

    def _note(self, variable: Any) -> None:
        handle = getattr(variable, "_handle", None)
        # The result of an assignment is another object for the same variable.
        if type(handle) is not self._tensor or type(variable).__name__ == "_UnreadVariable":
            return
        made, _ = self._stacks.here()
        shape = variable.shape
        sizes = () if shape.rank is None else tuple(shape.as_list())
        name = variable.name.split(":")[0]
        found = EagerVariable(name, sizes, variable.dtype.base_dtype.name, bool(variable.trainable), made)
        self._notes.eager.append(found)
        self._notes.handles[id(handle)] = found

    def _used(self, kind: str, original: Any, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        with unharmed(self._notes):
            for place, given in enumerate((*arguments, *settings.values())):
                # While a function is being made, it captures the handle; its ops are read.
                if type(given) is self._tensor and self._executing_eagerly():
                    variable = self._notes.handles.get(id(given))
                    if variable is not None:
                        self._use(variable, kind, place)
        return original(*arguments, **settings)

    def _use(self, variable: EagerVariable, op: str, place: int) -> None:
        kind = kind_of(op, place)
        if kind == "shape":
            return
        at, saving = self._stacks.here()
        optimizer = self._notes.optimizer()
        if op == "ReadVariableOp":
            kind = "save" if saving else "whole"
        if optimizer and kind in ("whole", "assign", "lookup"):
            kind = "update"
        variable.uses.setdefault((kind, op, at, optimizer if kind == "update" else ""))
