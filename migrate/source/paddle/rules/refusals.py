"""Why a Paddle file is left unchanged."""

from __future__ import annotations

from migrate.source.rules import Rule, register


@register
class NoModel(Rule):
    """A file without an `nn.Layer`, such as the trainer, is left unchanged, with a note."""

    id = "paddle-no-model"
    title = "A Paddle file without a model is left unchanged"
    applicability = None


@register
class NoSchema(Rule):
    """The source does not show which columns of its input are one-hot groups: `--schema FILE` states it."""

    id = "paddle-no-schema"
    title = "A Paddle model needs a feature schema"
    applicability = None


@register
class ForeignBase(Rule):
    """A class whose base is neither in the file nor imported by name may be a model, so it is reported."""

    id = "paddle-foreign-base"
    title = "A class with an unknown base class is reported"
    applicability = None


@register
class Unsupported(Rule):
    """A model is converted only when all of it is understood; each construct that is not is a finding."""

    id = "paddle-unsupported"
    title = "A model with a construct that is not understood is left unchanged"
    applicability = None


@register
class Syntax(Rule):
    """A file with a syntax error is left unchanged."""

    id = "paddle-syntax"
    title = "A Paddle file with a syntax error is reported"
    applicability = None
