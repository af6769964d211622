"""Checkpoints of several ranks, for any number of ranks to read: `save` and `restore` in eager mode, `Saver` in graphs.

`save_tables` and `restore_tables` are about tables alone, each by its name.

Each rank writes an ordinary checkpoint of what it holds, `<prefix>.rank-<r>-of-<n>`; a small file `<prefix>.ranks`
marks the checkpoint as complete. These are the public names; the code is in runtime.checkpoint.ranks.
"""

from __future__ import annotations

from runtime.checkpoint.ranks.by_name import restore_tables, save_tables
from runtime.checkpoint.ranks.eager import restore, save
from runtime.checkpoint.ranks.saver import Saver
from runtime.ranks.checkpoint_parts import latest

__all__ = ["Saver", "latest", "restore", "restore_tables", "save", "save_tables"]
