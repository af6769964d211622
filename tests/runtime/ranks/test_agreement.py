"""What ranks agree on: marks of the places of a table, by number."""

from __future__ import annotations

import tensorflow as tf

from runtime.native.update_rules import rule_names
from runtime.ranks import agreement


def test_marks_by_number() -> None:
    for places, alike in (([0, 0], True), ([65536 + 7, 65536 + 8], True), ([65536 + 7, 65536 + 9], False)):
        assert bool(agreement._alike(tf.constant(places))) is alike
    assert not agreement._alike(tf.constant([65536 + 7, 131072 + 7]))
    assert agreement._alike(tf.constant([65536 + 7, 0, 65536 + 7]))
    assert rule_names()[13] == "keras_adam"
