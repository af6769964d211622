"""What programs for TensorFlow 1 get besides its names."""

from __future__ import annotations

import pytest
import tensorflow as tf

from runtime.compat import tensorflow_1

v1 = tf.compat.v1


def test_a_whole_float_is_the_size_of_a_dimension() -> None:
    before = v1.get_variable
    with tensorflow_1.served("mx_rec"), tf.Graph().as_default():
        pairs = 39 * 38 / 2
        assert v1.get_variable("weights", [pairs, 4.0, 3]).shape.as_list() == [741, 4, 3]
        assert v1.get_variable("given", initializer=[1.0, 2.0]).shape.as_list() == [2]
        assert v1.get_variable("by_name", shape=(2.0,)).shape.as_list() == [2]
        with pytest.raises(TypeError):
            v1.get_variable("half", [2.5])
    assert v1.get_variable is before
