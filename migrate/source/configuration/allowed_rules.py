"""Whether the rules that a configuration names may run: they are Python, and lie in the tree that is looked at.

Somebody has to say so: on the command line, or in a file of the user's own that no tree brings along.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular_text

#: Below the user's folder of settings: a folder a line, whose configurations may name rules.
SETTING = Path("recmigrate", "allow-rules")


def may_run(config: Path, shown: str, rules: Sequence[str], given: bool | None) -> bool:
    """Return whether the rules of a configuration may run.

    Args:
        config: the file that names them, `shown` in messages.
        rules: their files, as it names them.
        given: what the command line says.

    Raises:
        MigrateError: nobody has said so, or the user's own file cannot be read.
    """
    if given is not None or not rules:
        return bool(given)
    if any(config.is_relative_to(folder) for folder in _folders()):
        return True
    raise MigrateError(
        f"{shown}: names rules (`{'`, `'.join(rules)}`), which are Python that would run; give --allow-rules if you "
        "trust this project, or --no-allow-rules to go on without them"
    )


def _folders() -> list[Path]:
    """Return the folders that the user's own file names, links resolved."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        place = (given if given.is_absolute() else Path.home() / ".config") / SETTING
        text = read_regular_text(place)
    except (FileNotFoundError, NotADirectoryError, RuntimeError):  # RuntimeError: a user without a home
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise MigrateError(f"{place}: cannot be read ({error}); write one folder a line") from error
    named = [Path(line.strip()).expanduser() for line in text.splitlines() if line.strip()]
    return [folder.resolve() for folder in named if folder.is_absolute()]
