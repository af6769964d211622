"""The parts of a Paddle conversion."""

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

    Dense columns stay a product, one-hot groups become lookups of one row each. Every other `Linear` becomes a dense
    layer.
    """

    id = "paddle-linear"
    title = "An `nn.Linear` over one-hot columns becomes a dense product and lookups"


@register
class Table(Rule):
    """The one-hot rows of all kernels that read the input stand side by side in one table."""

    id = "paddle-table"
    title = "The kernels' one-hot rows become one table"


@register
class Loss(Rule):
    """The trainer's own `create_loss` is carried over; without one the loss follows from the tasks of the schema."""

    id = "paddle-loss"
    title = "The loss is carried over"


@register
class Optimizer(Rule):
    """The trainer's optimizer is named with its numbers: the converted module ends with the loss.

    One with a schedule, a clip, a decay, or only some of the parameters is work that remains. `migrate project` writes
    the training step as well, with Adam or SGD as the trainer makes them.
    """

    id = "paddle-optimizer"
    title = "The trainer's optimizer is named"
    applicability = None
