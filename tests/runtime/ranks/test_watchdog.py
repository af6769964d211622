"""An exchange that stays under way for too long is ended, once; one that goes on is not."""

from __future__ import annotations

import threading
import time

import tensorflow as tf

from runtime.ranks.collectives import Collectives
from runtime.ranks.watchdog import Watch, in_tensorflow


def test_an_exchange_that_does_not_end_is_late() -> None:
    late = threading.Event()
    begun = time.monotonic()
    watch = Watch(lambda: [4, 7], 0.2, late.set, lambda: True)
    assert late.wait(30)
    assert time.monotonic() - begun > 0.2
    watch.end()


def test_exchanges_that_go_on_and_pauses_between_them_are_not_late() -> None:
    late = threading.Event()
    seen: list[int] = []

    def goes_on() -> list[int]:
        seen.append(2 * len(seen) + 1)
        return seen[-1:]

    watches = [
        Watch(goes_on, 0.05, late.set, lambda: True),
        Watch(lambda: [4], 0.05, late.set, lambda: True),
        Watch(lambda: [5], 0.05, late.set),  # nobody is in TensorFlow: a function failed in front of an end
    ]
    while len(seen) < 20:
        time.sleep(0.01)
    for watch in watches:
        watch.end()
    assert not late.is_set()


def test_who_is_in_tensorflow_is_seen() -> None:
    ends = threading.Event()

    def waits() -> None:
        @tf.function
        def step() -> tf.Tensor:
            return tf.py_function(lambda: float(ends.wait(30)), [], tf.float32)

        step()

    assert not in_tensorflow()
    thread = threading.Thread(target=waits)
    thread.start()
    try:
        begun = time.monotonic()
        while not in_tensorflow():
            assert time.monotonic() - begun < 30
    finally:
        ends.set()
        thread.join()
    assert not in_tensorflow()


def test_a_function_that_fails_between_beginning_and_end_leaves_the_next_ones_right() -> None:
    engine = Collectives.__new__(Collectives)
    engine._make_tokens()
    seen = []
    for begins in (True, False, True, True, False, False, True):
        engine._count(begins)
        seen.append(engine._progress()[0])
    assert seen == [1, 2, 3, 5, 6, 6, 7]
    with engine.beside("ids"):
        engine._count(True)
    assert engine._progress() == [7, 0, 1]
    engine._count(False)
    assert engine._progress() == [8, 0, 1]
