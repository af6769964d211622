"""`eval` beside tables: an assumption, or a reason to keep them."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons, stays

#: Whoever runs the program writes the text.
GIVEN = {
    "an option": ("", "eval(args.layers)"),
    "an option of an object": ("", "eval(self.args.layers)"),
    "a setting by key": ("", "eval(settings['layers'])"),
    "an environment variable": ("import os\n", "eval(os.environ['LAYERS'])"),
    "the command line": ("import sys\n", "eval(sys.argv[1])"),
    "an option by its method": ("", "eval(settings.get('layers'))"),
    "a name for it": ("text = args.layers\n", "eval(text)"),
    "a parameter": ("", "eval(given)"),
    "an option of another module": ("from config import args as opts\n", "eval(opts.layers)"),
}
#: The code makes the text, or it cannot be told.
REFUSED = {
    "a literal": ("", "eval('[64, 64]')"),
    "the name of the table": ("", "eval('W')"),
    "an attribute": ("", "eval('self.W')"),
    "a text of another module": ("import names\n", "eval(names.first)"),
    "composed": ("", "eval('W' + kind)"),
    "formatted": ("", "eval(f'{kind}_table')"),
    "by format": ("", "eval('{}_table'.format(kind))"),
    "by format of an option": ("", "eval(args.text.format(kind))"),
    "joined": ("", "eval('_'.join([kind, 'table']))"),
    "one of a list": ("", "[eval(name) for name in ['W', 'V']]"),
    "a name bound in a loop": ("for name in ['W']:\n    pass\n", "eval(name)"),
    "either": ("text = args.text\nif flag:\n    text = 'W'\n", "eval(text)"),
    "an entry of a dict of the file": ("TEXTS = {'a': 'W'}\n", "eval(TEXTS[kind])"),
    "a function of the file": ("def text():\n    print(1)\n    return 'W'\n", "eval(text())"),
    "with other names": ("", "eval(args.text, globals())"),
    "exec": ("", "exec(args.text)"),
    "names": ("", "globals()[args.text]"),
}


def around(before: str, text: str) -> str:
    body = "".join(f"    {line}\n" for line in (before + MADE + LOOKUP + f"sizes = {text}").splitlines())
    return f"{HEAD}def build(self, args, settings, given, kind, flag, ids):\n{body}"


@pytest.mark.parametrize("before, text", GIVEN.values(), ids=GIVEN)
def test_what_the_user_writes_is_an_assumption(before: str, text: str) -> None:
    source = around(before, text)
    assert "evaluates a string as code" in reasons(converted(source))
    assert not converted(source).changed
    result = converted(source, assume=True)
    assert result.changed
    assert "names no table" in reasons(result)
    assert text in result.converted


@pytest.mark.parametrize("before, text", REFUSED.values(), ids=REFUSED)
def test_what_the_code_makes_keeps_the_tables(before: str, text: str) -> None:
    stays(around(before, text), "by name", assume=True)


@pytest.mark.parametrize("call", ["f = eval(args.fn)\ndense = f(C, ids)\n", "dense = eval(args.fn)(C, ids)\n"])
def test_an_evaluated_function_may_be_one_that_looks_up(call: str) -> None:
    look = "def look(table, keys):\n    return tf.nn.embedding_lookup(table, keys)\n"
    text = HEAD + look + MADE + "e = look(W, ids)\nC = tf.ones([9, 4])\n"
    assert converted(text + STEP, assume=True).changed
    assert not converted(text + call + STEP, assume=True).changed


PARSER = "import argparse\nparser = argparse.ArgumentParser()\n"
OPTION = PARSER + "parser.add_argument('--layer-sizes', nargs='?', default='[64, 64]', help='sizes')\n"
PARSED = OPTION + "args = parser.parse_args()\n"
FLAG = "from absl import flags\nflags.DEFINE_string('layer_sizes', '[64]', 'sizes')\nargs = flags.FLAGS\n"
READ = "sizes = eval(args.layer_sizes)\n"
#: What a program is given is an assumption, whatever the default says.
OPTIONS = {
    "an option": PARSED + READ,
    "a flag": FLAG + READ,
    "a converter called str": "def str(text):\n    return 'W'\n" + PARSED.replace("nargs='?'", "type=str") + READ,
    "another parser": PARSED.replace("argparse", "configargparse") + READ,
}


@pytest.mark.parametrize("code", OPTIONS.values(), ids=OPTIONS)
def test_an_option_is_an_assumption(code: str) -> None:
    assert not converted(HEAD + MADE + LOOKUP + code + STEP).changed
    assert converted(HEAD + MADE + LOOKUP + code + STEP, assume=True).changed


def test_code_that_builds_a_text_from_an_option_keeps_the_tables() -> None:
    for call in ("eval(args.layer_sizes + '[0]')", "exec(args.layer_sizes)", "eval('W' + args.layer_sizes)"):
        assert not converted(HEAD + MADE + LOOKUP + PARSED + STEP + f"sizes = {call}\n", assume=True).changed


def test_beside_layers_of_keras_an_eval_is_noted_and_beside_a_variable_it_is_judged_once() -> None:
    layer = "import tensorflow as tf\nm = tf.keras.Sequential([tf.keras.layers.Embedding(9, 4)])\nm.compile('adam')\n"
    result = converted(layer + "sizes = eval(args.sizes)\n")
    said = [one.state for one in result.findings if one.action == "read a value by `ast.literal_eval`"]
    assert said == [State.NOTED] and result.changed
    judged = converted(HEAD + MADE + LOOKUP + STEP + "sizes = eval(args.sizes)\n")
    assert [one.state for one in judged.findings if one.rule == "tf-opaque" and one.subject == "use"] == [
        State.SUGGESTED
    ]
