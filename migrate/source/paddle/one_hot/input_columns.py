"""Finds the attributes with the layers that read the input, which determine the order of the table's columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from migrate.source.paddle.abstract.values import Container, Instance, Layer, Refuse, Value
from migrate.source.paddle.one_hot.program import Program


def input_expressions(program: Program) -> list[str]:
    """Return Python expressions over `self` for the input layers, and set `program.columns` in the same order.

    A list whose items all read the input (or are unused and have the same input size) becomes one starred expression,
    so that the converted constructor works for any length.
    """
    size = program.schema.input.size
    linears = program.linears
    paths = program.paths
    spare = {
        id(layer)
        for layer in linears
        if not layer.calls and layer.arguments["in_features"] == size and id(layer) in paths
    }
    search = _Search({id(layer) for layer in program.input_linears}, spare, program.written)
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
    written: frozenset[tuple[int, str]]  #: what only `forward` sets
    seen: set[int] = field(default_factory=set)
    found: list[tuple[str, list[Layer]]] = field(default_factory=list)

    def visit(self, at: str, value: Value) -> None:
        if id(value) in self.seen or not self.wanted:
            return
        self.seen.add(id(value))
        layer = value.stock if isinstance(value, Instance) else value
        if isinstance(layer, Layer) and id(layer) in self.wanted:
            self.wanted.discard(id(layer))
            self.found.append((at, [layer]))
        elif isinstance(value, Container):
            self._items(at, value.items)
        elif isinstance(value, list | tuple):
            self._items(at, list(value))
        elif isinstance(value, dict):
            for key, item in value.items():
                self.visit(f"{at}[{key!r}]", item)
        elif isinstance(value, Instance):
            held = [*value.attributes.items(), *value.sublayers.items()]
            held = [(name, item) for name, item in held if (id(value), name) not in self.written]
            # A list says more than the names of its layers.
            for name, item in sorted(held, key=lambda pair: not isinstance(pair[1], list | tuple | dict | Container)):
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
