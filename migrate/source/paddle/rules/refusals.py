"""Why a Paddle file stays as it is."""

from __future__ import annotations

from migrate.source.rules import Rule, register


@register
class NoModel(Rule):
    """A file without an `nn.Layer`, such as the trainer, is noted and left alone."""

    id = "paddle-no-model"
    title = "A Paddle file without a model stays as it is"
    applicability = None


@register
class NoSchema(Rule):
    """The source does not say which columns of its input are one-hot groups: `--schema FILE` does."""

    id = "paddle-no-schema"
    title = "A Paddle model needs a feature schema"
    applicability = None


@register
class ForeignBase(Rule):
    """A class whose base is neither in the file nor imported by name may be a model, so it is named."""

    id = "paddle-foreign-base"
    title = "A class with an unknown base is named"
    applicability = None


@register
class Unsupported(Rule):
    """A model is converted only when all of it is understood; each construct that is not is a finding."""

    id = "paddle-unsupported"
    title = "A construct that is not understood keeps the model as it is"
    applicability = None


@register
class Syntax(Rule):
    """A file that does not parse is left as it is."""

    id = "paddle-syntax"
    title = "A Paddle file that does not parse is named"
    applicability = None
