"""Writes the file `checkpoint` of a folder, by which TensorFlow finds the latest one. Needs no TensorFlow."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

FILE = "checkpoint"


def write_latest(place: Path, scratch: Path) -> None:
    """Let `tf.train.latest_checkpoint(place.parent)` be `place`, the prefix of a checkpoint.

    The file is written to the folder `scratch` first, of the same file system.
    """
    name = json.dumps(place.name)
    file = scratch / FILE
    file.write_text(f"model_checkpoint_path: {name}\nall_model_checkpoint_paths: {name}\n", encoding="utf-8")
    file.replace(place.parent / FILE)


def another_latest(place: Path) -> str:
    """Return the checkpoint that the file `checkpoint` beside `place` names, if it is another; else an empty string."""
    with contextlib.suppress(OSError, ValueError):
        text = (place.parent / FILE).read_text(encoding="utf-8")
        matched = re.search(r'^model_checkpoint_path: (".*")$', text, re.MULTILINE)
        name = str(json.loads(matched[1])) if matched else ""
        return name if Path(name).name != place.name else ""
    return ""
