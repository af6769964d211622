"""Initial values that come from a method, a base class, a parameter or another file, compared with stock TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.source.converting import HEAD, LOOKUP, STEP, converted, moves, reasons, stays
from tests.support.source.projects import convert, importable, same_training, verdicts, write
from tests.support.source.projects import reasons as reasons_of

tf = pytest.importorskip("tensorflow").compat.v1
ROWS, DIM = 3000, 8
CHOOSES = """
    def pick(self, kind):
        \"\"\"Choose how variables begin.\"\"\"
        if kind == "cut":
            return tf.truncated_normal_initializer(stddev=self.scale)
        elif kind == "flat":
            return tf.random_uniform_initializer(-self.scale, self.scale)
        elif kind == "bell":
            return tf.random_normal_initializer(stddev=self.scale)
        elif kind == "glorot":
            return tf.keras.initializers.VarianceScaling(scale=1.0, mode="fan_avg", distribution="truncated_normal")
        elif kind == "fan":
            return tf.keras.initializers.VarianceScaling(
                scale=2.0, mode="fan_in", distribution=("uniform" if True else "truncated_normal"))
        else:
            return tf.constant_initializer(0.25)
"""
BASE = (
    HEAD
    + "\nclass Base:\n    def __init__(self, kind, scale):\n        self.scale = scale\n"
    + "        self.begin = self.pick(kind)\n        self.make()\n"
    + CHOOSES
)
MAKES = f"""
    def make(self):
        self.ids = tf.placeholder(tf.int64, [None])
        self.label = tf.placeholder(tf.float32, [None])
        with tf.variable_scope("net", initializer=self.begin):
            self.table = tf.get_variable("table", [{ROWS}, {DIM}])
        self.rows = tf.nn.embedding_lookup(self.table, self.ids)
        kernel = tf.get_variable("kernel", [{DIM}], initializer=tf.random_normal_initializer())
        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows * kernel, 1) - self.label) ** 2)
        self.train_op = tf.train.AdagradOptimizer(0.1).minimize(self.loss)
"""
BUILDS = """
def build(kind="bell"):
    model = Model(kind, 0.3)
    return {"ids": model.ids, "label": model.label, "loss": model.loss, "train_op": model.train_op, "rows": model.rows}
"""
SUB = HEAD + "from base import Base\n\nclass Model(Base):" + MAKES
ALONE = BASE + MAKES + BUILDS.replace("Model", "Base")
KINDS = ["cut", "flat", "bell", "glorot", "fan", "other"]


def begin(root: Path, kind: str) -> Any:
    """Return the rows of all ids before the first step."""
    with importable(root), tf.Graph().as_default(), tf.Session() as session:
        from importlib import import_module

        tf.set_random_seed(7)
        built = import_module("main").build(kind)
        session.run(tf.global_variables_initializer())
        return session.run(built["rows"], {built["ids"]: np.arange(ROWS)})


def same_law(mine: Any, stock: Any) -> None:
    """The same distribution, as far as some ten thousand draws show it: center, spread and bounds."""
    assert mine.shape == stock.shape
    spread = max(float(stock.std()), 1e-9)
    assert abs(mine.mean() - stock.mean()) < 0.06 * spread + 1e-7
    assert abs(mine.std() - stock.std()) < 0.05 * spread + 1e-9
    for part in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert abs(np.quantile(mine, part) - np.quantile(stock, part)) < 0.2 * spread + 1e-7


def changed(root: Path, files: dict[str, str]) -> Path:
    """Convert a project exactly and return the directory with the result."""
    results = convert(write(root, files))
    assert set(verdicts(results).values()) == {"applied"}, reasons_of(results)
    return write(root.parent / f"{root.name}_new", {name: one.converted for name, one in results.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_a_base_class_of_another_file_chooses(tmp_path: Path, kind: str) -> None:
    files = {"base.py": BASE, "main.py": SUB + BUILDS}
    new = changed(tmp_path / "old", files)
    assert "emb_initializer=self.begin" in (new / "main.py").read_text()
    same_law(begin(new, kind), begin(tmp_path / "old", kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_method_of_the_class_chooses(tmp_path: Path, kind: str) -> None:
    new = changed(tmp_path / "old", {"main.py": ALONE})
    same_law(begin(new, kind), begin(tmp_path / "old", kind))


@pytest.mark.parametrize("files", [{"base.py": BASE, "main.py": SUB + BUILDS}, {"main.py": ALONE}])
def test_it_trains_as_before(tmp_path: Path, files: dict[str, str]) -> None:
    small = {name: text.replace(str(ROWS), "8") for name, text in files.items()}
    same_training_named(write(tmp_path / "old", small))


def same_training_named(root: Path, *, assume: bool = False) -> None:
    """Convert a project whose table has the scope `net`, and compare its training."""
    results = convert(root, assume=assume)
    assert set(verdicts(results).values()) == {"applied"}, reasons_of(results)
    for path in root.rglob("*.py"):  # rows are copied by name, and the table of `net/table` is `net_table`
        path.write_text(path.read_text().replace('variable_scope("net"', 'variable_scope(""'))
    for one in results.values():
        object.__setattr__(one, "converted", one.converted.replace('"net_table"', '"table"'))
    same_training(root, results)


#: Where the initializer comes from: lines before, and the expression.
SEEN = {
    "a branch": ("if flag:\n    i = tf.zeros_initializer()\nelse:\n    i = tf.ones_initializer()\n", "i"),
    "a branch with a matrix": ("", "tf.constant_initializer(m) if flag else tf.zeros_initializer()"),
    "one of two": ("", "tf.zeros_initializer() if flag else tf.random_normal_initializer(stddev=s)"),
    "a function": ("def pick(s):\n    return tf.random_normal_initializer(stddev=s)\n", "pick(0.1)"),
    "a local name of a function": (
        "def pick(s):\n    i = tf.random_normal_initializer(stddev=s)\n    return i\n",
        "pick(2)",
    ),
    "a function that raises": (
        "def pick(n):\n    if n == 1:\n        return tf.zeros_initializer()\n    raise ValueError(n)\n",
        "pick(1)",
    ),
}
TABLE = 'W = tf.get_variable("w", [9, 4], initializer={})\ne = tf.nn.embedding_lookup(W, ids)\n'


@pytest.mark.parametrize("before, text", SEEN.values(), ids=SEEN)
def test_an_initializer_that_is_seen_stays_as_it_is_written(before: str, text: str) -> None:
    result = converted(HEAD + before + TABLE.format(text), assume=True)
    assert "initial values may be" not in reasons(result)
    assert [t.verdict.value for t in result.tables] == ["applied"], reasons(result)
    assert f"emb_initializer={text})" in result.converted


PICK = """def pick(kind, s):
    if kind == "cut":
        return tf.truncated_normal_initializer(stddev=s)
    return tf.random_uniform_initializer(-s, s)
"""


@pytest.mark.parametrize("call", ["pick(kind, 0.1)", "make"])
def test_what_a_function_gives_is_called_with_the_shape(call: str) -> None:
    made = "make = pick(kind, 0.1)\n" if call == "make" else ""
    variable = f'W = tf.Variable({call}([9, 4]), name="w", dtype=tf.float32)\ne = tf.nn.embedding_lookup(W, ids)\n'
    result = converted(HEAD + PICK + made + variable, assume=True)
    assert [t.verdict.value for t in result.tables] == ["applied"], reasons(result)
    assert f"emb_initializer={call})" in " ".join(result.converted.split())
    assert result.tables[0].dim == "4"


@pytest.mark.parametrize(
    "function",
    [
        "def pick(kind, s):\n    return lambda shape: tf.random_normal(shape, stddev=s)\n",
        "def pick(kind, s):\n    return np.load(kind).reshape\n",
        PICK.replace("    return tf.random_uniform_initializer(-s, s)\n", "    return helper(s)\n"),
    ],
)
def test_another_function_of_the_shape_stays(function: str) -> None:
    variable = 'W = tf.Variable(pick(kind, 0.1)([9, 4]), name="w")\ne = tf.nn.embedding_lookup(W, ids)\n'
    assert not converted("import numpy as np\n" + HEAD + "from other import helper\n" + function + variable).changed


def test_an_initializer_of_contrib_that_a_function_gives_is_written_out() -> None:
    source = "import tensorflow as tf\nclass M:\n    @staticmethod\n    def start():\n        {}"
    source += "        return tf.contrib.layers.xavier_initializer()\n" + TABLE.format("M.start()")
    new = moves(source.format(""), assume=True)
    assert "emb_initializer=tf.glorot_uniform_initializer())" in new
    assert not converted(source.format("M.count += 1\n"), assume=True).changed  # it does more than it gives


UNSEEN = {
    "a base class": "class M(Base):\n    def f(self, ids):\n{}",
    "a parameter": "def f(ids, init):\n{}",
    "an attribute of a parameter": "def f(ids, params):\n{}",
    "a function of a module that is not here": "from helpers import start\ndef f(ids):\n{}",
    "a parameter that may be left out": "def f(ids, init=None):\n    if init is None:\n"
    "        init = tf.zeros_initializer()\n{}",
}
NAMED = ["self.init", "init", "params.init", "start(0.1)", "init"]


@pytest.mark.parametrize("around, text", list(zip(UNSEEN.values(), NAMED, strict=True)), ids=UNSEEN)
def test_what_is_not_seen_is_an_assumption(around: str, text: str) -> None:
    depth = "        " if "class" in around else "    "
    lines = "".join(f"{depth}{line}\n" for line in TABLE.format(text).splitlines())
    source = HEAD + ("from other import Base\n" if "class" in around else "") + around.format(lines)
    assert not converted(source).changed
    result = converted(source, assume=True)
    assert [t.verdict.value for t in result.tables] == ["applied"], reasons(result)
    assert f"emb_initializer={text})" in result.converted
    assert f"`{text}` is a constant, uniform, normal or variance scaling initializer" in reasons(result)


def test_what_is_not_seen_and_is_none_of_these_fails_when_the_table_is_made(tmp_path: Path) -> None:
    text = HEAD + "from start import init\n" + TABLE.format("init").replace("ids", "tf.constant([1])")
    result = converted(text, assume=True)
    assert result.changed
    for bad in ("None", "tf.orthogonal_initializer()", "lambda *_, **k: 0"):
        root = write(
            tmp_path / str(abs(hash(bad))), {"main.py": result.converted, "start.py": HEAD + f"init = {bad}\n"}
        )
        with importable(root), tf.Graph().as_default(), pytest.raises(ValueError, match="initial"):
            __import__("main")


ORTHOGONAL = "tf.orthogonal_initializer() if flag else tf.zeros_initializer()"
NOT_ALWAYS = "def pick():\n    if flag:\n        return tf.zeros_initializer()\n"
#: Never converted, not even under an assumption: lines before, the expression, and what is said.
REFUSED = {
    "a branch that is not row by row": ("", ORTHOGONAL, "orthogonal"),
    "a function that may return nothing": (NOT_ALWAYS, "pick()", "pick"),
    "a generator": ("def pick():\n    yield tf.zeros_initializer()\n", "pick()", "pick"),
    "a lambda": ("i = lambda shape, dtype: tf.zeros(shape)\n", "i", "lambda"),
    "numpy": ("import numpy as np\n", "np.zeros([9, 4])", "np.zeros"),
}  # fmt: skip


@pytest.mark.parametrize("before, text, says", REFUSED.values(), ids=REFUSED)
def test_what_rows_cannot_be_drawn_from_stays(before: str, text: str, says: str) -> None:
    body = "".join(f"    {line}\n" for line in (before + TABLE.format(text)).splitlines())
    source = HEAD + f"def f(ids, init=None):\n{body}"
    if before.startswith("def"):
        source = HEAD + before + "def f(ids):\n" + "".join(f"    {li}\n" for li in TABLE.format(text).splitlines())
    stays(source, says, assume=True)


def test_none_among_the_initializers_means_the_default_unless_a_scope_may_give_it() -> None:
    chosen = "i = None\nif flag:\n    i = tf.zeros_initializer()\n"
    result = converted(HEAD + chosen + TABLE.format("i"))
    assert "emb_initializer=i or tf.glorot_uniform_initializer())" in result.converted
    handed = f"def f(ids, init=None):\n    {TABLE.format('init')}".replace("\ne =", "\n    e =")
    assert "emb_initializer=init or tf.glorot" in converted(HEAD + handed, assume=True).converted
    scope = 'with tf.variable_scope("s", initializer=tf.ones_initializer()):\n    '
    stays(HEAD + chosen + scope + TABLE.format("i"), "one of them may be `None`", assume=True)


def test_a_vector_or_a_partitioned_variable_needs_to_know_the_law() -> None:
    for change in (("[9, 4]", "[9]"), ("init)", "init, partitioner=p)")):
        text = HEAD + "def f(ids, init, p):\n    " + TABLE.format("init").replace("\n", "\n    ").replace(*change)
        assert not converted(text.rstrip() + "\n", assume=True).changed


def test_what_is_bound_twice_is_read_where_the_scope_is_opened() -> None:
    scope = 'with tf.variable_scope("s", initializer=i):\n    {}W = tf.get_variable("w", [9, 4])\n'
    before = "i = tf.zeros_initializer()\n"
    lookup = "e = tf.nn.embedding_lookup(W, ids)\n"
    assert converted(HEAD + before + scope.format("") + lookup).changed
    stays(
        HEAD + before + scope.format("i = tf.ones_initializer()\n    ") + lookup, "may mean something else", assume=True
    )


@pytest.mark.parametrize("head", ["import tensorflow as tf\n", HEAD])
def test_a_branch_of_contrib_is_one_that_cannot_be_taken(head: str) -> None:
    body = "\n".join(
        [
            "class Model:",
            "    def __init__(self, kind, ids):",
            "        self.init = self.pick(kind)",
            '        W = tf.get_variable("w", [9, 4], initializer=self.init)',
            "        self.e = tf.nn.embedding_lookup(W, ids)",
            "        self.step = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(self.e))",
            "    def pick(self, kind):",
            '        if kind == "x":',
            "            return tf.contrib.layers.xavier_initializer()",
            "        return tf.zeros_initializer()",
        ]
    )
    text = head + body + "\n"
    result = converted(text)
    assert result.changed
    assert "has no `tf.contrib`" in reasons(result)
    always = text.replace(
        "        return tf.zeros_initializer()\n", "        return tf.contrib.layers.xavier_initializer()\n"
    )
    assert not converted(always).changed
    assert "has no `tf.contrib`" in reasons(converted(always, assume=True))


#: How a pretrained matrix is made whose type and width are known at run time.
MATRICES = {
    "an array": "matrix = np.load(path)\nW = tf.Variable(matrix)\n",
    "an array of get_variable": "matrix = np.load(path)\nW = tf.get_variable('w', initializer=matrix)\n",
    "a function": "W = tf.Variable(load(path), name='w')\n",
}


@pytest.mark.parametrize("text", MATRICES.values(), ids=MATRICES)
def test_a_pretrained_matrix_needs_a_decision(text: str) -> None:
    text = f"{HEAD}import numpy as np\n{text}e = tf.nn.embedding_lookup(W, ids)\n"
    result = converted(text)
    assert not result.changed
    assert "with a separate row for each id" in reasons(result)
    assert "table_of_rows(rows=" in converted(text, assume=True).converted


def test_a_matrix_of_a_constant_initializer_needs_none() -> None:
    made = "W = tf.get_variable('w', [9, 4], initializer=tf.constant_initializer(np.load(path)))\n"
    result = converted(f"{HEAD}import numpy as np\n{made}e = tf.nn.embedding_lookup(W, ids)\n")
    assert "rows=tf.constant(np.load(path), dtype=tf.float32, shape=[9, 4])" in result.converted


def test_another_value_of_the_name_is_told_by_what_it_is() -> None:
    made = 'if flag:\n    W = tf.get_variable("w", [9, 4])\nelse:\n    W = {}\ne = tf.nn.embedding_lookup(W, ids)\n'
    assert "not a variable" in reasons(converted(HEAD + made.format("tf.tanh(tf.matmul(m, k) + b)"), assume=True))
    later = 'W = tf.get_variable("w", [9, 4])\nW = {}\ne = tf.nn.embedding_lookup(W, ids)\n'
    for use in ("tf.layers.dense(W, 4)", "tf.nn.tanh(tf.matmul(W, k))", "W * 2.0"):
        stays(HEAD + later.format(use), "is computed from the whole variable `W`", assume=True)


def test_a_bound_is_computed_of_sizes_as_they_are_written() -> None:
    made = "tf.contrib.layers.xavier_initializer(uniform=False)"
    text = HEAD + f'W = tf.get_variable("w", [n, k if big else 8], initializer={made})\n' + LOOKUP + STEP
    assert "stddev=(2.6 / (n + (k if big else 8))) ** 0.5" in converted(text).converted
