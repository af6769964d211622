"""Writes the file `checkpoint` of a folder, by which TensorFlow finds the latest one. Needs no TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["FILE", "write_latest"]

FILE = "checkpoint"


def write_latest(place: Path, scratch: Path) -> None:
    """Let `tf.train.latest_checkpoint(place.parent)` be `place`, the prefix of a checkpoint.

    The file is written to the folder `scratch` first, of the same file system.
    """
    name = json.dumps(place.name)
    file = scratch / FILE
    file.write_text(f"model_checkpoint_path: {name}\nall_model_checkpoint_paths: {name}\n", encoding="utf-8")
    file.replace(place.parent / FILE)
