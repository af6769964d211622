"""Lists of variables that are chosen by their names: which tables they have, and what they compute."""

from __future__ import annotations

import libcst as cst
import pytest

pytest.importorskip("tensorflow")

from migrate.source.tensorflow.facts.optimizers.name_filters import Chosen, takes
from tests.support.source.converting import converted, reasons
from tests.support.source.idiom_runner import HEAD, compare

NAMES = ["gen/rows:0"]
TESTS = {
    "'gen' in v.name": True,
    "'dis' not in v.name": True,
    "v.name.startswith(('dis', 'gen/'))": True,
    "v.name.split('/')[0] == 'gen' and v.name.endswith(':0')": True,
    "v.name.split('/')[-1] in ['rows:0', 'w:0']": True,
    "v.op.name == 'gen/rows'": True,
    "not ('gen' in v.name or v.name.find('x') >= 0)": False,
    "v.name == 'gen/rows'": False,
    "v.name.split('/')[3] == 'gen'": None,
    "v.name.encode() == b'gen'": None,
    "v.name[:3] == 'gen'": None,
    "scope in v.name": None,
    "v.shape.ndims == 2": None,
    "u.name == 'gen/rows:0'": None,
    "'gen' < v.name < 'h'": None,
    "v.name + 1": None,
    "f(v.name)": None,
}


@pytest.mark.parametrize(("test", "wanted"), TESTS.items(), ids=TESTS)
def test_conditions_on_a_name(test: str, wanted: bool | None) -> None:
    assert takes(Chosen(cst.Name("listed"), "v", (test,)), NAMES) is wanted


def test_names_of_which_only_one_meets_the_condition() -> None:
    one = Chosen(cst.Name("listed"), "v", ("v.name.startswith('gen/')",))
    assert takes(one, ["gen/rows:0", "gen/rows_1:0"]) is True
    assert takes(one, ["gen/rows:0", "gen_1/rows:0"]) is None


MADE = HEAD.partition("    W = ")[0] + (
    '    W = tf.get_variable("gen_w", [20, 4], initializer=tf.random_normal_initializer(seed=4))\n'
    '    b = tf.get_variable("gen_b", [4], initializer=tf.random_uniform_initializer(-1, 1, seed=5))\n'
    "    out = tf.nn.embedding_lookup(W, pairs) * b\n"
    "    loss = tf.reduce_mean(tf.square(out - 1.0))\n"
)
STEP = "    return out, loss, tf.train.AdamOptimizer(0.05).minimize(loss, var_list=gens)\n"
CHOSEN = "    gens = [v for v in tf.trainable_variables() if 'gen' in v.name]\n"
EQUAL = {
    "by a part of the name": CHOSEN,
    "of a list with a name": "    a = tf.trainable_variables()\n    gens = [v for v in a if 'gen' in v.name]\n",
    "of a scope, by a name": "    gens = [v for v in tf.trainable_variables('gen') if not v.name.endswith('x:0')]\n",
    "twice": CHOSEN + "    gens = [v for v in gens if v.name.startswith('gen')]\n",
    "printed": CHOSEN + "    print(len(gens))\n",
}


@pytest.mark.parametrize("body", EQUAL.values(), ids=EQUAL)
def test_it_trains_what_it_did(body: str) -> None:
    text = MADE + body + STEP
    compare(text, moved=("gen_w",))


LATE = MADE.replace("    W = ", "    every = tf.trainable_variables()\n    W = ")
STAYS = {
    "by its shape": (MADE, "    gens = [v for v in tf.trainable_variables() if v.shape.ndims == 2]\n"),
    "a computed text": (MADE, "    gens = [v for v in tf.trainable_variables() if feeds['s'] in v.name]\n"),
    "of all variables": (MADE, "    gens = [v for v in tf.global_variables() if 'gen' in v.name]\n"),
    "also summed": (MADE, CHOSEN + "    loss += sum(tf.nn.l2_loss(v) for v in gens)\n"),
    "a part of it": (MADE, CHOSEN + "    gens = gens[:1]\n"),
    "made before the table": (LATE, "    gens = [v for v in every if 'gen' in v.name]\n"),
}


@pytest.mark.parametrize(("made", "body"), STAYS.values(), ids=STAYS)
def test_a_list_that_is_not_known(made: str, body: str) -> None:
    text = made + body + STEP
    assert converted(text).converted == text


METHODS = """import tensorflow.compat.v1 as tf
class Model:
    def list(self):
        self.params = {listed}
    def make(self):
        with tf.variable_scope("gen"):
            self.g = tf.get_variable("g", [20, 4], initializer=tf.zeros_initializer())
    def __init__(self, ids):
        self.{first}()
        self.{second}()
        self.loss = tf.reduce_sum(tf.nn.embedding_lookup(self.g, ids))
        self.op = tf.train.AdamOptimizer(0.05).minimize(self.loss, var_list=self.params)
Model(tf.placeholder(tf.int64))
"""


@pytest.mark.parametrize(
    "listed", ["tf.trainable_variables('gen')", "[v for v in tf.trainable_variables() if 'gen' in v.name]"]
)
def test_a_list_of_a_method_that_runs_before_the_table_is_made(listed: str) -> None:
    before = METHODS.format(listed=listed, first="list", second="make")
    assert converted(before).converted == before
    assert "trains a list of variables" in reasons(converted(before))
    after = METHODS.format(listed=listed, first="make", second="list")
    assert "[self.g.variable]" in converted(after).converted
