"""The options of commands that make a folder: where, and whether one may go for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

FILE = click.Path(path_type=Path)
FORCE = click.option("--force", is_flag=True, help="Replace the output folder and all that is in it.")


def output_folder(what: str = "Folder to make.") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `-o DIR`, which must be given."""
    return click.option("-o", "--output", required=True, metavar="DIR", type=FILE, help=what)
