"""`rewriter.install`: every graph of this process trains with tables, whatever session runs it."""

from __future__ import annotations

from rewriter.installation.entry import Installation, install

__all__ = ["Installation", "install"]
