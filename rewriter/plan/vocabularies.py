"""What vocabularies say of ids: how many words there are, and which id a word has that is not among them."""

from __future__ import annotations

import numbers

import tensorflow as tf

from rewriter.graph.view import GraphView, Tensor

#: Ops that look words up, with the id of all others as their third input.
FINDS = ("LookupTableFindV2",)
_LIKE = {"ZerosLike": 0, "OnesLike": 1}
_SIZES = ("LookupTableSizeV2",)
_OF_TENSORS = ("InitializeTableV2", "LookupTableImportV2")
_OF_FILES = ("InitializeTableFromTextFileV2",)


def other_id(view: GraphView, op: str) -> int | None:
    """Return the id that an op of `FINDS` gives words that are not in its vocabulary; None if it is not known."""
    return number_of(view, view.inputs(op)[2])


def number_of(view: GraphView, tensor: Tensor) -> int | None:
    """Return the whole number that all elements of a tensor are, sizes of vocabularies among them; None if unknown."""
    while (kind := view.type(tensor.op)) in ("Cast", "Identity", "Fill"):
        tensor = view.inputs(tensor.op)[kind == "Fill"]
    if kind in _SIZES:
        return _size(view, view.inputs(tensor.op)[0])
    number = _LIKE.get(kind, view.number(tensor))
    return int(number) if isinstance(number, numbers.Integral) else None


def _size(view: GraphView, handle: Tensor) -> int | None:
    """Return how many words a vocabulary has; None if the graph does not say, or they may become more."""
    while len(view.inputs(handle.op)) == 1:  # which hands it on
        (handle,) = view.inputs(handle.op)
    for use in view.uses(handle) if view.type(handle.op) == "HashTableV2" else ():
        kind, inputs = view.type(use.op), view.inputs(use.op)
        if kind in _OF_TENSORS and view.shape(inputs[1]).num_elements() is not None:
            return int(view.shape(inputs[1]).num_elements())
        if kind in _OF_FILES:
            declared = view.attribute(use.op, "vocab_size").i
            return int(declared) if declared > 0 else _lines(view, use.op)
    return None


def _lines(view: GraphView, op: str) -> int | None:
    """Return how many words the file of a vocabulary has; None if it cannot be read yet."""
    names = view.texts(view.inputs(op)[1].op)
    if not names:
        return None
    try:
        with tf.io.gfile.GFile(names[0], "rb") as file:
            return sum(1 for _ in file) - int(view.attribute(op, "offset").i)
    except tf.errors.OpError:
        return None
