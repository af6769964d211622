"""Fails loudly when a TensorFlow or a Keras lacks the private names that a whole variable relies on."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private, _tf_private_keras


def test_a_resource_says_which_shape_its_value_has() -> None:
    variable = tf.Variable(tf.zeros([0, 3]))
    _tf_private.set_handle_shape(variable.handle, tf.TensorShape([5, 3]))
    assert _tf_private.handle_shape(variable.handle).as_list() == [5, 3]
    found: list[Any] = []
    tf.function(lambda: found.append(_tf_private.handle_shape(variable.handle)))()
    assert found[0].as_list() == [5, 3]


def test_eager_ops_read_a_variable_without_a_handle_of_its_own_by_its_value() -> None:
    """The attribute `_handle` of `runtime.keras.whole_variable`."""

    class Ones(_tf_private.ResourceVariable):  # type: ignore[misc]
        _handle = property(lambda self: None, lambda self, handle: setattr(self, "kept", handle))
        handle = property(lambda self: self.kept)

        def _dense_var_to_tensor(self, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
            return tf.ones([2])

    assert float(tf.reduce_sum(Ones(tf.zeros([2])))) == 2


def test_keras_has_what_exports_and_gathers() -> None:
    assert hasattr(_tf_private_keras.export_archive(tf.keras), "_filter_and_track_resources")
    assert not hasattr(tf.keras, "Variable") or hasattr(_tf_private_keras.arrays(tf.keras), "take")
