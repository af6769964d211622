"""Makes text safe to show: control characters of terminals, browsers and text direction are escaped."""

from __future__ import annotations

import re

#: Controls except tab and newline, direction marks, zero-width blanks, surrogates; not the joiner, for emoji.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Return the text with every hidden or control character escaped, e.g. as `\\x1b`; CR LF becomes LF."""
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str) -> str:
    """Return the text escaped as `visible` does and folded to one line."""
    return " ".join(visible(text).split())


def shortened(text: str, room: int) -> str:
    """Return a name with its middle left out where it has more than `room` characters."""
    text = one_line(text)
    if len(text) <= room:
        return text
    head = (room - 1) // 2
    return f"{text[:head]}…{text[len(text) - (room - 1 - head) :]}"
