"""Lists of variables that mean the same beside tables: of other scopes, or chosen by name for a Saver."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.converting import converted, reasons
from tests.support.source.scripts import HEAD, TRAIN, compare

MADE = """ids = tf.constant([1, 2, 1], tf.int64)
with tf.variable_scope("rows"):
    W = tf.Variable(tf.ones([9, 4]), name="item")
    e = tf.nn.embedding_lookup(W, ids)
with tf.variable_scope("dense"):
    b = tf.get_variable("b", [4], initializer=tf.ones_initializer())
loss = tf.reduce_sum(tf.square(e - 2.0 * b))
"""
CHOSEN = "some = [v for v in tf.global_variables() if {}]\nsaver = tf.train.Saver(some)\n"
OF_SCOPE = 'found = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="{}")\nf(found)\n'
#: Code about lists of variables -> what a finding says where the table stays; empty if it moves.
LISTS = {
    "a scope without tables": (OF_SCOPE.format("dense"), ""),
    "the scope of the table": (OF_SCOPE.format("rows"), "all"),
    "chosen by name": (CHOSEN.format('"item" in v.name'), ""),
    "left out by name": (CHOSEN.format('"item" not in v.name and "b" in v.name'), ""),
    "two conditions": (CHOSEN.format('"item" in v.name if "rows" in v.name'), ""),
    "through names": (CHOSEN.format('"item" in v.name').replace("tf.global_variables()", "every").replace(
        "some = ", "every = tf.global_variables()\nsome = ", 1), ""),
    "by a scope and a name": (CHOSEN.format('"rows/item" in v.name'), "Saver"),
    "by a number": (CHOSEN.format('"1" not in v.name'), "Saver"),
    "by its end": (CHOSEN.format('v.name.endswith("item:0")'), "by its name"),
    "its slots are left out": (CHOSEN.format('"item" in v.name and "Adam" not in v.name'), "Saver"),
    "by its shape": (CHOSEN.format("len(v.shape) == 2"), "Saver"),
    "of the trainable ones": (CHOSEN.format('"item" in v.name').replace("global", "trainable"), "Saver"),
    "with other readers": (CHOSEN.format('"item" in v.name') + "n = f(some)\n", "all"),
    "a list that grows": (CHOSEN.format('"item" in v.name').replace("saver", "some.append(W)\nsaver"), "the list"),
    "the choice of a loop": ("saver = tf.train.Saver([v for v in more if 'item' in v.name])\n", "Saver"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "said"), LISTS.values(), ids=LISTS)
def test_lists_of_variables(code: str, said: str) -> None:
    result = converted(HEAD + MADE + TRAIN.replace("Adagrad", "Adam") + code)
    assert result.changed is not bool(said), reasons(result)
    assert said in reasons(result)


def test_a_name_scope_may_begin_the_name_of_the_variable() -> None:
    code = OF_SCOPE.format("dense")
    outer = "\n".join(f"    {line}" for line in MADE.splitlines())
    assert not converted(HEAD + f'with tf.name_scope("dense"):\n{outer}\n' + TRAIN + code).changed


def test_slots_in_a_scope_of_their_own_are_asked_for() -> None:
    scoped = f'with tf.variable_scope("late"):\n    {TRAIN.splitlines()[1]}\n'
    code = CHOSEN.format('"item" in v.name and "late" not in v.name')
    assert not converted(HEAD + MADE + scoped.replace("Adagrad", "Adam") + code).changed


@pytest.mark.parametrize("scope", ["variable_scope", "name_scope"])
def test_slots_and_step_counts_of_a_scope_are_in_its_list(scope: str) -> None:
    head = HEAD + MADE.replace('tf.Variable(tf.ones([9, 4]), name="item")', 'tf.get_variable("item", [9, 4])')
    step = TRAIN.splitlines()[1].replace("Adagrad", "Adam")
    assert converted(f'{head}with tf.{scope}("late"):\n    {step}\n' + OF_SCOPE.format("dense")).changed
    assert not converted(f'{head}with tf.{scope}("late"):\n    {step}\n' + OF_SCOPE.format("late")).changed
    assert not converted(head + step + "\n" + OF_SCOPE.format("beta1_power")).changed


def test_step_counts_and_slots_may_be_called_by_scopes_and_names() -> None:
    head = HEAD + MADE.replace('tf.Variable(tf.ones([9, 4]), name="item")', 'tf.get_variable("item", [9, 4])')
    step, code = TRAIN.splitlines()[1].replace("Adagrad", "Adam"), CHOSEN.format('"late" not in v.name')
    assert converted(head + f'with tf.name_scope("early"):\n    {step}\n' + code).changed
    assert not converted(head + f'with tf.name_scope("late"):\n    {step}\n' + code).changed
    assert not converted(head + f"with tf.name_scope(kind):\n    {step}\n" + code).changed
    assert not converted(head + step.replace("0.1", '0.1, name="late"') + "\n" + code).changed


SAVED = """
import os
def run(path, save):
    with tf.Graph().as_default():
{body}
        some = [v for v in tf.global_variables() if "item" in v.name and "none" not in v.name]
        saver = tf.train.Saver(some)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            if not save:
                saver.restore(sess, path)
            for _ in range(3):
                show(sess.run([loss, step])[0])
            if save:
                saver.save(sess, path)
for save in (True, False):
    run(os.path.join(DIR, "model"), save)
"""


def test_rows_and_slots_are_saved_and_restored_by_such_a_list(tmp_path: Path) -> None:
    step = 'with tf.variable_scope("late"):\n    step = tf.train.AdamOptimizer(0.1).minimize(loss)\n'
    body = "".join(f"        {line}\n" for line in (MADE + step).splitlines())
    shown = compare(HEAD + SAVED.format(body=body), tmp_path)
    assert len(shown) == 6
