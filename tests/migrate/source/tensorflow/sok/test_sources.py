"""How programs for SOK are read: spellings, what keeps a file, and the way there and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.report.model import Applicability, State
from migrate.source.driver.convert_file import convert_text
from migrate.source.driver.run import convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nimport sparse_operation_kit as sok\n"
START = HEAD + "hvd.init()\nsok.init()\n"
MADE = 'item = sok.DynamicVariable(dimension=8, initializer="0.5")\n'


def _converted(text: str, assume: bool = False, target: str = "runtime") -> SourceResult:
    return convert_text("model.py", text, Options(assume=assume, target=target), {})


def _said(result: SourceResult) -> str:
    return "\n".join(f"{f.state.value}: {f.message} ({f.reason}) {f.action}" for f in result.findings)


GRAPH = """import tensorflow.compat.v1 as tf

batch = tf.data.make_one_shot_iterator(read(files)).get_next()
W = tf.get_variable("user", [1000, 16], initializer=tf.constant_initializer(0.01))
V = tf.get_variable("item", [1000, 8], initializer=tf.zeros_initializer())
rows = tf.concat([tf.nn.embedding_lookup(W, batch["user"]), tf.nn.embedding_lookup(V, batch["item"])], 1)
loss = tf.reduce_mean((tf.layers.dense(rows, 1) - batch["label"]) ** 2)
train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
with tf.Session() as session:
    session.run(train_op)
"""
#: How gradients are taken: by an optimizer, and as SOK needs it.
TAKEN = (
    "dense_optimizer.compute_gradients(loss, dense_vars + sparse_vars)",
    "list(zip(tf.gradients(loss, dense_vars + sparse_vars, gate_gradients=True), dense_vars + sparse_vars))",
)


def test_what_is_written_for_sok_comes_back_as_what_is_written_for_the_runtime() -> None:
    there = _converted(GRAPH, assume=True, target="sok")
    assert "import sparse_operation_kit as sok" in there.converted
    back = _converted(there.converted)
    direct = _converted(GRAPH).converted.replace("device_vocabulary_size=1000, ", "")
    direct = direct.replace("device_vocabulary_size=1000,\n                 ", "").replace(*TAKEN)
    lines = [line for line in back.converted.splitlines() if "ranks" not in line]
    assert "ranks.start()" in back.converted.splitlines()
    wanted = [line.replace("zeros_initializer()", "constant_initializer(0.0)") for line in direct.splitlines()]
    assert [*filter(None, lines)] == [one for one in wanted if one and not one.startswith("from runtime import")]
    assert "from runtime import create_table, get_dense_and_sparse_variable, ranks, sparse_lookup" in back.converted
    assert {table.applicability for table in back.tables} == {Applicability.EXACT}


WRITTEN = {
    "a number": (
        MADE,
        'item = create_table(key_dtype=tf.int64, dim=8, name="item", emb_initializer=tf.constant_initializer(0.5))\n',
    ),
    "a place, a type and a size": (
        'item = sok.DynamicVariable(8, "normal", name="a", key_type=tf.int64, mode="localized:1", init_capacity=64)\n',
        'create_table(key_dtype=tf.int64, dim=8, name="a", emb_initializer=tf.random_normal_initializer(0.0, 1.0),\n'
        '                    device_vocabulary_size=64, placement="localized:1")\n',
    ),
    "a matrix that a function fills": (
        "item = sok.Variable(tf.random.uniform([9, 4], maxval=2.0))\n",
        'create_table(key_dtype=tf.int64, dim=4, name="item",\n'
        "                    emb_initializer=tf.random_uniform_initializer(minval=0, maxval=2.0),"
        " device_vocabulary_size=9)\n",
    ),
    "several under one name": (
        "tables = []\nfor dim in dims:\n"
        "    tables.append(sok.DynamicVariable(dimension=dim, initializer='0.5', name='t'))\n"
        "out = sok.lookup_sparse(tables, ids, weights, ways)\n",
        "name=unique_name('t'),",
    ),
    "weights and ways by position": (
        MADE + "out = sok.lookup_sparse([item], [a], [w], ['sum'])\n",
        "out = grouped_embedding_lookup_sparse([(item, a, w)], ['sum'], every_row=True)\n",
    ),
    "ways third, as they were once": (
        MADE + "out = sok.lookup_sparse([item], [a], ['sum'])\n",
        "out = grouped_embedding_lookup_sparse([(item, a)], ['sum'], every_row=True)\n",
    ),
    "ways third, by a name": (
        MADE + "ways = ['sum'] * n + ['mean']\nout = sok.lookup_sparse([item], [a], ways)\n",
        "out = grouped_embedding_lookup_sparse([(item, a)], ways, every_row=True)\n",
    ),
    "one variable gives one tensor": (
        MADE + "out = sok.lookup_sparse(item, a, combiners='sum')\n",
        "out = grouped_embedding_lookup_sparse([(item, a)], 'sum', every_row=True)[0]\n",
    ),
    "a lookup that is not reshaped as its ids are": (
        MADE
        + "out = tf.reshape("
        + "sok.all2all_dense_embedding(item, tf.reshape(a, [-1])), tf.concat([tf.shape(b), [8]], 0))\n",
        "out = tf.reshape(sparse_lookup(item, tf.reshape(a, [-1])), tf.concat([tf.shape(b), [8]], 0))\n",
    ),
    "lists of two lengths": (
        MADE + "out = sok.lookup_sparse([item, item], [a])\n",
        "out = grouped_embedding_lookup_sparse(zip([item, item], [a], strict=True), every_row=True)\n",
    ),
    "how many there are, and a scope that means nothing": (
        MADE + "tables = [item]\nn = len(tables)\nwith sok.OptimizerScope(tables):\n    n += 1\n",
        "n = len(tables)\nwith nullcontext():\n    n += 1\n",
    ),
    "in loops": (
        "tables = [sok.DynamicVariable(dimension=d, initializer='0.5') for d in dims]\n"
        "for table, one in zip(tables, ids):\n    rows.append(sok.lookup_sparse(table, one))\n",
        "    rows.append(grouped_embedding_lookup_sparse([(table, one)], every_row=True)[0])\n",
    ),
    "by functions, and an attribute": (
        "class Model:\n    def __init__(self, table):\n        self.table = table\n\n"
        "    def rows(self, ids):\n        return sok.all2all_dense_embedding(self.table, ids)\n\n"
        "def make():\n    return sok.DynamicVariable(dimension=8, initializer='0.5')\n\n"
        "model = Model(make())\nopt = sok.SGD(lr=1.0)\n",
        "        return sparse_lookup(self.table, ids)\n",
    ),
    "an older import": (
        "from sparse_operation_kit import experiment\nitem = experiment.DynamicVariable(dimension=8)\n",
        "emb_initializer=tf.random_uniform_initializer(0.0, 1.0))\n",
    ),
    "a list of tables that is trained": (
        MADE
        + "tables = [item]\ngrads = tape.gradient(loss, tables)\n"
        + "opt = sok.OptimizerWrapper(tf.keras.optimizers.SGD())\n"
        "opt.apply_gradients(zip(grads, tables), experimental_aggregate_gradients=False)\n",
        "grads = tape.gradient(loss, [table.variable for table in tables])\n"
        "opt = gradient_descent.create_hash_optimizer(learning_rate=0.01)\n"
        "opt.apply_gradients(zip(grads, [table.variable for table in tables]))\n",
    ),
    "in dicts": (
        "tables = {n: sok.DynamicVariable(dimension=4, initializer='0.5', name=n) for n in names}\n"
        "more = {}\nmore['a'] = sok.DynamicVariable(dimension=4, initializer='0.5')\n"
        "rows = [sok.all2all_dense_embedding(tables['b'], i), sok.all2all_dense_embedding(more.get('a'), i)]\n"
        "for name, one in tables.items():\n    rows.append(sok.all2all_dense_embedding(one, i))\n",
        "rows = [sparse_lookup(tables['b'], i), sparse_lookup(more.get('a'), i)]\n"
        "for name, one in tables.items():\n    rows.append(sparse_lookup(one, i))\n",
    ),
    "beside something else in a dict": (
        MADE + "d = {}\nd['a'] = item\nd['b'] = tf.Variable(m)\nr = sok.all2all_dense_embedding(d['a'], i)\n",
        "r = sparse_lookup(d['a'], i)\n",
    ),
    "by a function that TensorFlow traces": (
        MADE + "@tf.function(jit_compile=True)\ndef rows(table, ids):\n    return sok.lookup_sparse(table, ids)\n\n"
        "out = rows(item, a)\n",
        "    return grouped_embedding_lookup_sparse([(table, ids)], every_row=True)[0]\n",
    ),
    "an attribute of an object that is not seen": (
        "class M:\n    def __init__(self):\n        self.t = sok.DynamicVariable(8)\n\nopt = sok.SGD(lr=0.1)\n"
        "def train(model):\n    g = tape.gradient(loss, [model.t])\n    opt.apply_gradients(zip(g, [model.t]))\n",
        "    g = tape.gradient(loss, [model.t.variable])\n    opt.apply_gradients(zip(g, [model.t.variable]))\n",
    ),
    "a list of an object that is not seen": (
        "class M:\n    def __init__(self):\n        self.ts = [sok.DynamicVariable(d) for d in dims]\n\n"
        "opt = sok.SGD(lr=0.1)\ndef rows(model, ids):\n    for i, one in enumerate(model.ts):\n"
        "        yield sok.lookup_sparse(one, ids[i])\n",
        "        yield grouped_embedding_lookup_sparse([(one, ids[i])], every_row=True)[0]\n",
    ),
    "an initializer of numbers that are not seen": (
        "item = sok.Variable(shape=[9, 4], initializer=tf.random_uniform_initializer(low['x'], 1.0))\n",
        "emb_initializer=tf.random_uniform_initializer(low['x'], 1.0)",
    ),
    "beside variables of a layer": (
        MADE + "g = tape.gradient(loss, [item, *layer.kernels])\n",
        "g = tape.gradient(loss, [item.variable, *layer.kernels])\n",
    ),
    "in pairs": (
        MADE + "opt = tf.keras.optimizers.SGD(0.1)\nopt.apply_gradients([(g, item)])\n",
        "opt = gradient_descent.create_hash_optimizer(learning_rate=0.1)\nopt.apply_gradients([(g, item.variable)])\n",
    ),
    "beside other variables": (
        MADE + "first, second = tape.gradient(loss, [item, kernel])\n",
        "first, second = tape.gradient(loss, [item.variable, kernel])\n",
    ),
    "Adam of a static variable moves all rows": (
        "item = sok.Variable(shape=[9, 4], initializer=tf.ones_initializer())\n"
        "opt = sok.OptimizerWrapper(tf.optimizers.Adam(0.1, beta_1=0.5))\n",
        "opt = keras_adam.create_hash_optimizer(learning_rate=0.1, beta_1=0.5)\n",
    ),
    "one of two": (
        MADE + "other = sok.DynamicVariable(dimension=8, initializer='0.5')\nmore = [item]\nrest = [other]\n"
        "g = tape.gradient(loss, [item if new else other])\nh = tape.gradient(loss, more if new else rest)\n",
        "g = tape.gradient(loss, [(item if new else other).variable])\n"
        "h = tape.gradient(loss, [table.variable for table in (more if new else rest)])\n",
    ),
    "an optimizer in an object, by another name": (
        MADE + "class T:\n    def __init__(self, opt):\n        self.opt = opt\n\n"
        "inner = tf.optimizers.SGD(0.1)\nt = T(sok.OptimizerWrapper(inner))\nother = t.opt\n"
        "other.apply_gradients(zip(tape.gradient(loss, [item]), [item]))\n",
        "t = T(gradient_descent.create_hash_optimizer(learning_rate=0.1))\nother = t.opt\n"
        "other.apply_gradients(zip(tape.gradient(loss, [item.variable]), [item.variable]))\n",
    ),
    "SOK's own optimizer": (
        MADE + "opt = sok.SGD(lr=0.1)\n",
        "gradient_descent.create_hash_optimizer(learning_rate=0.1)",
    ),
    "an optimizer that is wrapped and trains others, too": (
        MADE + "inner = tf.optimizers.Adam(0.1)\nopt = sok.OptimizerWrapper(inner)\nprint(inner)\n"
        "opt.apply_gradients(zip(g, [item]))\ninner.apply_gradients(zip(h, [kernel]))\n",
        "opt = lazy_adam.create_hash_optimizer(learning_rate=0.1, epsilon=1e-07)\nprint(inner)\n"
        "opt.apply_gradients(zip(g, [item.variable]))\ninner.apply_gradients(zip(h, [kernel]))\n",
    ),
    "an optimizer of tables and others": (
        MADE + "def step(both, opt):\n    opt.apply_gradients(zip(g, [both]))\n\n"
        "inner = tf.optimizers.SGD(0.1)\nstep(item, inner)\ninner.apply_gradients(zip(h, [kernel]))\n",
        "    table_inner.apply_gradients(zip(g, [both.variable]))\n\ninner = tf.optimizers.SGD(0.1)\n"
        "table_inner = gradient_descent.create_hash_optimizer(learning_rate=0.1)\n"
        "step(item, inner)\ninner.apply_gradients(zip(h, [kernel]))\n",
    ),
    "an optimizer that the version of Keras chooses": (
        MADE + "if sok.tf_version[0] == 2 and sok.tf_version[1] >= 17:\n    import tf_keras as tfk\n\n"
        "    inner = tfk.optimizers.legacy.SGD(learning_rate=0.1)\nelse:\n"
        "    inner = tf.optimizers.SGD(learning_rate=0.1)\nopt = sok.OptimizerWrapper(inner)\n",
        'version = [int(part) for part in tf.__version__.split(".")[:2]]\n'
        'item = create_table(key_dtype=tf.int64, dim=8, name="item", emb_initializer=tf.constant_initializer(0.5))\n'
        "if version[0] == 2 and version[1] >= 17:\n    import tf_keras as tfk\n\n"
        "    inner = tfk.optimizers.legacy.SGD(learning_rate=0.1)\nelse:\n"
        "    inner = tf.optimizers.SGD(learning_rate=0.1)\n"
        "opt = gradient_descent.create_hash_optimizer(learning_rate=0.1)\n",
    ),
    "momentum of Keras on rows of the batch": (
        MADE + "opt = sok.OptimizerWrapper(tf.optimizers.SGD(learning_rate=1.0, momentum=0.9))\n",
        "opt = momentum.create_hash_optimizer(learning_rate=1.0, momentum=0.9)\n",
    ),
    "matrices in a list": (
        "tables = [sok.Variable(m, mode='localized:0') for m in matrices]\n",
        "tables = [table_of_rows(rows=m, name=unique_name(\"tables\"), placement='localized:0') for m in matrices]\n",
    ),
    "rows of this rank": (
        MADE + "a = tf.nn.embedding_lookup(item, ids)\nb = item.sparse_read(ids)\nn = item.size\n"
        "k, r = sok.export(item)\nsok.assign(item, k, r + 1)\n"
        "rows, keys, gone = sok.sparse_read_and_evict(item, ids)\n",
        "a = local_lookup(item, ids, foreign=True)\nb = local_lookup(item, ids, foreign=True)\n"
        "n = tf.stack([item.size(), item.dim])\n"
        "k, r = item.snapshot()[:2]\nitem.import_rows(k, r + 1)\n"
        "rows, keys, gone = (local_lookup(item, ids, foreign=True), "
        "tf.zeros([0], tf.int64), tf.zeros([0, item.dim]))\n",
    ),
    "files, with the slots of an optimizer and without": (
        MADE + "o = sok.OptimizerWrapper(tf.optimizers.SGD())\nsok.dump(path, item, o)\n"
        "sok.load(load_vars=[item], path=path, optimizer=[o])\nsok.dump(path, [item])\nsok.load(path, item, None)\n",
        "checkpoint.save_tables(path, item)\ncheckpoint.restore_tables(path, [item])\n"
        "checkpoint.save_tables(path, [item])\ncheckpoint.restore_tables(path, item, slots=False)\n",
    ),
    "the matrix of this rank": (
        "item = sok.Variable(m)\na = item**2 - item\nb = item.numpy()\nc = item.eval(session)\n",
        'item = table_of_rows(rows=m, name="item")\na = local_rows(item)**2 - local_rows(item)\n'
        "b = local_rows(item).numpy()\nc = local_rows(item).eval(session=session)\n",
    ),
    "what is initialised first, in a session": (
        "started = sok.Init(global_batch_size=64)\nwith tf.compat.v1.Session() as session:\n    session.run(started)\n",
        "ranks.start()\nstarted = tf.no_op()\n",
    ),
    "a session over the default graph": (
        MADE + "with tf.compat.v1.Session() as session:\n    session.run(sok.export(item))\n",
        "\n\ntf.compat.v1.disable_v2_behavior()\nitem = create_table(",
    ),
}


@pytest.mark.parametrize(("before", "after"), WRITTEN.values(), ids=WRITTEN)
def test_it_is_written_for_the_runtime(before: str, after: str) -> None:
    result = _converted(HEAD + before)
    assert after in result.converted, _said(result) + result.converted
    assert "sparse_operation_kit" not in result.converted
    assert not [f for f in result.findings if f.remains], _said(result)


KEPT = {
    "an initializer": ("sok.DynamicVariable(8, how)", "the initializer `how` cannot be read", "write the text"),
    "a constraint": ("sok.DynamicVariable(8, constraint=c)", "has a constraint", "leave it out"),
    "frozen": ("sok.DynamicVariable(8, trainable=False)", "may not be trainable", "leave `trainable` out"),
    "double precision": ("sok.DynamicVariable(8, dtype=tf.float64)", "are not float32", ""),
    "a shape": ("sok.Variable(shape=s, initializer=tf.ones_initializer())", "the shape of `x` cannot be read", ""),
    "an argument that is none": ("sok.DynamicVariable(8, dims=8)", "it has no argument `dims`", "by name"),
    "increments": ("sok.incremental_model_dump([item], t)", "`sok.incremental_model_dump` is called", "checkpoint"),
    "files in a graph": (
        "tf.compat.v1.Session()\nsok.load(path, [item])",
        "`sok.load` is called in a v1 graph",
        "runtime.ranks.checkpoint.Saver",
    ),
    "files of an unknown variable": (
        "sok.dump(path, net.tables)",
        "`net.tables`, which `sok.dump` takes, is not known to be variables of SOK",
        "the variables that this file makes",
    ),
    "files without variables": ("sok.dump(path)", "what `sok.dump` takes cannot be read", "give both by name"),
    "files of starred arguments": (
        "sok.dump(*given)",
        "the arguments of `sok.dump` cannot be read",
        "by name",
    ),
    "files of an argument that is none": ("sok.load(path, [item], all=1)", "it has no argument `all`", "by name"),
    "an optimizer that may be none": (
        "1\ndef keep(opt=None):\n    sok.load(path, item, opt)",
        "the optimizer that `sok.load` takes may be None",
        "with an optimizer and without",
    ),
    "values": ("item.numpy()", "`item.numpy` is not a lookup", "table.snapshot()"),
    "values of a list of an object that is not seen": (
        "1\nclass M:\n    def __init__(self):\n        self.ts = [sok.DynamicVariable(8)]\n\n"
        "def show(model):\n    return [one.numpy() for one in model.ts]\n",
        "`one.numpy` is not a lookup",
        "table.snapshot()",
    ),
    "its name as a text": (
        "1\nt = sok.DynamicVariable(8)\ny = vars().get('t') * 2",
        "`vars().get('t') * 2` is not a lookup",
        "",
    ),
    "all names": ("1\nt = sok.DynamicVariable(8)\nsave(**globals())", "`**globals()` is not a lookup", ""),
    "an attribute by its name": (
        "1\nclass Model:\n    pass\n\nmodel = Model()\nmodel.t = sok.DynamicVariable(8)\n"
        "for name in names:\n    save(getattr(model, name))",
        "`getattr(model, name)` is not a lookup",
        "",
    ),
    "arithmetic": ("tf.nn.l2_loss(item)", "`item` is not a lookup", "sok.lookup_sparse"),
    "a stock lookup in a list": ("tf.nn.embedding_lookup([item], ids)", "is not a lookup", ""),
    "a stock lookup in parts": ("tf.nn.embedding_lookup(item, ids, max_norm=1.0)", "is not a lookup", ""),
    "a stock lookup of a static variable": (
        "sok.Variable(m)\nr = tf.nn.embedding_lookup(x, ids)",
        "`x` is not a lookup",
        "",
    ),
    "rows of a static variable": ("sok.Variable(m)\nk, r = sok.export(x)", "`x` is looked up", ""),
    "rows of another file": ("sok.assign(net.table, keys, rows)", "`net.table` is looked up", ""),
    "what is looked up": ("sok.lookup_sparse(other, ids)", "`other` is looked up", "make it in this file"),
    "a filter of rare ids": (
        "sok.lookup_sparse(item, ids, use_low_frequency_filter=True)",
        "`use_low_frequency_filter` is given",
        "leave it out",
    ),
    "an optimizer": ("sok.OptimizerWrapper(tf.keras.optimizers.Nadam())", "is not known", "SGD, Adagrad or Adam"),
    "momentum of Keras on all rows": (
        "sok.Variable(m)\no = sok.OptimizerWrapper(tf.keras.optimizers.SGD(1.0, 0.9))",
        "with `momentum` is not",
        "",
    ),
    "momentum of Keras with a schedule": (
        "sok.OptimizerWrapper(tf.keras.optimizers.SGD(rate, 0.9))",
        "`learning_rate` of an optimizer is computed",
        "into `sok.OptimizerWrapper(...)`",
    ),
    "optimizers of two kinds": (
        "1\no = tf.optimizers.SGD(0.1) if a else tf.optimizers.SGD(0.2)\nw = sok.OptimizerWrapper(o)",
        "may wrap optimizers that update differently",
        "in a call of its own",
    ),
    "an optimizer that counts steps of both": (
        "1\no = tf.optimizers.Adam(0.1)\no.apply_gradients(zip(g, [item]))\no.apply_gradients(zip(h, [kernel]))",
        "counts the steps of both together",
        "a separate optimizer for each",
    ),
    "the rate of an optimizer of both": (
        "1\no = tf.optimizers.SGD(0.1)\no.apply_gradients(zip(g, [item]))\no.apply_gradients(zip(h, [kernel]))\n"
        "o.learning_rate = 0.01",
        "`o.learning_rate` uses the wrapped optimizer",
        "that nothing else uses",
    ),
    "an optimizer of both that is made where tables do not see it": (
        "1\ndef make():\n    o = tf.optimizers.SGD(0.1)\n    o.apply_gradients(zip(h, [kernel]))\n    return o\n\n"
        "p = make()\np.apply_gradients(zip(g, [item]))",
        "uses the optimizer as well",
        "a separate optimizer for each",
    ),
    "a rate of an optimizer": (
        "sok.OptimizerWrapper(tf.keras.optimizers.SGD(1.0)).learning_rate",
        "uses an optimizer of SOK's variables",
        "call apply_gradients",
    ),
    "a mention": ("isinstance(item, sok.DynamicVariable)", "is used without a call", ""),
    "a strategy": ("tf.distribute.MirroredStrategy()", "is used in this file", ""),
    "all variables": ("tf.compat.v1.train.AdamOptimizer().minimize(loss)", "the list of all variables", "each list"),
    "both kinds": (
        "sok.Variable(shape=[9, 4], initializer=tf.ones_initializer())\no = sok.OptimizerWrapper(tf.optimizers.Adam())",
        "may train static and dynamic variables",
        "one optimizer for each",
    ),
    "a name for two things": (
        "1\nif x:\n    item = tf.Variable(m)\nr = sok.all2all_dense_embedding(item, i)",
        "may be looked up in place of an SOK variable",
        "separate names",
    ),
    "a name for two things, used as a whole": (
        "1\nif x:\n    item = tf.Variable(m)\nr = tf.nn.l2_loss(item)",
        "with a variable of SOK and others is not analysed",
        "sok.lookup_sparse",
    ),
    "a list of two kinds": ("sok.lookup_sparse([item, v], ids)", "is in the same place as SOK variables", ""),
    "variables together": (
        "1\ntables, dense = sok.filter_variables([item, v])\no = sok.OptimizerWrapper(tf.optimizers.SGD())\n"
        "o.apply_gradients(zip(g, tables + dense))",
        "are updated together",
        "each list by a separate optimizer",
    ),
    "an optimizer that is not seen": (
        "make()\nx.minimize(loss, var_list=[item])",
        "`x` trains variables of SOK",
        "OptimizerWrapper",
    ),
    "variables in pairs": (
        "sok.SGD(lr=0.1)\nx.apply_gradients([(g, item), (h, kernel)])",
        "are updated together",
        "each list by a separate optimizer",
    ),
    "variables beside each other": (
        "1\no = sok.OptimizerWrapper(tf.optimizers.SGD())\no.apply_gradients(zip(g, [item, kernel]))",
        "are updated together",
        "each list by a separate optimizer",
    ),
    "something else in a dict": (
        "1\nd = {}\nd['a'] = item\nd['b'] = tf.Variable(m)\nr = sok.all2all_dense_embedding(d[k], i)",
        "may be looked up in place of an SOK variable",
        "separate names",
    ),
    "the rate of the optimizer that is wrapped": (
        "1\ninner = tf.optimizers.SGD(1.0)\no = sok.OptimizerWrapper(inner)\ninner.learning_rate = 0.5",
        "`inner.learning_rate` uses the wrapped optimizer",
        "that nothing else uses",
    ),
    "tables of the optimizer that is wrapped": (
        "1\ninner = tf.optimizers.Adam(1.0)\nsame = inner\no = sok.OptimizerWrapper(same)\n"
        "inner.apply_gradients(zip(g, [item]))",
        "`inner.apply_gradients` uses the wrapped optimizer",
        "that nothing else uses",
    ),
    "a variable of another file": (
        "sok.SGD(lr=0.1)\nx.apply_gradients(zip(g, [net.table]))",
        "`net.table` is trained by an optimizer of SOK",
        "make it in this file",
    ),
    "gradients of a dict": ("1\nt = {'a': item}\ng = tape.gradient(loss, t)", "`t` is not a lookup", ""),
    "a matrix as initializer": (
        "tf.reshape(m, [9, 4]) / 10\nv = sok.Variable(shape=[9, 4], initializer=tf.constant_initializer(x))",
        "`tf.constant_initializer(x)` initializes a table",
        "the matrix as its first argument",
    ),
    "an identity": (
        "sok.Variable(shape=[4, 4], initializer=tf.keras.initializers.Identity())",
        "the values of a row depend on its position",
        "",
    ),
    "a function as initializer": (
        "sok.Variable(shape=[9, 4], initializer=lambda shape, dtype=None: tf.ones(shape))",
        "its values are a function of the whole shape",
        "",
    ),
    "a function of initial values": ("sok.Variable(lambda: m)", "come from a function", "call the function there"),
    "a mode that is None": ("None\nv = sok.Variable(m, mode=x)", "the mode of `v` may be None", "remove it"),
    "weights that are None": (
        "None\nout = sok.lookup_sparse([item], [ids], sp_weights=x)",
        "the weights `x` may be None",
        "leave it out",
    ),
    "weights that a caller may make None": (
        "1\ndef rows(ids, w):\n    return sok.lookup_sparse([item], [ids], sp_weights=w)\n\nout = rows(ids, None)",
        "the weights `w` may be None",
        "leave it out",
    ),
    "an initializer by place that a caller gives": (
        "1\ndef make(how):\n    return sok.Variable(shape=[9, 4], initializer=how)\n\n"
        "other = make(tf.keras.initializers.Orthogonal())",
        "`how` initializes a table",
        "",
    ),
    "a method as an initializer": (
        "1\nclass A:\n    def fill(self, shape, dtype=None):\n        return rows\n\na = A()\n"
        "other = sok.Variable(shape=[9, 4], initializer=a.fill)",
        "its values are a function of the whole shape",
        "",
    ),
    "an array that a caller gives": (
        "1\ndef make(rows=0.5):\n    return sok.Variable(shape=[9, 4], initializer=tf.constant_initializer(rows))\n\n"
        "other = make([[1.0, 2.0]])",
        "its value is not known to be one number",
        "",
    ),
    "an attribute of a list": ("1\nall = [item]\nout = all.shape", "`all.shape` is not a lookup", ""),
    "a list for one variable": ("sok.lookup_sparse(item, [ids])", "the list `[ids]` is looked up", "its only member"),
    "a combiner in capitals": ("sok.lookup_sparse(item, ids, combiners='Sum')", "is 'Sum'", '"sum" or "mean"'),
    "rows in a penalty": (
        "1\ntables, dense = sok.filter_variables([item, v])\np = [tf.nn.l2_loss(one) for one in tables]",
        "is not a lookup",
        "",
    ),
}


def test_files_that_another_program_dumps_are_an_assumption() -> None:
    text = START + MADE + "sok.load(path, item)\n"
    kept = _converted(text)
    assert not kept.changed
    assert "files are loaded that this program does not dump" in _said(kept)
    assert "restore_tables(path, item, slots=False)" in _converted(text, assume=True).converted


@pytest.mark.parametrize(("code", "message", "action"), KEPT.values(), ids=KEPT)
def test_what_keeps_a_file_is_said_with_the_remedy(code: str, message: str, action: str) -> None:
    result = _converted(START + MADE + f"x = {code}\n", assume=True)
    assert not result.changed, result.converted
    reasons = [f for f in result.findings if message in f"{f.message} {f.reason}"]
    assert reasons, _said(result)
    assert all(f.remains and f.action and action in f.action for f in reasons if f.subject == "use"), _said(result)
    stays = [f for f in result.findings if "completely or not at all" in f.message]
    assert {f.location.line for f in stays} >= {3, 5, 6}
    assert {table.verdict for table in result.tables} == {State.UNSUPPORTED}


OTHERS = "the files that train the tables of this one are converted as well"
ASSUMED = {
    "all of a model": (
        "tables, others = sok.filter_variables(model.trainable_variables)\n",
        ["`model.trainable_variables` contains all tables that the program makes"],
    ),
    "a list of a model": (
        "class M:\n    def __init__(self):\n        self.t = item\n\ngrads = tape.gradient(loss, m.weights)\n",
        [OTHERS, "`m.weights` is read for its dense variables only"],
    ),
    "a step of another file": ("class M:\n    def __init__(self):\n        self.t = item\n", [OTHERS]),
    "a list of a graph": (
        "grads = tf.gradients(loss, tf.compat.v1.trainable_variables())\n",
        ["`tf.compat.v1.trainable_variables()` is read for its dense variables only"],
    ),
}


@pytest.mark.parametrize(("more", "assumptions"), ASSUMED.values(), ids=ASSUMED)
def test_an_assumption_is_asked_for(more: str, assumptions: list[str]) -> None:
    result = _converted(START + MADE + more)
    assert not result.changed
    assert {one for f in result.findings for one in f.assumptions} == set(assumptions)
    assert {table.verdict for table in result.tables} == {State.SUGGESTED}, _said(result)
    assumed = _converted(START + MADE + more, assume=True)
    assert assumed.changed
    assert {table.applicability for table in assumed.tables} == {Applicability.ASSUMPTION}


def test_an_optimizer_of_variables_of_another_file_asks_which_they_are() -> None:
    text = START + "import model\noptimizer = sok.OptimizerWrapper(tf.keras.optimizers.Adam(0.1))\n"
    assert "are made in another file" in _said(_converted(text))
    assert "lazy_adam.create_hash_optimizer(learning_rate=0.1, epsilon=1e-07)" in _converted(text, True).converted


def test_an_array_of_a_shape_is_imported_and_a_number_is_an_initializer() -> None:
    text = HEAD + "item = sok.Variable(tf.constant({}, shape=[9, 4]))\n"
    assert "table_of_rows(rows=tf.constant(x, shape=[9, 4]), name=" in _converted(text.format("x")).converted
    assert "emb_initializer=tf.constant_initializer(0.5)" in _converted(text.format("0.5")).converted
    computed = (
        "for i in range(2):\n    item = sok.Variable(shape=[9, 4], initializer=tf.constant_initializer(0.5 * i))\n"
    )
    assert "emb_initializer=tf.constant_initializer(0.5 * i)" in _converted(HEAD + computed).converted


@pytest.mark.parametrize(
    ("ids", "more", "asks"),
    [
        ("ids", "", True),
        ("tf.reshape(ids, [-1, 2, 3])", "", False),
        ("tf.reshape(ids, [-1, 3, 2])", "", True),
        ("ids", ", dynamic_input=True", False),
    ],
)
def test_a_layer_of_a_fixed_shape_asks_for_that_of_its_ids(ids: str, more: str, asks: bool) -> None:
    text = START + f"rows = sok.All2AllDenseEmbedding(9, 4, 2, 3{more})\nout = rows({ids})\n"
    assert ("the shape of" in _said(_converted(text))) is asks
    assert f"out = sparse_lookup(rows, {ids})\n" in _converted(text, assume=True).converted


@pytest.mark.parametrize(("given", "keeps"), [("", False), ("use_legacy_optimizer=False", True)])
def test_adagrad_of_keras_is_the_legacy_one_unless_it_is_said(given: str, keeps: bool) -> None:
    text = START.replace("sok.init()", f"sok.init({given})") + MADE
    result = _converted(text + "opt = sok.OptimizerWrapper(tf.keras.optimizers.Adagrad(0.1))\n")
    assert result.changed is not keeps
    assert ("is the new Keras optimizer" in _said(result)) is keeps


def test_a_file_of_tensorflow_1_imports_version_1() -> None:
    text = "import tensorflow as tf\nimport sparse_operation_kit as sok\nsok.init()\nids = tf.placeholder(tf.int64)\n"
    converted = _converted(text + MADE).converted
    assert converted.startswith("import tensorflow.compat.v1 as tf\n")
    assert "\n\ntf.disable_v2_behavior()\nranks.start()\nids = tf.placeholder(tf.int64)\n" in converted
    spelled = _converted(text.replace("tf.placeholder", "tf.compat.v1.placeholder") + MADE).converted
    assert spelled.startswith("import tensorflow as tf\n")
    assert "disable_v2_behavior" not in spelled
    for more in ("from tensorflow import placeholder\n", "tf.contrib.layers.fully_connected(x)\n"):
        assert not _converted(text + MADE + more).changed


def test_variables_of_another_file_are_trained_under_an_assumption() -> None:
    text = START + "from model import net\nopt = sok.SGD(lr=0.1)\ntables, rest = sok.filter_variables([net.t, net.k])\n"
    result = _converted(text + "opt.apply_gradients(zip(tape.gradient(loss, tables), tables))\n")
    assert "trains variables of another file" in _said(result)
    assert not result.changed
    assert _converted(text, assume=True).changed


def test_what_differs_beside_the_tables_is_told() -> None:
    result = _converted(START + MADE + "dense = tf.keras.optimizers.Adagrad(0.1)\n")
    (told,) = (f.reason for f in result.findings if f.message.startswith("`sok.init` becomes"))
    assert "gradients of other variables are not summed over ranks" in told
    assert "the current ones" in told
    exchanged = _converted(START + MADE + "loss = hvd.allreduce(loss)\n")
    assert not [f for f in exchanged.findings if "not summed over ranks" in f.reason]


def test_a_process_takes_its_gpu_before_the_ranks_are_connected() -> None:
    pinned = "tf.config.set_visible_devices(gpus[{}.local_rank()], 'GPU')\n"
    converted = _converted(f"{HEAD}hvd.init()\n{pinned.format('hvd')}sok.init()\n").converted
    assert converted.endswith(f"\n{pinned.format('ranks')}ranks.start()\n")


def test_other_targets_do_not_read_it() -> None:
    own, other = _converted(START + MADE, target="sok"), _converted(START + MADE, target="rec_sdk")
    assert (own.changed, other.changed) == (False, False)
    assert "noted: `DynamicVariable` is SOK's own" in _said(own)
    assert "unsupported: `DynamicVariable` is SOK's (it can be converted for the runtime" in _said(other)


def test_a_comment_keeps_the_file() -> None:
    result = _converted(START + MADE.replace("\n", "  # migrate: ignore not yet\n"))
    assert not result.changed
    assert not [f for f in result.findings if f.remains], _said(result)


def test_a_variable_that_another_file_looks_up_stays_under_assumptions(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(START + MADE)
    step = 'with tf.GradientTape() as tape:\n    rows = sok.lookup_sparse(item, sparse, combiners="sum")\n'
    (tmp_path / "train.py").write_text(f"{HEAD}from model import item\n{step}")
    found = convert_paths([str(tmp_path)], Options(assume=True))
    assert all(one.original == one.data for one in found)
    assert any("is looked up in another file" in _said(one.result) for one in found if one.result)
