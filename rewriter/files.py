"""Reads the graphs that TensorFlow writes: GraphDef (.pb, .pbtxt), MetaGraph (.meta) and SavedModel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

__all__ = ["read_graph"]


def read_graph(path: str | Path) -> Any:
    """Return the GraphDef in a file, or of a SavedModel's directory.

    Raises:
        ValueError: there is no such file, it is none of these kinds, or a SavedModel with several graphs.
    """
    path = Path(path)
    if path.is_dir():
        return _of_saved_model(path)
    if not path.is_file():
        raise ValueError(f"{path} does not exist: give a .pb, .pbtxt or .meta file, or a SavedModel's directory")
    if path.suffix == ".meta":
        return _parsed(path, tf.compat.v1.MetaGraphDef()).graph_def
    if path.name.startswith("saved_model."):
        return _of_saved_model(path.parent)
    return _parsed(path, tf.compat.v1.GraphDef())


def _of_saved_model(folder: Path) -> Any:
    found = [folder / name for name in ("saved_model.pb", "saved_model.pbtxt") if (folder / name).is_file()]
    if not found:
        raise ValueError(f"{folder} holds no saved_model.pb: give a SavedModel's directory or the file of a graph")
    graphs = _parsed(found[0], saved_model_pb2.SavedModel()).meta_graphs
    if len(graphs) != 1:
        raise ValueError(f"{found[0]} holds {len(graphs)} graphs: export the one that is meant by itself")
    return graphs[0].graph_def


def _parsed(path: Path, message: Any) -> Any:
    """Fill `message` from a file, text if its name ends with `txt`."""
    try:
        content = path.read_bytes()
        text_format.Parse(content, message) if path.suffix == ".pbtxt" else message.ParseFromString(content)
    except (DecodeError, text_format.ParseError, OSError) as error:
        raise ValueError(f"{path} is no {type(message).__name__}: {str(error).splitlines()[0]}") from error
    return message
