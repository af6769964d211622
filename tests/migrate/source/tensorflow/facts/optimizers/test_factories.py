"""Functions that make the optimizer of a model: a twin of them makes that of its tables. Run and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.converting import converted
from tests.support.source.projects import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")

BUILDER = (
    "def build_optimizer(name, rate=0.1):\n"
    '    """Return the optimizer of that name."""\n'
    "    step = tf.train.get_or_create_global_step()\n"
    "    rate = tf.train.exponential_decay(rate, step, 1, 0.9)\n"
    '    if name.lower() == "adam":\n'
    "        return tf.train.AdamOptimizer(rate)  # the usual one\n"
    '    elif name == "adagrad":\n'
    "        optimizer = tf.train.AdagradOptimizer(rate)\n"
    "    else:\n"
    '        raise ValueError("no optimizer is called %s" % name)\n'
    "    return optimizer\n"
)
START = (
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '    item = tf.get_variable("item", [8, 4])\n'
)
SCALE = '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
MODEL = (
    "    rows = tf.nn.embedding_lookup(item, ids)\n"
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
)
RETURN = '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
STEP = "    train_op = {0}.minimize(loss, tf.train.get_or_create_global_step())\n"
NAMED = '    optimizer = build_optimizer("adam", 0.2)\n' + STEP.format("optimizer")
MAIN = START + SCALE + MODEL + NAMED + RETURN
IMPORT = "from lib import build_optimizer\n"
PAIRS = STEP.format("optimizer").replace("minimize(loss", "apply_gradients(optimizer.compute_gradients(loss)")
USES = {
    "of another file": (IMPORT, NAMED),
    "adagrad, in place": (IMPORT, STEP.format('build_optimizer(rate=0.3, name="adagrad")')),
    "of a module": ("import lib\n", NAMED.replace("build_opt", "lib.build_opt")),
    "under another name": ("from lib import build_optimizer as make\n", NAMED.replace("build_optimizer", "make")),
    "over lines": ("from lib import (\n    build_optimizer,\n)\n", NAMED),
    "among others": ("from lib import OTHER, build_optimizer\n", NAMED),
    "compute and apply": (IMPORT, NAMED.replace(STEP.format("optimizer"), PAIRS)),
    "of this file": (BUILDER, NAMED),
}


@pytest.mark.parametrize(("head", "step"), USES.values(), ids=USES)
def test_an_optimizer_that_a_function_makes_is_split(head: str, step: str, tmp_path: Path) -> None:
    text = HEAD + head + START + SCALE + MODEL + step + RETURN
    root = write(tmp_path / "p", {"lib.py": HEAD + "OTHER = 1\n" + BUILDER, "main.py": text})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    made = results["main.py" if "def build_opt" in head else "lib.py"].converted
    assert "def sparse_build_optimizer(name, rate=0.1):" in made
    assert "return adam.create_hash_optimizer(learning_rate=rate)  # the usual one" in made
    assert "`sparse_build_optimizer` creates the optimizer of the tables" in reasons(results)
    same_training(root, results)


CHOOSE = (
    "    def choose(rate):\n"
    '        if name == "adam":\n'
    "            step = tf.train.AdamOptimizer(rate)\n"
    "        else:\n"
    "            step = tf.train.AdagradOptimizer(rate)\n"
    "        return step\n"
)
INSIDE = {
    "returned": ("def build_optimizer(name, rate=0.1):\n" + CHOOSE + "    return choose(rate)\n", NAMED),
    "by a name": (
        "def build_optimizer(name, rate=0.1):\n" + CHOOSE + "    made = choose(rate)\n    return made\n",
        NAMED,
    ),
    "in the function that trains": ("", '    name = "adagrad"\n' + CHOOSE + STEP.format("choose(0.2)")),
}


@pytest.mark.parametrize(("maker", "step"), INSIDE.values(), ids=INSIDE)
def test_a_function_inside_a_function_makes_it(maker: str, step: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": HEAD + maker + START + SCALE + MODEL + step + RETURN})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)


def test_a_step_right_behind_the_function_that_makes_its_optimizer() -> None:
    made = (
        'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
        "loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids))\n"
        "def make():\n    return tf.train.AdamOptimizer(0.1)\ntrain_op = make().minimize(loss)\n"
    )
    text = converted(made).converted
    assert 0 < text.index("def sparse_make") < text.index("sparse_make()\n"), text


def test_a_function_inside_that_does_more_says_so(tmp_path: Path) -> None:
    maker = "MADE = []\ndef build_optimizer(name, rate=0.1):\n" + CHOOSE.replace(
        "        return", "        MADE.append(name)\n        return"
    )
    text = HEAD + maker + "    return choose(rate)\n" + START + SCALE + MODEL + NAMED + RETURN
    results = convert(write(tmp_path / "p", {"main.py": text}))
    assert verdicts(results) == {"item": "unsupported"}
    assert "the code that makes it does more than that" in reasons(results)
    assert "no call of its methods was found" not in reasons(results)  # one was found


ESTIMATOR = "from tensorflow.python.estimator.canned import optimizers\n"
BY_NAME = {
    "a literal": ("", STEP.format('optimizers.get_optimizer_instance("RMSProp", learning_rate=0.2)')),
    "a function": (
        "def build_optimizer(name, rate):\n    return optimizers.get_optimizer_instance(name, rate / 2)\n",
        NAMED,
    ),
}


@pytest.mark.parametrize(("maker", "step"), BY_NAME.values(), ids=BY_NAME)
def test_an_optimizer_that_an_estimators_helper_makes_by_its_name(maker: str, step: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow_estimator")
    step = step.replace('"adam"', '"Adam"')
    text = (
        HEAD + ESTIMATOR.replace("tensorflow.", "tensorflow_estimator.") + maker + START + SCALE + MODEL + step + RETURN
    )
    root = write(tmp_path / "p", {"main.py": text})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)
    computed = text.replace('"RMSProp"', "NAME").replace('"Adam"', "NAME")
    results = convert(write(tmp_path / "computed", {"main.py": computed.replace("def ", "NAME = input()\ndef ", 1)}))
    assert "its class is found by a name that is computed at run time" in reasons(results)


def test_a_model_of_nothing_but_tables(tmp_path: Path) -> None:
    text = HEAD + IMPORT + START + MODEL.replace(" * scale", "") + NAMED + RETURN
    root = write(tmp_path / "p", {"lib.py": HEAD + BUILDER, "main.py": text})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    assert 'optimizer = sparse_build_optimizer("adam", 0.2)' in results["main.py"].converted
    same_training(root, results)


def test_a_function_that_another_model_uses_stays_as_it_was(tmp_path: Path) -> None:
    dense = MAIN.replace("tf.nn.embedding_lookup(item, ids)", "tf.matmul(tf.one_hot(ids % 8, 8) + 0.0, item)")
    files = {"lib.py": HEAD + BUILDER, "main.py": HEAD + IMPORT + MAIN, "other.py": HEAD + IMPORT + dense}
    root = write(tmp_path / "p", files)
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)
    same_training(root, results, entry="other")


STAYS = {
    "does more": (BUILDER.replace("    if name", "    SEEN.append(name)\n    if name"), MAIN),
    "binds while it prints": (BUILDER.replace("    if name", "    print(rate := rate * 2)\n    if name"), MAIN),
    "calls what is not known": (BUILDER.replace("    if name", "    rate = tune(rate)\n    if name"), MAIN),
    "in a loop": (BUILDER.replace("    if name", "    for _ in name:\n        pass\n    if name"), MAIN),
    "another optimizer": (BUILDER.replace("AdagradOptimizer", "AdagradDAOptimizer"), MAIN),
    "decorated": ("@wrap\n" + BUILDER, MAIN),
    "name taken": (BUILDER + "sparse_build_optimizer = None\n", MAIN),
    "returns something else": (BUILDER.replace("    return optimizer", "    return wrap(optimizer)"), MAIN),
    "computed arguments": (BUILDER, MAIN.replace("0.2", "rate()")),
    "called again": (BUILDER, MAIN.replace("    return", '    build_optimizer("adam").minimize(loss)\n    return')),
    "made in two ways": (
        BUILDER,
        MAIN.replace("    train_op", "    if FLAG:\n        optimizer = tf.train.AdamOptimizer(0.1)\n    train_op"),
    ),
    "passed on": (BUILDER, MAIN.replace("    train_op", "    show(optimizer)\n    train_op")),
    "a parameter": (BUILDER, MAIN.replace("def build()", "def build(optimizer)")),
}


@pytest.mark.parametrize(("library", "main"), STAYS.values(), ids=STAYS)
def test_a_function_that_does_more_keeps_the_tables(library: str, main: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"lib.py": HEAD + library, "main.py": HEAD + IMPORT + main})
    for assume in (False, True):
        results = convert(root, assume=assume)
        assert verdicts(results) == {"item": "unsupported"}, reasons(results)
        assert not any(one.changed for one in results.values())


def test_an_optimizer_that_is_passed_says_what_to_do(tmp_path: Path) -> None:
    text = START.replace("def build()", "def build(optimizer)") + SCALE + MODEL + STEP.format("optimizer") + RETURN
    results = convert(write(tmp_path / "p", {"main.py": HEAD + text}))
    assert "the optimizer `optimizer` is a parameter" in reasons(results)
    assert "take it from a function that returns it" in reasons(results)


OWN = {
    "a method called get": (
        "class Rates:\n    def get(self):\n        return RATES.pop()\n\nrates = Rates()\n",
        "rates.get()",
    ),
    "a method with a key": (
        "class Rates:\n    def get(self, key):\n        return RATES.pop()\n\nrates = Rates()\n",
        'rates.get("rate")',
    ),
    "what a queue gives": ("import queue\nrates = queue.Queue()\nrates.put(0.1)\nrates.put(0.2)\n", "rates.get()"),
    "a function with a name of TensorFlow": ("def cosine_decay():\n    return RATES.pop()\n\n", "cosine_decay()"),
    "a function with a name of Python": ("def float(x):\n    return RATES.pop()\n\n", "float(name)"),
}


@pytest.mark.parametrize(("head", "rate"), OWN.values(), ids=OWN)
def test_a_function_of_the_project_is_not_called_twice(head: str, rate: str, tmp_path: Path) -> None:
    library = "RATES = [0.1, 0.2]\n" + head + BUILDER.replace("    step =", f"    rate = {rate}\n    step =", 1)
    root = write(tmp_path / "p", {"lib.py": HEAD + library, "main.py": HEAD + IMPORT + MAIN})
    for assume in (False, True):
        assert verdicts(convert(root, assume=assume)) == {"item": "unsupported"}


def test_the_rate_of_a_dict_is_read_twice(tmp_path: Path) -> None:
    library = "RATES = {'adam': 0.3}\n" + BUILDER.replace(
        "    step =", "    rate = RATES.get(name, rate)\n    step =", 1
    )
    root = write(tmp_path / "p", {"lib.py": HEAD + library, "main.py": HEAD + IMPORT + MAIN})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)


REEXPORTS = {
    "by a package": ("from opt import build_optimizer\n", "build_optimizer", "from opt.factory import sparse_build"),
    "by a package, renamed": (
        "from opt import build_optimizer as make\n",
        "make",
        "from opt.factory import sparse_build",
    ),
    "of a package in a package": (
        "from top import build_optimizer\n",
        "build_optimizer",
        "from top.opt.factory import sp",
    ),
    "a module of it": ("from opt import factory\n", "factory.build_optimizer", "factory.sparse_build_optimizer("),
}


@pytest.mark.parametrize(("head", "called", "shows"), REEXPORTS.values(), ids=REEXPORTS)
def test_the_twin_comes_from_the_file_that_defines_it(head: str, called: str, shows: str, tmp_path: Path) -> None:
    text = HEAD + head + MAIN.replace("build_optimizer", called)
    above = {"top/__init__.py": "from .opt import build_optimizer\n", "top/opt/factory.py": HEAD + BUILDER}
    above |= {"top/opt/__init__.py": "from .factory import build_optimizer\n"}
    own = {"opt/__init__.py": "from .factory import build_optimizer\n", "opt/factory.py": HEAD + BUILDER}
    root = write(tmp_path / "p", {"main.py": text, **(above if "top" in head else own)})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    assert shows in results["main.py"].converted
    same_training(root, results)


def test_a_twin_that_the_name_of_no_module_leads_to_is_not_made(tmp_path: Path) -> None:
    by_package = HEAD + "import opt\n" + MAIN.replace("build_opt", "opt.build_opt")
    by_file = HEAD + "from other import build_optimizer\n" + MAIN
    files = {"opt/__init__.py": "from .factory import build_optimizer\n", "opt/factory.py": HEAD + BUILDER}
    files |= {"other.py": "from opt.factory import build_optimizer\n"}
    for number, text in enumerate((by_package, by_file)):
        results = convert(write(tmp_path / str(number), {"main.py": text, **files}))
        assert verdicts(results) == {"item": "unsupported"}
