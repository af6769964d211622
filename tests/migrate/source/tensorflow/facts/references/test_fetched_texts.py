"""A fetch by a name that the program is given may be that of a variable or of a lookup."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons

GIVEN = "import argparse, json, os, subprocess, sys\np = argparse.ArgumentParser()\nargs = p.parse_args()\n"
#: Name -> code that may fetch anything.
ANY = {
    "an argument": "sess.run(sys.argv[1])",
    "in a list": "sess.run([loss, args.name])",
    "in a dict by keyword": "sess.run(fetches={'x': args.name})",
    "a variable of the environment": "sess.run(os.environ['N'])",
    "in a loop": "for n in sys.argv[1:]:\n    sess.run(n)",
    "by way of a function": "def fetch(x):\n    return sess.run(x)\nfetch(sys.argv[2])",
    "by way of an object": "class M:\n    pass\nm = M()\nm.name = args.name\nsess.run(m.name)",
    "split": "sess.run(args.names.split(','))",
    "made of a text": "def fetch(m):\n    sess.run(m.lower())\nfetch('W:0')",
    "put together": "sess.run(args.name + ':0')",
    "put together in place": "name = args.name\nname += ':0'\nsess.run(name)",
    "a remainder": "sess.run(args.name % 3)",
    "of a file": "with open('x') as f:\n    sess.run(json.load(f)['n'])",
    "a text of a file of TensorFlow": "sess.run(tf.gfile.Open('x').read() + ':0')",
    "a text that TensorFlow decodes": "sess.run(tf.compat.as_str(args.name) + ':0')",
    "a flag": "sess.run(tf.app.flags.FLAGS.name)",
}
#: Name -> code that fetches no table.
OTHERS = {
    "another program": "subprocess.run([args.name, '-x'])",
    "a method of the program": "class R:\n    def run(self, x):\n        print(x)\nR().run(args.name)",
    "a tensor": "class M:\n    pass\nm = M()\nm.loss = loss\nsess.run([m.loss, loss])",
    "a sum that grows": "for n in range(3):\n    loss = loss + n\nsess.run(loss)",
    "a sum with a setting": "loss = tf.nn.l2_loss(y) + args.rate * tf.nn.l2_loss(x)\nsess.run([loss])",
    "a sum in place": "loss = tf.square(y)\nloss += args.rate * tf.nn.l2_loss(x)\nsess.run([loss])",
    "a sum of sums": "loss = (tf.square(y) + args.a * x) + args.b * x\nsess.run([loss])",
    "a difference": "loss = args.a * x - args.b * x\nsess.run(loss)",
    "an attribute that no text has": "class M:\n    pass\nm = M()\nm.loss = y\ndef fetch(m):\n    sess.run(m.loss)\n"
    "fetch(m)\nfetch('a text')",
    "a product with a tensor": "sess.run(args.rate * tf.nn.l2_loss(x))",
    "a product with a quotient": "r = (tf.nn.l2_loss(x) + tf.nn.l2_loss(y)) / args.n\nsess.run(args.rate * r)",
    "a name that is known": "sess.run('bias')",
    "a name with a start of its own": "sess.run('bias_' + args.name)",
}


@pytest.mark.parametrize("code", ANY.values(), ids=ANY)
def test_a_name_that_is_not_known_is_a_doubt(code: str) -> None:
    text = HEAD + MADE + LOOKUP + STEP + GIVEN + code + "\n"
    assert not converted(text).changed
    assert "may read this variable by its name" in reasons(converted(text))
    assert converted(text, assume=True).changed


@pytest.mark.parametrize("code", OTHERS.values(), ids=OTHERS)
def test_what_is_no_fetch_of_a_table_is_none(code: str) -> None:
    result = converted(HEAD + MADE + LOOKUP + STEP + GIVEN + code + "\n")
    assert result.changed, reasons(result)
