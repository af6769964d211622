"""Findings about the weights of a model's folder: which do not train, in Paddle and so in what is written.

A conversion keeps what Paddle does. Each place at which it is probably not what was meant gets a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.report.model import Finding, Location, State
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.registration import Untrained, Why, untrained

RULE = "paddle-untrained"
_REASON = "the converted model does what Paddle does"


def untrained_weights(path: str, name: str, program: Program) -> list[Finding]:
    """Return a note for each place of a file at which weights are made that do not train.

    Args:
        path: the file, as reports show it.
        name: its name in the model's folder.
        program: the executed trainer.
    """
    return [_note(path, found) for found in untrained(program) if found.place[0] == name]


def _note(path: str, found: Untrained) -> Finding:
    span = found.place[1]
    return Finding(
        rule=RULE,
        subject="layer",
        state=State.NOTED,
        location=Location(path, span[0], span[2]),
        message=_MESSAGES[found.why](found),
        reason=f"{_REASON}; {_REMEDIES[found.why]}",
    )


def _what(found: Untrained) -> str:
    """Return what is made there, in words."""
    kind = f"`{found.kind.removeprefix('paddle.')}`" if found.kind else "parameter"
    return kind if found.count == 1 else f"{found.count} {kind}" + ("" if found.kind else "s")


def _named(found: Untrained) -> str:
    first = f"`{found.names[0]}`"
    return f"{first} is" if len(found.names) == 1 else f"{first} and {len(found.names) - 1} more are"


def _replaced(found: Untrained) -> str:
    name = found.by.name if found.by is not None else ""
    return f"{_what(found)}: used, but not trained, because a later registration takes the name `{name}`"


def _unregistered(found: Untrained) -> str:
    return f"{_what(found)}: used, but not trained, because no layer of the model holds it"


def _unused(found: Untrained) -> str:
    return f"{_what(found)}: never used in training: {_named(found)} not trained"


def _unreached(found: Untrained) -> str:
    return f"{_what(found)}: the loss does not depend on it: {_named(found)} not trained"


_MESSAGES: Mapping[Why, Callable[[Untrained], str]] = {
    Why.REPLACED: _replaced,
    Why.UNREGISTERED: _unregistered,
    Why.UNUSED: _unused,
    Why.UNREACHED: _unreached,
}
_REMEDIES = {
    Why.REPLACED: "to train it, register it under a name of its own",
    Why.UNREGISTERED: "to train it, make it an attribute, or put it into an `nn.LayerList` or `nn.ParameterList`",
    Why.UNUSED: "if that is not meant, look for the call that uses another layer",
    Why.UNREACHED: "if that is not meant, look for what uses it",
}
