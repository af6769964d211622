"""`sok.Saver` of SOK 1.x."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import ranks
from runtime.compat.sok import dumping, files
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.compat.sok.variables import assign, export


class Saver:
    """Writes and reads the rows of one variable, in the files of `sok.dump`; every rank must call it.

    In a v1 graph, a method returns an op.
    """

    def dump_to_file(self, embedding_variable: Any, filepath: str) -> Any:
        """Write all rows to a directory."""
        variable = _variable(embedding_variable)
        if tf.executing_eagerly():
            dumping.dump(filepath, variable)
            return tf.constant("OK")
        keys, values = (ranks.current().all_gather(part)[0] for part in export(variable))
        name = dumping.name_in_files(variable)

        def write(keys: Any, values: Any) -> bytes:
            if ranks.rank() == 0:
                _write(Path(filepath), name, keys, values)
            return b"OK"

        return tf.numpy_function(write, [keys, values], tf.string)

    def restore_from_file(self, embedding_variable: Any, filepath: str) -> Any:
        """Read all rows from a directory that any number of ranks wrote."""
        variable = _variable(embedding_variable)
        if tf.executing_eagerly():
            dumping.load(filepath, variable)
            return tf.constant("OK")
        name, folder = dumping.name_in_files(variable), Path(filepath)
        width = variable.table.dim if isinstance(variable, DynamicVariable) else variable.shape[1]

        def read() -> tuple[Any, Any]:
            keys = files.read(folder / f"{name}-key", files.KEY).astype(np.int64)
            return keys, files.read(folder / f"{name}-weight", files.EMBEDDING, width).astype(np.float32)

        keys, values = tf.numpy_function(read, [], [tf.int64, tf.float32])
        keys.set_shape([None])
        values.set_shape([None, width])
        return assign(variable, keys, values)

    def load_embedding_values(self, embedding_variable: Any, tensors: Any) -> Any:
        """Give the keys 0, 1, 2 … the rows of one tensor [n, width], or of several concatenated ones."""
        listed = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        values = tf.concat([tf.cast(tf.convert_to_tensor(one), tf.float32) for one in listed], 0)
        done = assign(_variable(embedding_variable), tf.range(tf.shape(values, tf.int64)[0]), values)
        return tf.constant("OK") if tf.executing_eagerly() else done


def _variable(weight: Any) -> Any:
    """Return the variable inside of a Keras 3 weight."""
    return weight if isinstance(weight, tf.Variable) else weight.value


def _write(folder: Path, name: str, keys: Any, values: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, kind, numbers in (("key", files.KEY, keys), ("weight", files.EMBEDDING, values)):
        writer = files.Writer(folder / f"{name}-{part}", name, kind, numbers.dtype.name)
        writer.add(numbers)
        writer.finish()
    meta = files.TableMeta(name, "None", "int64", values.dtype.name, values.shape[1], len(keys))
    files.write_meta(folder, [meta])
