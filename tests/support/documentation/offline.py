"""Whether a browser can show the site without another host."""

from __future__ import annotations

import re

#: What a browser loads by itself from another host, in a page or a style sheet.
_FOREIGN = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\ssrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*\shref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(|@import\s*)["']?((?:https?:)?//[^"'\s)]+)"""
)


def foreign(text: str) -> list[str]:
    """Return the addresses on other hosts that a page or a style sheet loads; a link to follow is none."""
    return ["".join(groups) for groups in _FOREIGN.findall(text)]
