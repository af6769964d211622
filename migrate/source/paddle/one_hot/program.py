"""A model with its schema and trainer, executed: layers, what reads the input, outputs, and the trainer's loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrate.schema import Schema
from migrate.source.paddle.abstract import program
from migrate.source.paddle.abstract.layers import named_layers
from migrate.source.paddle.abstract.values import Class, Function, Instance, Layer, Module, Tensor, Value
from migrate.source.paddle.layers.basic import LINEAR
from migrate.source.paddle.one_hot.optimizer import Optimizer
from migrate.source.paddle.one_hot.watched import Watched


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
    loss_arguments: list[str] = field(
        default_factory=list
    )  #: how `build_model` calls it: `outputs[0]`, `labels[:, 0:1]`

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
        found = self.method("create_loss")
        assert found is not None
        return found

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
        return [layer for layer in self.run.made if isinstance(layer, Layer) and layer.name == LINEAR.name]

    @property
    def input_linears(self) -> list[Layer]:
        """The layers that read the one-hot input, in order of creation."""
        return [layer for layer in self.linears if layer.lookups]

    def method(self, name: str) -> Function | None:
        """Return a method of the trainer, or else of the schema's; None where neither has it."""
        own = super().method(name)
        return own if own is not None or self.default is None else self.default.method(name, self.trainer)
