"""Finds the attributes with the layers that read the input, which determine the order of the table's columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from migrate.source.paddle.facts.program import Program
from migrate.source.paddle.mapping.values import Container, Instance, Linear, Refuse, Value


def input_expressions(program: Program) -> list[str]:
    """Return Python expressions over `self` for the input layers, and set `program.columns` in the same order.

    A list whose items all read the input (or are unused and have the same input size) becomes one starred expression,
    so that the converted constructor works for any length.
    """
    size = program.schema.input.size
    linears = program.run.linears
    paths = program.paths
    spare = {id(layer) for layer in linears if not layer.used and layer.in_features == size and id(layer) in paths}
    search = _Search({id(layer) for layer in program.input_linears}, spare)
    search.visit("self", program.model)
    if search.wanted:
        missing = next(layer for layer in program.input_linears if id(layer) in search.wanted)
        raise Refuse(
            f"the layer created at line {missing.span[0]} reads the input; assign it to an attribute of the model"
        )
    program.columns = [layer for _, layers in search.found for layer in layers]
    return [expression for expression, _ in search.found]


@dataclass
class _Search:
    """Searches a model for the attributes with its input layers."""

    wanted: set[int]  #: ids of input layers that are not found yet
    spare: set[int]  #: ids of unused layers that may be among them
    seen: set[int] = field(default_factory=set)
    found: list[tuple[str, list[Linear]]] = field(default_factory=list)

    def visit(self, at: str, value: Value) -> None:
        if id(value) in self.seen or not self.wanted:
            return
        self.seen.add(id(value))
        if isinstance(value, Linear):
            if id(value) in self.wanted:
                self.wanted.discard(id(value))
                self.found.append((at, [value]))
        elif isinstance(value, Container):
            self._items(at, value.items)
        elif isinstance(value, list | tuple):
            self._items(at, list(value))
        elif isinstance(value, dict):
            for key, item in value.items():
                self.visit(f"{at}[{key!r}]", item)
        elif isinstance(value, Instance):
            for name, item in [*value.attributes.items(), *value.sublayers.items()]:
                self.visit(f"{at}.{name}" if name.isidentifier() else f"getattr({at}, {name!r})", item)

    def _items(self, at: str, items: list[Value]) -> None:
        ids = {id(item) for item in items}
        if self.wanted & ids and ids <= self.wanted | self.spare and len(ids) == len(items):
            self.wanted -= ids
            self.spare -= ids
            self.seen |= ids
            self.found.append((f"*{at}", items))
            return
        for index, item in enumerate(items):
            self.visit(f"{at}[{index}]", item)
