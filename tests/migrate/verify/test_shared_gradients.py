"""Gradients that several optimizers ask for are built once, and others are not mixed up with them."""

from __future__ import annotations

import tensorflow as tf

from migrate.verify.paddle.trainer.shared import gradients_shared

v1 = tf.compat.v1


def test_equal_questions_have_one_answer_and_others_their_own() -> None:
    stock = tf.gradients
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x, y = tf.constant(3.0), tf.constant(5.0)
        square, product = x * x, x * y
        with gradients_shared():
            first = tf.gradients(square, [x, y])
            count = len(graph.get_operations())
            again = tf.gradients(square, [x, y])
            assert len(graph.get_operations()) == count
            assert again[0] is first[0]
            assert again[1] is None
            others = [
                tf.gradients(product, [x, y])[0],
                tf.gradients(product, [y])[0],
                tf.gradients(product + square, [x])[0],
                tf.gradients(square, [x], grad_ys=[tf.constant(10.0)])[0],
                tf.gradients(product + square, [x], stop_gradients=[square])[0],
            ]
        assert tf.gradients is stock
        assert session.run([first[0], *others]) == [6.0, 5.0, 3.0, 11.0, 60.0, 5.0]
