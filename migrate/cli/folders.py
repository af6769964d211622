"""Options of commands that write a folder: its path, and whether an existing one may be replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

FILE = click.Path(path_type=Path)
FORCE = click.option("--force", is_flag=True, help="Replace the output folder with all of its contents.")


def output_folder(what: str = "Output folder.") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the required option `-o DIR`."""
    return click.option("-o", "--output", required=True, metavar="DIR", type=FILE, help=what)
