"""Rules for Paddle files that are not converted."""

from __future__ import annotations

from migrate.source.rules import Rule, register


@register
class NoModel(Rule):
    """With a schema, a file without an `nn.Layer`, such as a trainer or a reader, is left unchanged, with a note."""

    id = "paddle-no-model"
    title = "A Paddle file without the schema's model is left unchanged"
    applicability = None


@register
class ForeignBase(Rule):
    """A class whose base is neither defined in the file nor imported by name may be a model, so it is reported."""

    id = "paddle-foreign-base"
    title = "A class with an unknown base is reported"
    applicability = None


@register
class Unsupported(Rule):
    """A model is converted only if all of its constructs are supported; each other construct is a finding."""

    id = "paddle-unsupported"
    title = "A model with an unsupported construct is left unchanged"
    applicability = None


@register
class Syntax(Rule):
    """A file that is not valid Python is left unchanged."""

    id = "paddle-syntax"
    title = "A Paddle file that is not valid Python is reported"
    applicability = None


@register
class Inputs(Rule):
    """Shapes and dtypes of a batch come from the reader and its sample data, or from `inputs` of the schema."""

    id = "paddle-inputs"
    title = "A model whose batch is not known is left unchanged"
    applicability = None


@register
class NotReached(Rule):
    """What the trainer does not come to with its configuration is not converted; a note says so."""

    id = "paddle-not-reached"
    title = "Code that the trainer does not reach is not converted"
    applicability = None
