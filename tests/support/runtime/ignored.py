"""Arguments of a façade that its page says have no effect: `- `argument`, … of `function`, …: the reason`."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).parents[3]


def ignored(page: str, heading: str) -> dict[str, set[str]]:
    """Return the arguments in the section of a page in `docs`, by function; an entry needs a reason."""
    text = (_ROOT / "docs" / page).read_text()
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    arguments: dict[str, set[str]] = {}
    for entry in re.findall(r"^- (.*(?:\n  .*)*)", section, re.MULTILINE):
        match = re.fullmatch(r"((?:`\w+`(?:, )?)+) of ((?:`[\w.]+`(?:, )?)+): [\w`].*", " ".join(entry.split()))
        assert match, f"docs/{page}: write `- `argument` of `function`: reason`: {entry}"
        for function in re.findall(r"[\w.]+", match[2]):
            arguments.setdefault(function, set()).update(re.findall(r"\w+", match[1]))
    return arguments
