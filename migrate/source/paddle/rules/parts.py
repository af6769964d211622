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

    Dense columns remain a product, one-hot groups become lookups of one row each. Every other `Linear` becomes a dense
    layer.
    """

    id = "paddle-linear"
    title = "An `nn.Linear` over one-hot columns becomes a dense product and lookups"


@register
class Table(Rule):
    """The rows for one-hot columns, of all kernels that read the input, become one table, side by side."""

    id = "paddle-table"
    title = "The kernels' rows for one-hot columns become one table"


@register
class Loss(Rule):
    """The trainer's `create_loss` is converted; without one, the tasks of the schema determine the loss."""

    id = "paddle-loss"
    title = "The trainer's loss is converted"


@register
class Optimizer(Rule):
    """The trainer's optimizer is reported with its arguments, because the converted module ends with the loss.

    One with a schedule, gradient clipping, weight decay, or only some of the parameters remains to be written by
    hand. `migrate project` writes the training step as well, with the Adam or SGD of the trainer.
    """

    id = "paddle-optimizer"
    title = "The trainer's optimizer is reported"
    applicability = None
