"""What a façade can be set to: arguments of its functions, as options of a command line and environment variables."""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_SWITCH = {"1": True, "true": True, "0": False, "false": False, "": False}


def heeding(prefix: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: an argument `name` that a call leaves out is taken from the variable `<prefix>_<NAME>`.

    A bool is 1 or 0. A variable that is not set leaves the default. The function raises ValueError if one has a value
    that is none of its argument.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = inspect.signature(function).bind_partial(*args, **kwargs).arguments
            for name, kind in _kinds(function).items():
                variable = f"{prefix}_{name.upper()}"
                if name not in bound and variable in os.environ:
                    kwargs[name] = _read(variable, os.environ[variable], kind)
            return function(*args, **kwargs)

        return called

    return decorate


def add_options(
    parser: argparse.ArgumentParser, function: Callable[..., Any], short: Mapping[str, str] | None = None
) -> None:
    """Add an option for each argument of a function, with its text in the docstring; what is not given stays absent."""
    texts = _texts(inspect.getdoc(function) or "")
    for name, kind in _kinds(function).items():
        choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else None
        settings: dict[str, Any] = {"action": argparse.BooleanOptionalAction} if kind is bool else {"choices": choices}
        if kind is int:
            settings["type"] = int
        flags = [*filter(None, [(short or {}).get(name)]), f"--{name.replace('_', '-')}"]
        # A per cent sign would be a place for one of argparse's values.
        help_text = texts.get(name, "").replace("%", "%%")
        parser.add_argument(*flags, dest=name, default=argparse.SUPPRESS, help=help_text, **settings)


def as_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a command line that give these options."""
    spelled = {name: name.replace("_", "-") for name in options}
    return [
        f"--{'' if value else 'no-'}{spelled[name]}" if isinstance(value, bool) else f"--{spelled[name]}={value}"
        for name, value in options.items()
    ]


def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a function's arguments: bool, int, str or Literal."""
    hints = typing.get_type_hints(function)
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    arguments = inspect.signature(function).parameters.values()
    return {one.name: hints[one.name] for one in arguments if one.kind not in variadic}


def _read(variable: str, value: str, kind: Any) -> Any:
    choices = typing.get_args(kind)
    try:
        if kind is bool:
            return _SWITCH[value.lower()]
        if choices and value not in choices:
            raise KeyError(value)
        return int(value) if kind is int else value
    except (KeyError, ValueError):
        wanted = "1 or 0" if kind is bool else " or ".join(choices) or "a whole number"
        raise ValueError(f"the environment variable {variable}={value} must be {wanted}") from None


def _texts(documentation: str) -> dict[str, str]:
    """Return the text of each argument in a docstring's section `Args:`."""
    section = documentation.partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n     +.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}
