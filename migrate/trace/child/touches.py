"""Notes Python code that uses the objects of variables of graphs, and makes no op by it.

A table is no `tf.Variable`: code that was not analysed may ask one for its shape, count all variables, or take
gradients with respect to them, and gets something else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .patching import wrap
from .stacks import Stacks, running
from .state import Notes, Touch, unharmed

#: Functions of TensorFlow that list variables, and those that wrap them: who calls them lists variables itself. What
#: other functions list, such as `Saver` and layers, a table takes part in or is none of.
_LISTING = frozenset(
    {
        *("trainable_variables", "global_variables", "all_variables", "get_collection", "get_collection_ref"),
        *("wrapped", "_listed", "error_handler", "op_dispatch_handler", "new_func", "wrapper"),
    }
)
#: Functions that give constants for variables of known shape.
_SHAPES = ("shape_internal", "size_internal", "rank_internal")


class Touches:
    """What TensorFlow itself reads of variables is none; what the program's source shows, is found there."""

    def __init__(self, notes: Notes, stacks: Stacks) -> None:
        self._notes, self._stacks = notes, stacks

    def install(self) -> None:
        """Have TensorFlow, which is imported, tell of them."""
        from tensorflow.python.framework import ops
        from tensorflow.python.ops import array_ops, gradients_util, ref_variable, resource_variable_ops, variables
        from tensorflow.python.training import saver

        self._variables = (resource_variable_ops.BaseResourceVariable, ref_variable.RefVariable)
        self._lists = (ops.GraphKeys.TRAINABLE_VARIABLES, ops.GraphKeys.GLOBAL_VARIABLES)
        for kind in self._variables:
            kind.__getattribute__ = self._reader(kind.__getattribute__)  # type: ignore[method-assign]
        variables.VariableMetaclass.__instancecheck__ = self._asked
        for name in ("get_collection", "get_collection_ref"):
            wrap(ops.Graph, name, self._listed)
        wrap(gradients_util, "_GradientsHelper", self._derived)
        wrap(saver.Saver, "__init__", self._saved)
        for name in _SHAPES:
            wrap(array_ops, name, self._shaped)

    def _reader(self, original: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        is_neutral, note = self._stacks.is_neutral, self._note

        def read(variable: Any, name: str) -> Any:
            if not is_neutral(sys._getframe(1).f_code.co_filename) and name != "__class__":
                note([variable], name)
            return original(variable, name)

        return read

    @property
    def _asked(self) -> Callable[[type, Any], bool]:
        is_neutral, note, kinds = self._stacks.is_neutral, self._note, self._variables

        def asked(kind: type, one: Any) -> bool:
            if issubclass(type(one), kinds) and not is_neutral(sys._getframe(1).f_code.co_filename):
                note([one], "__class__")
            return type.__instancecheck__(kind, one)

        return asked

    def _listed(self, original: Any, graph: Any, name: Any, *arguments: Any, **settings: Any) -> Any:
        found = original(graph, name, *arguments, **settings)
        if name in self._lists and self._asks():
            self._note(list(found), str(name))
        return found

    def _asks(self) -> bool:
        """Whether code of no framework calls a function that lists variables."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and self._stacks.is_neutral(frame.f_code.co_filename):
            if frame.f_code.co_name not in _LISTING:
                return False
            frame = frame.f_back
        return frame is not None

    def _derived(self, original: Any, ys: Any, xs: Any, *arguments: Any, **settings: Any) -> Any:
        self._note(xs if isinstance(xs, list | tuple) else [xs], "gradients")
        return original(ys, xs, *arguments, **settings)

    def _saved(self, original: Any, one: Any, var_list: Any = None, *arguments: Any, **settings: Any) -> None:
        self._note(var_list.values() if isinstance(var_list, dict) else var_list or (), "Saver")
        original(one, var_list, *arguments, **settings)

    def _shaped(self, original: Any, given: Any, *arguments: Any, **settings: Any) -> Any:
        self._note([given], "shape")
        return original(given, *arguments, **settings)

    def _note(self, given: Iterable[Any], name: str) -> None:
        """Note that variables among `given` are touched by the code that is not neutral, if there is one."""
        if getattr(self._notes.local, "writes", False):
            return
        with unharmed(self._notes):
            frames = running(3)
            through = self._stacks.foreign(frames)
            at = self._stacks.kept(frames)
            for one in given:
                key = _key(one) if isinstance(one, self._variables) else _handle(one)
                if key is not None and (through or at):
                    self._notes.touches.setdefault(key, {}).setdefault(Touch(name, at[:1], through))


def _key(variable: Any) -> tuple[int, str] | None:
    """Return the graph of a variable and its name there; None for one that was made eagerly, or is not made yet."""
    fields = object.__getattribute__(variable, "__dict__")
    return _handle(fields.get("_handle", fields.get("_variable")))


def _handle(tensor: Any) -> tuple[int, str] | None:
    graph = getattr(tensor, "graph", None) if hasattr(tensor, "consumers") else None
    return None if graph is None else (id(graph), tensor.op.name)
