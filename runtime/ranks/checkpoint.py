"""Checkpoints of several ranks, which any number of ranks reads: `save` and `restore` in eager mode, `Saver` in graphs.

Each rank writes an ordinary checkpoint of what it holds, `<prefix>.rank-<r>-of-<n>`; a small file `<prefix>.ranks` says
that all are there. This is where programs find them; they stand above tables, in runtime.checkpoint.ranks.
"""

from __future__ import annotations

from runtime.checkpoint.ranks.eager import restore, save
from runtime.checkpoint.ranks.saver import Saver
from runtime.ranks.checkpoint_parts import latest

__all__ = ["Saver", "latest", "restore", "save"]
