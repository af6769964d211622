"""Rules for the parts of a converted Paddle model."""

from __future__ import annotations

from migrate.source.rules import Rule, register


@register
class LayerClass(Rule):
    """A class derived from `nn.Layer` becomes a TensorFlow module with the same methods, names, loops and comments."""

    id = "paddle-layer-class"
    title = "An `nn.Layer` becomes a TensorFlow module"


@register
class Linear(Rule):
    """`x·W + b` of a `Linear` that reads the model's input is split.

    Dense columns remain a matrix product, and each one-hot group becomes a lookup of one row. Every other `Linear`
    becomes a dense layer.
    """

    id = "paddle-linear"
    title = "An `nn.Linear` over one-hot columns becomes a dense product and lookups"


@register
class Table(Rule):
    """The one-hot rows of all kernels that read the input become one table, with the kernels' columns side by side."""

    id = "paddle-table"
    title = "The kernels' one-hot rows become one table"


@register
class Sdk(Rule):
    """With `--target` or switches, the module has the SDK's tables and lookups: `create_embedding_tables` makes a table
    for each initializer, `lookup_embedding` gives `build_model` its rows. What the SDK does otherwise is told.
    """

    id = "paddle-sdk"
    title = "The module makes the SDK's tables"


@register
class Loss(Rule):
    """The trainer's `create_loss` is converted; without one, the loss is made from the tasks of the schema."""

    id = "paddle-loss"
    title = "The loss is converted"


@register
class Optimizer(Rule):
    """The trainer's optimizer is reported with its arguments, because the converted module has no training step.

    An optimizer with a schedule, clipping, decay, or only some of the parameters needs a decision. `migrate project`
    also writes a training step, with the Adam or SGD optimizer of the trainer.
    """

    id = "paddle-optimizer"
    title = "The trainer's optimizer is reported"
    applicability = None


@register
class Embedding(Rule):
    """An `nn.Embedding` becomes a table that grows; one whose rows all move or whose matrix is read stays dense."""

    id = "paddle-embedding"
    title = "An `nn.Embedding` becomes a table"


@register
class Program(Rule):
    """An eager program keeps its code: `install()` stands before its first import of Paddle, tables hold its ids."""

    id = "paddle-program"
    title = "An eager Paddle program runs as it is"


@register
class Trainer(Rule):
    """The trainer's class builds a TensorFlow graph from a batch: feeds, forward pass, loss and metrics."""

    id = "paddle-trainer"
    title = "The trainer's methods build a graph"


@register
class Reader(Rule):
    """A reader keeps its code; its base class is that of `runtime.nn.data`."""

    id = "paddle-reader"
    title = "The reader's base class is replaced"


@register
class Entry(Rule):
    """The entry policy of a `sparse_embedding` becomes the table's admission, or has no effect, which is reported."""

    id = "paddle-entry"
    title = "An entry policy becomes admission"


@register
class Server(Rule):
    """Settings of a parameter server are not read: rows train with the optimizer of the file."""

    id = "paddle-server"
    title = "Settings of a parameter server are reported"
    applicability = None
