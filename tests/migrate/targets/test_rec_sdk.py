"""Conversions to Rec SDK: whole programs, run over its façade, compared with stock TensorFlow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")
from migrate.report.model import State
from tests.support.source.converting import reasons
from tests.support.standins import mx_rec
from tests.support.targets.conversion import convert
from tests.support.targets.programs import CLIPPED, ESTIMATOR, GRADIENTS, MONITORED, SESSION, program, run_program

KINDS = {"session": SESSION, "monitored": MONITORED, "estimator": ESTIMATOR}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def trained(text: str, directory: Path, **switches: object) -> tuple[list[float], list[float]]:
    """Return the losses of a program, and those of its conversion over the façade."""
    result = convert(text, "rec_sdk", assume=True, **switches)
    moved = {table.name: table.verdict for table in result.tables}
    assert moved == {"user": State.APPLIED, "bias": State.APPLIED}, reasons(result)
    want = run_program(text, directory)
    with mx_rec.installed() as state:
        got = run_program(result.converted, directory)
        assert state.modified
    assert len({round(loss, 5) for loss in want}) == 5
    return want, got


@each_kind
@pytest.mark.parametrize("step", ["minimize", "clipped", "gradients"])
@pytest.mark.one_case
def test_it_trains_as_before(kind: str, step: str, tmp_path: Path) -> None:
    steps = {"clipped": {"step": CLIPPED}, "gradients": {"step": GRADIENTS}}
    want, got = trained(program(kind, **steps.get(step, {})), tmp_path)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_program_on_one_line_gets_them_there(tmp_path: Path) -> None:
    text = program(MONITORED).replace('"__main__":\n    main()\n', '"__main__": main()  # starts\n')
    assert text != program(MONITORED)
    last = convert(text, "rec_sdk", assume=True).converted.splitlines()[-1]
    assert last == 'if __name__ == "__main__": init(use_dynamic=True); main(); terminate_config_initializer()  # starts'
    want, got = trained(text, tmp_path)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_hooks_stand_in_front_of_others() -> None:
    text = program(ESTIMATOR)
    assert ".train(input_fn, hooks=[GraphModifierHook(), Keep()])" in convert(text, "rec_sdk", assume=True).converted
    named = text.replace("hooks=[Keep()]", "hooks=chosen").replace("losses = []", "losses = []\nchosen = None")
    assert "hooks=[GraphModifierHook(), *(chosen or [])]" in convert(named, "rec_sdk", assume=True).converted
    none = text.replace(", hooks=[Keep()]", "")
    assert "train(input_fn, hooks=[GraphModifierHook()])" in convert(none, "rec_sdk", assume=True).converted


def test_a_lookup_is_told_whether_it_trains() -> None:
    text = program(ESTIMATOR)
    assert "`mode` is not available here" in reasons(convert(text, "rec_sdk"))
    inside = text.split("\nclass Keep")[0].replace("network(features, labels)", "model_fn(features, labels, mode)")
    inside = inside.replace("    return tf.reduce_mean((out - labels) ** 2)\n", "") + (
        "    loss = tf.reduce_mean((out - labels) ** 2)\n    op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
        "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)\n\n\n"
        "tf.estimator.Estimator(model_fn).train(input_fn)\n"
    )
    assert convert(inside, "rec_sdk").converted == inside
    result = convert(inside, "rec_sdk", assume=True)
    assert "is_train=mode == tf.estimator.ModeKeys.TRAIN, modify_graph=True" in result.converted
    assert "evaluation reads zeros for ids that training has not seen" in reasons(result)


def test_a_one_shot_iterator_wants_a_prefetch() -> None:
    text = program(MONITORED)
    assert "does not end with `.prefetch`" not in reasons(convert(text, "rec_sdk"))
    assert "does not end with `.prefetch`" in reasons(convert(text.replace(".prefetch(1)", ""), "rec_sdk"))


def test_switches_become_arguments() -> None:
    text = program(MONITORED, "tf.train.GradientDescentOptimizer(0.1)")
    result = convert(text, "rec_sdk", assume=True, cache_mode="SSD", admission=2, eviction=3600)
    for part in (
        "host_vocabulary_size=20", "ssd_vocabulary_size=20", "modify_graph=True, access_and_evict_config="
        '{"access_threshold": 2, "eviction_threshold": 3600}', "hooks=[GraphModifierHook(), EvictHook(",
    ):  # fmt: skip
        assert part in result.converted, part
    assert "ASCEND_TIMESTAMP" in reasons(result)
    assert convert(program(MONITORED), "rec_sdk", assume=True, cache_mode="DDR").converted == program(MONITORED)


@pytest.mark.parametrize(
    ("initializer", "verdict"),
    [
        ("tf.glorot_uniform_initializer()", State.UNSUPPORTED),
        ("tf.keras.initializers.GlorotNormal()", State.UNSUPPORTED),
        ("tf.keras.initializers.he_normal()", State.UNSUPPORTED),
        ("tf.random_normal_initializer(stddev=0.3)", State.APPLIED),
        ("tf.keras.initializers.TruncatedNormal(stddev=0.3)", State.APPLIED),
        ("INIT", State.APPLIED),
    ],
)
def test_rows_that_the_host_makes_have_simple_initial_values(initializer: str, verdict: State) -> None:
    text = program(MONITORED, "tf.train.GradientDescentOptimizer(0.1)").replace(
        "tf.constant_initializer(0.3)", initializer
    )
    text = text.replace("\n\n", "\nINIT = tf.random_normal_initializer(stddev=0.3)\n\n", 1)
    assert "create_table(" in convert(text, "rec_sdk", assume=True).converted
    found = {table.name: table.verdict for table in convert(text, "rec_sdk", assume=True, cache_mode="DDR").tables}
    assert found == {"user": verdict, "bias": State.APPLIED}
