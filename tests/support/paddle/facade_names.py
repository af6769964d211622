"""Writes the names of `runtime.compat.paddle` for `migrate convert`: `python -m tests.support.paddle.facade_names`."""

from __future__ import annotations

import textwrap

from runtime.compat.paddle.installing import CONTENTS
from tests.support.paths import ROOT

PATH = ROOT / "migrate" / "source" / "paddle" / "eager" / "names.txt"
_WIDTH = 120


def text() -> str:
    """Return each module, and its names in indented lines."""
    parts = []
    for module, contents in sorted(CONTENTS.items()):
        names = " ".join(sorted(name for name in contents if not name.startswith("__")))
        parts += [module, *textwrap.wrap(names, _WIDTH, initial_indent="  ", subsequent_indent="  ")]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
