"""`paddle.save` and `paddle.load`: pickles of arrays, numbers, lists and dictionaries, as Paddle writes them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.compat.paddle.tensor import Tensor, plain
from runtime.compat.paddle.wide_ids import frees
from runtime.nn.initializer import Assign
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Weight

#: The entry of a file of Paddle that has the names of the weights themselves.
NAMES = "StructuredToParameterName@@"
_CLASSES = {
    *(("numpy", name) for name in ("ndarray", "dtype")),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"))
    ),
    ("collections", "OrderedDict"),
    ("_codecs", "encode"),
}


def beyond(name: str) -> str:
    """Return the entry of a file with the rows of a table that Paddle's matrix has no place for."""
    return f"{name}@beyond"


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Write an object; a state dict has the values of its weights.

    Rows of a table with ids beyond `num_embeddings` are an entry of their own, `NAME@beyond`, which Paddle ignores.
    """
    del configs
    if isinstance(path, str | os.PathLike):
        Path(path).absolute().parent.mkdir(parents=True, exist_ok=True)
        written = Path(f"{path}.part")
        with written.open("wb") as file:
            pickle.dump(_saved(obj), file, protocol)
        written.replace(path)
    else:
        pickle.dump(_saved(obj), path, protocol)


def _saved(obj: Any) -> Any:
    if isinstance(obj, Tensor | Weight | tf.Tensor | tf.Variable):
        return values_of(obj)
    if isinstance(obj, Mapping):
        content = {key: _saved(value) for key, value in obj.items()}
        weights = {key: value for key, value in obj.items() if isinstance(value, Weight)}
        for key, weight in weights.items():
            if isinstance(weight, TableWeight) and len((rows := _beyond_rows(weight))["ids"]):
                content[beyond(key)] = rows
        return content | ({NAMES: {key: weight.name for key, weight in weights.items()}} if weights else {})
    if isinstance(obj, list | tuple):
        return type(obj)(_saved(part) for part in obj)
    return obj


def values_of(weight: Any) -> Any:
    """Return the values of a tensor or a weight as an array; of a table, the rows of the ids below `num_embeddings`."""
    if isinstance(weight, Weight) and not weight.built and isinstance(weight.initializer, Assign):
        return weight.initializer(weight.declared_shape, weight.declared_dtype).numpy()  # a copy that nobody has used
    if isinstance(weight, TableWeight) and frees(weight):
        return weight.base_rows()
    if isinstance(weight, TableWeight):
        rows = weight.rows(tf.range(weight.declared_shape[0], dtype=tf.int64), training=False).numpy()
        if weight.padding is not None:
            rows[weight.padding] = 0
        return rows
    return np.asarray(weight.tensor() if isinstance(weight, Weight) else plain(weight))


def _beyond_rows(weight: TableWeight) -> dict[str, Any]:
    ids, rows = weight.own_rows()
    if frees(weight):
        return {"ids": ids, "rows": rows, "buckets": weight.declared_shape[0]}
    kept = (ids < 0) | (ids >= weight.declared_shape[0])
    return {"ids": ids[kept], "rows": rows[kept]}


def set_weight(weight: Weight, name: str, values: Mapping[str, Any]) -> None:
    """Give a weight the values of an entry of a state dict.

    Raises:
        ValueError: they have another shape, or are of ids without buckets, which the weight has.
    """
    stored = values[name]
    array = values_of(stored) if isinstance(stored, Tensor | Weight) else np.asarray(stored)
    if tuple(array.shape) != weight.declared_shape:
        raise ValueError(
            f"set_state_dict got values of shape {list(array.shape)} for the weight `{name}` of shape "
            f"{list(weight.declared_shape)}: create the model with the sizes of the saved values"
        )
    more = values.get(beyond(name))
    if more is not None and "buckets" in more and not (isinstance(weight, TableWeight) and frees(weight)):
        raise ValueError(
            f"set_state_dict got rows of single ids for the weight `{name}`, in place of {more['buckets']} "
            "buckets: run the program with unbucket, as the program that saved them"
        )
    if isinstance(weight, TableWeight):
        weight.forget_own_rows()
    weight.set_value(array)
    if more is not None and isinstance(weight, TableWeight):
        weight.table.import_rows(np.asarray(more["ids"]), np.asarray(more["rows"]))


class _Plain(pickle.Unpickler):
    """Reads arrays, numbers, texts, lists and dictionaries, and runs nothing else that a file names."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that plain data needs."""
        if (module, name) not in _CLASSES:
            raise ValueError(f"it names {module}.{name}, which is not plain data")
        return super().find_class(module, name)


def load(path: Any, **configs: Any) -> Any:
    """Read what `save` or Paddle wrote.

    Raises:
        ValueError: it is not such a file, or names anything but plain data, which is not run.
    """
    return_numpy = bool(configs.pop("return_numpy", False))
    try:
        if isinstance(path, str | os.PathLike):
            with Path(path).open("rb") as file:
                content = _Plain(file).load()
        else:
            content = _Plain(path).load()
    except (pickle.UnpicklingError, EOFError, ValueError, AttributeError, ImportError, IndexError) as error:
        raise ValueError(f"{path}: cannot be loaded ({error}); give a file that paddle.save wrote") from None
    return content if return_numpy else _tensors(content)


def _tensors(obj: Any) -> Any:
    if isinstance(obj, np.ndarray):
        return Tensor(tf.constant(obj))
    if isinstance(obj, dict):
        return {
            key: value if key == NAMES or str(key).endswith("@beyond") else _tensors(value)
            for key, value in obj.items()
        }
    if isinstance(obj, tuple) and len(obj) == 2 and isinstance(obj[0], str) and isinstance(obj[1], np.ndarray):
        return Tensor(tf.constant(obj[1]))  # a tensor of its own, as Paddle pickles it: its name and its values
    return type(obj)(_tensors(part) for part in obj) if isinstance(obj, list | tuple) else obj
