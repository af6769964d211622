"""Reads and writes graph files of TensorFlow: GraphDef (.pb, .pbtxt), MetaGraph (.meta) and SavedModel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

_OF_CHECKPOINT = re.compile(r"\.(index|data-\d+-of-\d+)$")
#: Names of nodes: a colon stands before the number of an output, `^` before an op that is waited for.
_NAME = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\\/>-]*")
#: File names of a SavedModel in its directory.
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")


def kind_of(path: str | Path) -> str:
    """Return the kind of graph file that a path names: `GraphDef`, `MetaGraphDef`, or `SavedModel` for a directory.

    Raises:
        ValueError: the name is of no known kind.
    """
    path = Path(path)
    if path.is_dir() or path.name in _SAVED_MODEL or not path.suffix:
        return "SavedModel"
    if path.suffix in (".pb", ".pbtxt"):
        return "GraphDef"
    if path.suffix == ".meta":
        return "MetaGraphDef"
    raise ValueError(
        f"{path} does not end in .pb, .pbtxt or .meta: give such a file the ending of its format, or name a "
        "SavedModel's directory"
    )


def read_graphs(path: str | Path) -> dict[str, Any]:
    """Return the MetaGraphDefs in a file or a SavedModel's directory, by their comma-separated tags.

    A GraphDef is returned in an otherwise empty MetaGraphDef.

    Raises:
        ValueError: the file does not exist, or it is of none of these kinds.
    """
    message = read_message(path)
    if isinstance(message, tf.compat.v1.GraphDef):
        meta = tf.compat.v1.MetaGraphDef()
        meta.graph_def.CopyFrom(message)
        return {"": meta}
    if isinstance(message, tf.compat.v1.MetaGraphDef):
        return {"": message}
    return graphs_of(message)


def graphs_of(model: Any) -> dict[str, Any]:
    """Return the MetaGraphDefs of a SavedModel, by their comma-separated tags."""
    return {",".join(sorted(meta.meta_info_def.tags)): meta for meta in model.meta_graphs}


def read_graph(path: str | Path) -> Any:
    """Return the GraphDef in a file or in a SavedModel's directory.

    Raises:
        ValueError: the file does not exist, is of none of these kinds, or is a SavedModel with several graphs.
    """
    graphs = read_graphs(path)
    if len(graphs) != 1:
        raise ValueError(
            f"{path} holds {len(graphs)} graphs: export a SavedModel with a single MetaGraph, the one that you need"
        )
    return next(iter(graphs.values())).graph_def


def read_message(path: str | Path) -> Any:
    """Return the message in a file or a SavedModel's directory: a GraphDef, MetaGraphDef or SavedModel.

    Raises:
        ValueError: the file does not exist, or it is of none of these kinds.
    """
    path = Path(path)
    if path.is_dir():
        return _of_saved_model(path)
    if not path.is_file():
        hint = "; it is the prefix of a checkpoint, which holds no graph" if Path(f"{path}.index").is_file() else ""
        raise ValueError(f"{path} does not exist{hint}: give a .pb, .pbtxt or .meta file, or a SavedModel's directory")
    if _OF_CHECKPOINT.search(path.name):
        raise ValueError(f"{path} is part of a checkpoint, which holds no graph: give the .meta file beside it")
    if path.name in _SAVED_MODEL:
        return _of_saved_model(path.parent)
    message = _parsed(path, tf.compat.v1.MetaGraphDef() if path.suffix == ".meta" else tf.compat.v1.GraphDef())
    nodes = message.node if isinstance(message, tf.compat.v1.GraphDef) else message.graph_def.node
    if not nodes:
        raise ValueError(f"{path} holds no graph: it is empty")
    if not all(node.name and node.op for node in nodes):
        raise ValueError(f"{path} is not a {type(message).__name__}: a node has no name or type")
    _check_names(path, nodes)
    return message


def _check_names(path: Path, nodes: Iterable[Any]) -> None:
    odd = next((node.name for node in nodes if not _NAME.fullmatch(node.name)), None)
    if odd is not None:
        raise ValueError(f"{path} has a node named `{odd}`, which TensorFlow does not load: export the graph again")


def to_bytes(message: Any, path: str | Path) -> bytes:
    """Return the bytes of a message for the file `path`: as text if its name ends with `txt`."""
    if Path(path).suffix == ".pbtxt":
        return str(text_format.MessageToString(message)).encode()
    return bytes(message.SerializeToString(deterministic=True))


def _of_saved_model(folder: Path) -> Any:
    files = [folder / name for name in _SAVED_MODEL if (folder / name).is_file()]
    if not files:
        raise ValueError(f"{folder} holds no saved_model.pb: give a SavedModel's directory or a graph file")
    model = _parsed(files[0], saved_model_pb2.SavedModel())
    if not model.meta_graphs:
        raise ValueError(f"{files[0]} holds no graph: it is empty")
    _check_names(files[0], (node for meta in model.meta_graphs for node in meta.graph_def.node))
    if any(meta.HasField("object_graph_def") for meta in model.meta_graphs):
        raise ValueError(
            f"{folder} is a SavedModel of TensorFlow 2, whose lookups are in functions that no Saver covers: change "
            "the program that exports it, with `migrate convert` or runtime.keras.Embedding, and export it again"
        )
    return model


def _parsed(path: Path, message: Any) -> Any:
    """Parse a file into `message`; a MetaGraph may be text under either name."""
    try:
        content = path.read_bytes()
        if path.suffix == ".pbtxt":
            return text_format.Parse(content.decode(), message)
        try:
            message.ParseFromString(content)
        except DecodeError:
            if path.suffix != ".meta" or not content.isascii():
                raise
            message.Clear()
            text_format.Parse(content.decode(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, OSError) as error:
        raise ValueError(f"{path} is not a {type(message).__name__}: {str(error).splitlines()[0]}") from error
    return message
