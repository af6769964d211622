"""Conversions to Rec SDK whose dataset sends the ids: run over its façade, compared with stock."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")
from migrate.report.model import State
from tests.support.standins import mx_rec
from tests.support.targets.programs import CLIPPED, GRADIENTS, IN_MONITORED, IN_SESSION, STEP, run_program
from tests.support.targets.runner import convert, words

HEAD = """import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
losses = []


def read():
    random = np.random.RandomState(3)
    ids = random.randint(20, size=(40, 3)).astype(np.int32)
    rows = {"ids": ids, "x": random.rand(40, 4).astype(np.float32), "label": random.rand(40).astype(np.float32)}
    return tf.data.Dataset.from_tensor_slices(rows).batch(8).prefetch(1)

"""
NETWORK = """
def network(batch):
{body}    return loss

"""
BODY = """    W = tf.get_variable("user", [20, 4], initializer=tf.constant_initializer(0.3))
    b = tf.get_variable("bias", [20], initializer=tf.zeros_initializer())
    kernel = tf.get_variable("kernel", [8, 1], initializer=tf.random_normal_initializer(seed=6))
    ids = batch["ids"]
    rows = tf.reduce_sum(tf.nn.embedding_lookup(W, ids, name="rows"), 1)
    out = tf.squeeze(tf.matmul(tf.concat([tf.tanh(rows), batch["x"]], 1), kernel), 1)
    out += tf.reduce_sum(tf.gather(b, indices=batch["ids"]), 1) + tf.reduce_mean(tf.gather(W, batch["ids"]), [1, 2])
    loss = tf.reduce_mean((out - batch["label"]) ** 2)
"""
#: A script with a plain session, and an iterator that it initializes.
SESSION = (
    HEAD
    + NETWORK
    + """
if __name__ == "__main__":
    iterator = tf.data.make_initializable_iterator(read())
    batch = iterator.get_next()
    loss = network(batch)
    {step}
"""
    + IN_SESSION
)
#: All in one function, with a session that has hooks.
MONITORED = (
    HEAD
    + """
def main():
    batch = tf.data.make_one_shot_iterator(read()).get_next()
{body}    {step}
"""
    + IN_MONITORED
)
KINDS = {"session": SESSION, "monitored": MONITORED}
STEPS = {"minimize": STEP, "clipped": CLIPPED, "gradients": GRADIENTS}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def program(kind: str, optimizer: str = "tf.train.AdagradOptimizer(0.3)", step: str = STEP) -> str:
    return kind.replace("{step}", step.replace("{optimizer}", optimizer)).replace("{body}", BODY)


def trained(text: str, directory: Path, kinds: set[str], **switches: object) -> str:
    """Show that a program and its conversion have the same losses, by lookups of these kinds of ids."""
    result = convert(text, "rec_sdk", assume=True, **switches)
    assert {table.name: table.verdict for table in result.tables} == dict.fromkeys(("user", "bias"), State.APPLIED)
    want = run_program(text, directory)
    with mx_rec.installed() as state:
        got = run_program(result.converted, directory)
        assert (state.modified, state.kinds) == (True, kinds)
    assert len({round(loss, 5) for loss in want}) == 5
    np.testing.assert_allclose(got, want, rtol=1e-5)
    return result.converted


@each_kind
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.one_case
def test_the_dataset_sends_the_ids(kind: str, step: str, tmp_path: Path) -> None:
    found = trained(program(kind, step=step), tmp_path, {"FeatureSpec"})
    assert "modify_graph=True" not in found
    assert "modify_graph_and_start_emb_cache" not in found


def test_a_script_is_written_so() -> None:
    found = convert(program(SESSION), "rec_sdk").converted
    lines = [
        '    user_ids_spec = FeatureSpec("ids", table_name="user", index_key="ids")',
        '    user_ids_spec_2 = FeatureSpec("ids", table_name="user", index_key="ids")',
        '    bias_ids_spec = FeatureSpec("ids", table_name="bias", index_key="ids")',
        "    send_ids = get_asc_insert_func(tgt_key_specs=[user_ids_spec, user_ids_spec_2, bias_ids_spec], "
        "is_training=True)",
        "    librec = import_host_pipeline_ops(LIBREC_EOS_OPS_SO)",
        "    iterator = tf.data.make_initializable_iterator("
        "read().eos_map(librec, 0, -1, -1).map(send_ids).prefetch(1))",
    ]
    assert "\n".join(lines) in found
    assert 'sparse_lookup(W, user_ids_spec, name="rows", batch=batch)' in found
    assert "ids=bias_ids_spec, batch=batch" in found
    assert "    start_asc_pipeline()\n    with tf.Session() as sess:" in found
    assert "sess.run(iterator.initializer)" in found
    assert "hooks=[GraphModifierHook(modify_graph=False)]" in convert(program(KINDS["monitored"]), "rec_sdk").converted


def test_a_switch_asks_for_graph_modification(tmp_path: Path) -> None:
    trained(program(SESSION), tmp_path, {"Tensor"}, modify_graph=True)


def test_the_feature_has_the_threshold() -> None:
    result = convert(program(SESSION), "rec_sdk", admission=2)
    assert result.converted.count(", access_threshold=2)") == 3
    assert "access_and_evict_config" not in result.converted


def test_rare_ids_are_admitted_as_with_graph_modification(tmp_path: Path) -> None:
    text, losses = program(SESSION, "tf.train.GradientDescentOptimizer(0.5)"), []
    for switches in ({"admission": 2}, {"admission": 2, "modify_graph": True}):
        with mx_rec.installed():
            losses.append(run_program(convert(text, "rec_sdk", assume=True, **switches).converted, tmp_path))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    assert not np.allclose(losses[0], run_program(text, tmp_path), rtol=1e-3)


READ, NEXT = '    ids = batch["ids"]', "    batch = iterator.get_next()\n"
BUILT = "    loss = network(batch)\n"
#: What must not be taken for a dataset that is seen whole: graph modification serves these.
OTHERWISE = {
    "ids that are computed": ('ids = batch["ids"]', 'ids = batch["ids"] + 0'),
    "the whole batch is read": (READ, READ + "\n    names = sorted(batch)"),
    "the batch is walked": (READ, READ + "\n    for key in batch.items():\n        pass"),
    "a computed key": ('ids = batch["ids"]', 'ids = batch["i" + "ds"]'),
    "an entry is written": (READ, '    batch["ids"] = batch["ids"] * 1\n' + READ),
    "another batch": (NEXT, NEXT + "    batch = dict(batch)\n"),
    "one batch or another": (NEXT, NEXT + "    if losses:\n        batch = spare()\n"),
    "a model that is built again": (BUILT, BUILT + "    if not losses and None:\n        network(batch)\n"),
    "an Estimator": (BUILT, BUILT + "    spec = tf.estimator.EstimatorSpec('infer', loss)\n"),
    "a lookup under a condition": ('    rows = tf.reduce_sum(', '    if True:\n        rows = tf.reduce_sum('),
    "a lookup in a loop": ('    rows = tf.reduce_sum(', '    for _ in range(1):\n        rows = tf.reduce_sum('),
    "a batch that is unpacked": (NEXT, "    batch = [iterator.get_next()][0]\n"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_is_not_seen_whole_modifies_the_graph(old: str, new: str) -> None:
    text = program(SESSION)
    assert old in text
    result = convert(text.replace(old, new), "rec_sdk", assume=True)
    assert "FeatureSpec" not in result.converted
    assert "modify_graph=True" in result.converted, words(result)


def test_a_dataset_that_is_an_expression_and_one_that_makes_its_iterator(tmp_path: Path) -> None:
    chosen = program(MONITORED).replace("iterator(read())", "iterator(read() if not losses else None)")
    assert "iterator((read() if not losses else None).eos_map(" in trained(chosen, tmp_path, {"FeatureSpec"})
    own = program(SESSION).replace(
        "tf.data.make_initializable_iterator(read())", "read().make_initializable_iterator()"
    )
    result = convert(own, "rec_sdk")
    assert (
        "read().eos_map(librec, 0, -1, -1).map(send_ids).prefetch(1).make_initializable_iterator()" in result.converted
    )


def test_an_iterator_in_another_function_modifies_the_graph() -> None:
    text = program(SESSION).replace('if __name__ == "__main__":', "def main():") + "\n\nmain()\n"
    result = convert(text, "rec_sdk", assume=True)
    assert "FeatureSpec" not in result.converted
    assert "modify_graph=True" in result.converted


@pytest.mark.parametrize(
    "switches", [{"cache_mode": "DDR"}, {"dynamic_expansion": True}, {"eviction": 60, "admission": 1}]
)
def test_tiers_and_time_stamps_modify_the_graph(switches: dict[str, object]) -> None:
    text = program(SESSION, "tf.train.GradientDescentOptimizer(0.1)")
    result = convert(text, "rec_sdk", assume=True, **switches)
    assert "FeatureSpec" not in result.converted
    assert "modify_graph=True" in result.converted


def test_it_is_recognised() -> None:
    once = convert(program(SESSION), "rec_sdk", assume=True).converted
    for target in ("rec_sdk", "runtime"):
        assert convert(once, target, assume=True).converted == once
