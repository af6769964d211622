"""Projects of several files: what one file cannot say another says, and the converted project trains as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.driver.result_cache import Cache
from migrate.source.driver.run import How, convert_paths, make_report
from migrate.source.driver.summary import summary_lines
from migrate.source.settings.options import Options
from tests.support.source.projects import HEAD, convert, judged, reasons, same_training, trains_alike, verdicts, write

pytest.importorskip("tensorflow")

BASE = HEAD + (
    "class Base(object):\n"
    "    def __init__(self, ids, label):\n"
    "        self.build(ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * self.scale() - label) ** 2)\n"
    "        optimizer = tf.train.AdagradOptimizer(0.3)\n"
    "        self.train_op = optimizer.minimize(self.loss)\n"
    "    def scale(self):\n"
    '        return tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
)
MODEL = HEAD + (
    "from base import Base\n"
    "class Model(Base):\n"
    "    def build(self, ids):\n"
    '        self.item = tf.get_variable("item", [8, 4])\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n"
)
MAIN = HEAD + (
    "from model import Model\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    model = Model(ids, label)\n"
    '    return {"ids": ids, "label": label, "loss": model.loss, "train_op": model.train_op, "rows": model.rows}\n'
)
INHERITED = {"base.py": BASE, "model.py": MODEL, "main.py": MAIN}


def test_a_base_class_of_another_file_trains(tmp_path: Path) -> None:
    results = trains_alike(tmp_path / "p", INHERITED)
    assert "create_hash_optimizer" in results["base.py"].converted
    assert "create_table" in results["model.py"].converted


def test_a_subclass_without_a_table_still_trains(tmp_path: Path) -> None:
    dense = HEAD + (
        "from base import Base\n"
        "class Dense(Base):\n"
        "    def build(self, ids):\n"
        '        kernel = tf.get_variable("kernel", [8, 4])\n'
        "        self.rows = tf.matmul(tf.one_hot(ids % 8, 8) + 0.0, kernel)\n"
    )
    files = {
        **INHERITED,
        "dense.py": dense,
        "other.py": MAIN.replace("from model import Model", "from dense import Dense as Model"),
    }
    root = write(tmp_path / "p", files)
    results = convert(root)
    assert verdicts(results)["item"] == "applied"
    same_training(root, results)
    same_training(root, results, entry="other")


PLAIN = HEAD + (
    "class Model:\n"
    "    def __init__(self, ids, label):\n"
    '        self.item = tf.get_variable("item", [8, 4])\n'
    '        scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * scale - label) ** 2)\n"
)
TRAINS = MAIN.replace(
    "    return",
    "    pairs = tf.train.GradientDescentOptimizer(0.3).compute_gradients(model.loss)\n"
    "    model.train_op = tf.train.GradientDescentOptimizer(0.3).apply_gradients(pairs)\n    return",
)
SPLIT = {
    "minimize": TRAINS.replace(
        TRAINS[TRAINS.index("    pairs") : TRAINS.index("    return")],
        "    model.train_op = tf.train.AdagradOptimizer(0.3).minimize(model.loss)\n",
    ),
    "gradients": TRAINS,
}


@pytest.mark.parametrize("main", SPLIT.values(), ids=SPLIT)
def test_the_importer_trains(main: str, tmp_path: Path) -> None:
    results = trains_alike(
        tmp_path / "p",
        {"pkg/__init__.py": "", "pkg/model.py": PLAIN, "main.py": main.replace("from model", "from pkg.model")},
    )
    assert "create_hash_optimizer" in results["main.py"].converted


def test_a_program_that_is_converted_in_part_is_a_finding(tmp_path: Path) -> None:
    files = {"model.py": PLAIN, "main.py": SPLIT["minimize"]}
    results = convert(write(tmp_path / "p", files))
    done = {name: one.converted for name, one in results.items()}
    assert all(done[name] != files[name] for name in files)
    assert not reasons(convert(write(tmp_path / "whole", done))), "a program that is converted is left alone"
    model = convert(write(tmp_path / "model", {**files, "model.py": done["model.py"]}))
    incomplete = "main.py:6: unsupported: this training step trains no table, although its program creates tables"
    assert incomplete in reasons(model)
    step = convert(write(tmp_path / "step", {**files, "main.py": done["main.py"]}))
    assert verdicts(step) == {"item": "unsupported"}
    assert "is of an earlier conversion" in reasons(step)
    other = HEAD + "def train(loss):\n    return tf.train.AdagradOptimizer(0.3).minimize(loss)\n"
    apart = convert(write(tmp_path / "apart", {"own/model.py": done["model.py"], "other/train.py": other}))
    assert not reasons(apart), "a step of another program"


def test_a_folder_without_an_init_is_a_package_to_a_relative_import(tmp_path: Path) -> None:
    main = (
        SPLIT["minimize"]
        .replace("from model import Model", "from .nets import model")
        .replace("= Model(", "= model.Model(")
    )
    judged(tmp_path, {"pkg/__init__.py": "", "pkg/nets/model.py": PLAIN, "pkg/main.py": main}, {"item": "applied"})


def test_tensorflow_by_a_module_of_its_own_for_it(tmp_path: Path) -> None:
    ours = PLAIN.replace(HEAD, "import tensorflow\nfrom compat import tf\n")
    files = {"compat.py": "from tensorflow.compat import v1 as tf\n", "model.py": ours, "main.py": SPLIT["minimize"]}
    judged(tmp_path, files, {"item": "applied"})


NET = HEAD + (
    'class Net:\n    def build(self, ids):\n        W = tf.get_variable("w", [8, 4])\n'
    "        return tf.nn.embedding_lookup(W, ids)\n"
)
OBJECTS = "model = Net()\nmodels = [model]\ndef make():\n    return model\n"
STEP = "op = tf.train.AdagradOptimizer(0.3).minimize(loss)\n"


def test_a_method_of_the_same_name_of_another_class_is_no_caller(tmp_path: Path) -> None:
    main = HEAD + (
        "from net import Net\nclass Other:\n    def build(self, x):\n        return x\n    def run(self):\n"
        '        with tf.variable_scope("b"):\n            return self.build(1)\n'
        'with tf.variable_scope("a"):\n    loss = tf.reduce_sum(Net().build(ids))\n' + STEP
    )
    results = convert(write(tmp_path, {"net.py": NET, "main.py": main}))
    assert 'name="a_w"' in results["net.py"].converted, reasons(results)


@pytest.mark.parametrize("made", ["net.Net()", "net.model", "net.models[0]", "net.make()"])
def test_an_object_of_another_file_makes_a_table_in_each_scope(made: str, tmp_path: Path) -> None:
    main = HEAD + "import net\nloss = 0.0\n"
    main += "".join(f'with tf.variable_scope("{n}"):\n    loss += tf.reduce_sum({made}.build(ids))\n' for n in "ab")
    results = convert(write(tmp_path, {"net.py": NET + OBJECTS, "main.py": main + STEP}))
    assert 'name=scoped_name("w")' in results["net.py"].converted, reasons(results)


def test_without_the_importer_the_training_is_not_known(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"model.py": PLAIN, "main.py": SPLIT["minimize"]})
    alone = convert(root / "model.py")
    assert verdicts(alone) == {"item": "suggested"}
    assert "convert the" in reasons(alone)


TRAINED = SPLIT["minimize"]
SUB = "import model as m\nclass Sub(m.Model):\n    def l2(self):\n        return self.item * 2.0\n"
USES = {
    "fetched": ("show.py", "import model\ndef show(session, m):\n    return session.run(m.item)\n", "show.py:3"),
    "matrix": ("main.py", TRAINED + "    tf.matmul(model.item, model.item)\n", "main.py:8"),
    "subclass": ("sub.py", HEAD + SUB, "sub.py:5"),
    "assigned": ("main.py", TRAINED + "    x = model.item.assign(1.0) * 2.0\n", "main.py:8"),
    "unknown optimizer": ("train.py", "import model\ndef go(o, m):\n    return o.minimize(m.loss)\n", "train.py:2"),
    "named saver": ("save.py", HEAD + "import model\ns = tf.train.Saver(model.LIST)\n", "save.py:3"),
}


@pytest.mark.parametrize(("name", "text", "place"), USES.values(), ids=USES)
def test_a_use_in_another_file_keeps_the_table(name: str, text: str, place: str, tmp_path: Path) -> None:
    files = {"model.py": PLAIN, "main.py": SPLIT["minimize"].replace("    return", "    model.end()\n    return")}
    root = write(tmp_path / "p", {**files, name: text})
    results = convert(root)
    assert verdicts(results)["item"] != "applied"
    assert place in reasons(results)
    assert not [name for name, one in results.items() if one.changed], "all files stay, or none"


def test_lookups_in_another_file_move_with_their_table(tmp_path: Path) -> None:
    more = HEAD + (
        "from model import Model\n"
        "def score(model: Model, ids):\n"
        "    return tf.reduce_sum(tf.nn.embedding_lookup(model.item, ids) ** 2)\n"
    )
    main = SPLIT["minimize"].replace("from model import Model\n", "from model import Model\nfrom more import score\n")
    main = main.replace("minimize(model.loss)", "minimize(model.loss + 0.1 * score(model, ids))")
    results = trains_alike(tmp_path / "p", {"model.py": PLAIN, "more.py": more, "main.py": main})
    assert "sparse_lookup(model.item, ids)" in results["more.py"].converted


def test_processes_and_the_cache_give_the_same(tmp_path: Path) -> None:
    others = {f"alone_{n}/main.py": PLAIN.replace("scale", "extent") for n in range(4)}
    root = write(tmp_path / "p", {**INHERITED, **others})
    want = {one.result.path: one.result.converted for one in convert_paths([str(root)], Options())}
    cache = Cache(tmp_path / "cache")
    for jobs in (3, 1):
        got = convert_paths([str(root)], Options(), How(jobs=jobs, cache=cache))
        assert {one.result.path: one.result.converted for one in got} == want
    assert cache.added
    write(root, {"base.py": BASE.replace("Adagrad", "Proximal")})
    after = convert_paths([str(root)], Options(), How(cache=cache))
    assert not any(one.result.changed for one in after if one.source.relative.name == "model.py")


HELPERS = HEAD + (
    "def embedding(ids, rows, with_more):\n"
    '    table = tf.get_variable("item", [rows, 4])\n'
    "    return tf.nn.embedding_lookup(table, ids), table\n"
    "def again(table, ids):\n"
    "    return tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2)\n"
)
HANDED = HEAD + (
    "from helpers import embedding as make, again\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    rows, item = make(ids, 8, True)\n"
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "    more = tf.nn.embedding_lookup(item, [1, 2])\n"
    "    error = tf.reduce_sum(rows, 1) * scale - label\n"
    "    loss = tf.reduce_mean(error**2) + tf.reduce_sum(more**2) + again(item, ids)\n"
    "    train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss)\n"
    '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
)


def test_a_table_that_a_helper_returns_and_one_reads_moves(tmp_path: Path) -> None:
    results = trains_alike(tmp_path / "p", {"helpers.py": HELPERS, "main.py": HANDED})
    assert results["main.py"].converted.count("sparse_lookup(") == 1
    assert results["helpers.py"].converted.count("sparse_lookup(") == 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("again(item, ids)", "sum(map(again, [item], [ids]))"),
        ("rows, item = make(ids, 8, True)", "rows, item = tuple(make(ids, 8, True))"),
    ],
)
def test_a_table_that_python_hands_on_moves(change: str, text: str, tmp_path: Path) -> None:
    trains_alike(tmp_path / "p", {"helpers.py": HELPERS, "main.py": HANDED.replace(change, text)})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("again(item, ids)", "again(item, ids) + again(tf.ones([8, 4]), ids)"),
        ("more = ", "item = item if ids is None else scale\n    more = "),
    ],
)
def test_a_table_that_is_handed_on_in_other_ways_stays(change: str, text: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"helpers.py": HELPERS, "main.py": HANDED.replace(change, text)})
    results = convert(root)
    assert verdicts(results)["item"] == "unsupported"
    assert not any(one.changed for one in results.values())


RUN = HEAD + (
    "ids = tf.placeholder(tf.int64, [None])\n"
    'item = tf.get_variable("item", [8, 4])\n'
    "loss = tf.reduce_sum(tf.nn.embedding_lookup(item, ids))\n"
    "train_op = tf.train.AdagradOptimizer(0.3).minimize(loss)\n"
)
RUNS = {
    "alone": ('runpy.run_path("model.py", None, "__main__")', True),
    "with a name": ('runpy.run_path("model.py", {"len": size})', False),
    "with names": ('runpy.run_module("model", init_globals=names)', False),
    "its names are taken": ('print(runpy.run_path("model.py")["item"])', False),
    "in a loop": ('for _ in range(2):\n    runpy.run_path("model.py")', False),
    "twice": ('runpy.run_path("model.py")\nrunpy.run_path("model.py")', False),
}


@pytest.mark.parametrize(("run", "alone"), RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("head", ["", "import tensorflow\n"], ids=["without it", "with TensorFlow"])
def test_a_file_that_is_run_moves_where_nothing_gives_or_takes_its_names(
    run: str, alone: bool, head: str, tmp_path: Path
) -> None:
    results = convert(write(tmp_path / "p", {"model.py": RUN, "main.py": f"{head}import runpy\n{run}\n"}))
    assert verdicts(results)["item"] == ("applied" if alone else "unsupported")


def test_many_statements_alike_in_files_without_tables_are_one_finding(tmp_path: Path) -> None:
    keras = HEAD + "def make(x, y):\n    return tf.keras.Model(x, y)  # trains by apply_gradients\n"
    others = {f"keras_{at}.py": keras for at in range(6)}
    imports = "".join(f"import keras_{at}\n" for at in range(6))
    results = judged(tmp_path / "p", {**INHERITED, **others, "main.py": imports + MAIN}, {"item": "unsupported"})
    assert reasons(results).count("which cannot be split: a table would not be trained as the variable was;") == 1
    assert "the same holds for 5 more statements, the next at " in reasons(results)
    few = convert(write(tmp_path / "few", {**INHERITED, **dict(list(others.items())[:2]), "main.py": imports + MAIN}))
    assert "more statements" not in reasons(few)


def test_many_files_about_which_there_is_nothing_to_say_are_counted(tmp_path: Path) -> None:
    idle = {f"idle_{at}.py": "import tensorflow as tf\n" for at in range(6)}
    star = {"star.py": "from tensorflow import *\nw = get_variable('w', [9, 4])\n"}
    done = convert_paths([str(write(tmp_path / "p", {**INHERITED, **idle, **star}))], Options())
    lines = list(summary_lines(make_report("migrate check", done, "", dry=True)))
    assert "8 other files without a table" in lines  # the idle ones, the base class and the script
    assert [line for line in lines if line.endswith("star.py: no table")]
    assert not [line for line in lines if "idle" in line]


@pytest.mark.parametrize(
    ("top", "inside", "added"),
    [
        ("", "from model import build", True),
        ("import tools", "from model import build", True),
        ("from model import build", "pass", False),
        ("import parts", "from model import build", False),
    ],
)
def test_a_server_loads_the_library_before_it_starts(top: str, inside: str, added: bool, tmp_path: Path) -> None:
    model = HEAD + (
        "def build(ids):\n"
        '    item = tf.get_variable("item", [8, 4])\n'
        "    loss = tf.reduce_sum(tf.nn.embedding_lookup(item, ids))\n"
        "    return tf.train.AdagradOptimizer(0.3).minimize(loss)\n"
    )
    train = f"{HEAD}{top}\ndef main(cluster, ids):\n    tf.train.Server(cluster)\n    {inside}\n    build(ids)\n"
    files = {
        "model.py": model,
        "tools.py": "def late():\n    import model\n",
        "parts.py": "try:\n    from model import build\nexcept ImportError:\n    pass\n",
        "train.py": train,
    }
    results = judged(tmp_path / "p", files, {"item": "applied"})
    assert ("import runtime  # a server needs" in results["train.py"].converted) is added
    assert any("`import runtime` is added" in one.message for one in results["train.py"].findings) is added
