"""Files that may declare or set the options which others evaluate as code: `eval(args.sizes)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from migrate.source.project.analysis_units import Programs

#: An attribute that `eval` reads.
EVALUATED = re.compile(r"\beval\s*\(\s*[\w.]+\.\s*(\w+)\s*\)")
#: Code that declares options, or sets them without their names.
DECLARES = (
    r"\bparse_(known_)?args\b|\badd_argument\b|\bDEFINE_\w+|\bset_defaults?\b|\b(__)?setattr(__)?\b|\bvars\s*\("
    r"|__dict__|\bargv\b"
)


def declaring(programs: Programs, unit: Sequence[str]) -> tuple[str, ...]:
    """Return the files outside of a unit, in its programs, that may declare or set what the unit evaluates."""
    project = programs.project
    names = {name for path in unit for name in EVALUATED.findall(project.text(path))}
    if not names:
        return ()
    words = re.compile(rf"{DECLARES}|\b({'|'.join(sorted(names))})\b")
    beside = {one for path in unit for entry in programs.entries(path) for one in project.closure(entry)} - set(unit)
    return tuple(path for path in project.files if path in beside and project.holds(path, words))
