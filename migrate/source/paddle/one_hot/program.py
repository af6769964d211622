"""A model with its schema and trainer, executed: layers, what reads the input, outputs, and the trainer's loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrate.schema import Schema
from migrate.source.paddle.abstract import program
from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.values import (
    Class,
    Container,
    Function,
    Instance,
    Layer,
    Module,
    Tensor,
    Value,
)
from migrate.source.paddle.layers.basic import LINEAR
from migrate.source.paddle.one_hot.watched import Optimizer, Watched


@dataclass(kw_only=True)
class Program(program.Program):
    """A trainer whose model has a one-hot input: what is known of both after their execution."""

    run: Watched
    schema: Schema
    shown: str  #: path of the model's file in reports
    net: Module  #: the model's file
    outputs: list[Tensor] = field(default_factory=list)
    returns_list: bool = True
    default: Class | None = None  #: has the methods that the trainer lacks, as the schema tells
    default_text: str = ""  #: the text of its file
    trained_by: Optimizer | None = None  #: what `create_optimizer` makes
    overridden: list[str] = field(default_factory=list)  #: where the schema's arguments are not `create_model`'s
    batch_input: int = 0  #: the item of the reader's batch that the model is given
    batch_labels: dict[int, int] = field(default_factory=dict)  #: item of the batch -> column of the labels
    written: frozenset[tuple[int, str]] = frozenset()  #: (id of an object, attribute) that `forward` sets
    columns: list[Layer] = field(default_factory=list)  #: the layers whose kernels share the table, from left to right
    #: how `build_model` calls it: `outputs[0]`, `labels[:, 0:1]`
    loss_arguments: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the model class."""
        return self.run.model_class.name

    @property
    def arguments(self) -> Mapping[str, Value]:
        """What the model is made with."""
        return self.run.arguments

    @property
    def loss(self) -> Function:
        """`create_loss` of the trainer, or else of the schema's tasks."""
        function = self.method("create_loss")
        assert function is not None
        return function

    @property
    def emb_dim(self) -> int:
        """The number of columns of the embedding table."""
        return sum(int(layer.arguments["out_features"]) for layer in self.columns)

    @property
    def paths(self) -> dict[int, str]:
        """id of a layer -> its path in Paddle."""
        return {id(layer): path for path, layer in named_layers(self.model)} | {
            id(layer.stock): path
            for path, layer in named_layers(self.model)
            if isinstance(layer, Instance) and layer.stock is not None
        }

    @property
    def linears(self) -> list[Layer]:
        """All `nn.Linear`, in order of creation."""
        return [layer for layer in self.run.layers if isinstance(layer, Layer) and layer.name == LINEAR.name]

    @property
    def input_linears(self) -> list[Layer]:
        """The layers that read the one-hot input, in order of creation."""
        return [layer for layer in self.linears if layer.lookups]

    def method(self, name: str) -> Function | None:
        """Return a method of the trainer, or else of the schema's; None where neither has it."""
        own = super().method(name)
        return own if own is not None or self.default is None else self.default.method(name, self.trainer)


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
    assert program.run.problems or not search.wanted, "a layer that reads the input is registered, or a problem"
    program.columns = [layer for _, layers in search.expressions for layer in layers]
    return [expression for expression, _ in search.expressions]


@dataclass
class _Search:
    """Searches a model for the attributes with its input layers."""

    wanted: set[int]  #: ids of input layers that are not found yet
    spare: set[int]  #: ids of unused layers that may be among them
    written: frozenset[tuple[int, str]]  #: what only `forward` sets
    seen: set[int] = field(default_factory=set)
    expressions: list[tuple[str, list[Layer]]] = field(default_factory=list)

    def visit(self, at: str, value: Value) -> None:
        if id(value) in self.seen or not self.wanted:
            return
        self.seen.add(id(value))
        layer = value.stock if isinstance(value, Instance) else value
        if isinstance(layer, Layer) and id(layer) in self.wanted:
            self.wanted.discard(id(layer))
            self.expressions.append((at, [layer]))
        elif isinstance(value, Container):
            self._items(at, value.items)
        elif isinstance(value, (list, tuple)):
            self._items(at, list(value))
        elif isinstance(value, dict):
            for key, item in value.items():
                self.visit(f"{at}[{key!r}]", item)
        elif isinstance(value, Instance):
            held = [*value.attributes.items(), *value.sublayers.items()]
            held = [(name, item) for name, item in held if (id(value), name) not in self.written]
            # A list says more than the names of its layers.
            for name, item in sorted(held, key=lambda pair: not isinstance(pair[1], (list, tuple, dict, Container))):
                self.visit(f"{at}.{name}" if name.isidentifier() else f"getattr({at}, {name!r})", item)

    def _items(self, at: str, items: list[Value]) -> None:
        ids = {id(item) for item in items}
        if self.wanted & ids and ids <= self.wanted | self.spare and len(ids) == len(items):
            self.wanted -= ids
            self.spare -= ids
            self.seen |= ids
            self.expressions.append((f"*{at}", items))
            return
        for index, item in enumerate(items):
            self.visit(f"{at}[{index}]", item)
