"""How a converted model spells what it needs: by `runtime.nn`, or by classes that stand in its own file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from migrate.source.paddle.abstract.values import Module, Refuse
from migrate.source.paddle.emission.names import Names, names_for
from migrate.source.paddle.one_hot import standalone


@dataclass
class OwnNames(Names):
    """The spelling of a file that imports TensorFlow alone, for the interface of another SDK."""

    def kept(self, dotted: str) -> str | None:
        """Return the name of the class or function that is written into the file; raises `Refuse` if there is none."""
        module, _, name = dotted.rpartition(".")
        if module in {"paddle", "paddle.nn", "paddle.nn.initializer"} and name in standalone.NAMES:
            self.used.add(name)
            return name
        if name == "Tensor" or module == "paddle":
            return super().kept(dotted)
        raise Refuse(f"`{dotted}` cannot be written in plain TensorFlow here, which this target needs")

    def helper(self, name: str) -> str:
        """Return the name of a helper that is written into the file; raises `Refuse` if there is none."""
        function = name.rpartition(".")[2]
        if function not in standalone.HELPERS:
            raise Refuse(
                f"`{function}` cannot be written in plain TensorFlow with these arguments, which this target needs"
            )
        self.used.add(standalone.HELPERS[function])
        return standalone.HELPERS[function]

    def nn(self, name: str) -> str:
        """Raise `Refuse`: there is no `runtime.nn`."""
        raise Refuse(f"`{name}` cannot be written in plain TensorFlow here, which this target needs")


def names_of(module: Module, imports: Mapping[str, str], target: str) -> Names:
    """Return the spelling of a model's file for a target."""
    found = names_for(module.tree, imports)
    return found if target == "runtime" else OwnNames(found.tensorflow, found.layers)
