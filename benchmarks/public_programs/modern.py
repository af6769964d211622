"""Makes sources of some years ago run in Python 3.11: Python 2 is translated, and texts are replaced."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path

__all__ = ["modernize"]

_FIXERS = (
    *("print", "except", "raise", "has_key", "dict", "xrange", "imports", "map", "filter", "zip", "reduce", "unicode"),
    *("raw_input", "long", "ne", "next", "tuple_params", "basestring", "exec", "numliterals", "itertools"),
)


def modernize(folder: Path, mended: Mapping[str, str], python2: bool) -> None:
    """Change the Python files of a folder: what matches a regular expression of `mended` is replaced."""
    for path in sorted(folder.rglob("*.py")):
        if path.is_symlink():
            continue
        text = changed = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
        if python2:
            changed = _translated(_without_tabs(changed), str(path))
        for old, new in mended.items():
            changed = re.sub(old, new, changed, flags=re.MULTILINE)
        if changed != text:
            path.write_text(changed, encoding="utf-8")


def _translated(text: str, name: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from lib2to3.pgen2.parse import ParseError
        from lib2to3.pgen2.tokenize import TokenError
        from lib2to3.refactor import RefactoringTool
    options = {"print_function": not re.search(r"^\s*print\s+[^(\s]", text, re.MULTILINE)}
    tool = RefactoringTool([f"lib2to3.fixes.fix_{one}" for one in _FIXERS], options)
    try:
        return str(tool.refactor_string(text + "\n", name))
    except (ParseError, TokenError):
        return text


def _without_tabs(text: str) -> str:
    """Return the text with tabs of Python 2, which go to the next multiple of eight columns."""
    return re.sub(r"^[ \t]+", lambda blank: blank[0].expandtabs(8), text, flags=re.MULTILINE)
