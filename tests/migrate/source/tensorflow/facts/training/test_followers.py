"""What follows a table - savers, sessions with hooks, warm starts, exports, Estimators - does the same as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.tensorflow.facts.references.exports import CONSTANTS, OPERATIONS
from migrate.source.tensorflow.facts.references.exports import EXPORTS as EXPORTED
from tests.support.source.converting import converted, reasons, stays
from tests.support.source.scripts import HEAD, compare

NET = """
def net(x):
    W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))
    b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.25))
    return tf.identity(tf.reduce_sum(tf.nn.embedding_lookup(W, x) * b, 1), name="y"), b

def graph():
    x = tf.placeholder_with_default(tf.constant([1, 2, 1], tf.int64), [None], name="x")
    y, b = net(x)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.square(y)), step)
    return x, y, b, train

def trained():
    x, y, b, train = graph()
    s = tf.Session()
    s.run(tf.global_variables_initializer())
    for _ in range(3):
        s.run(train)
    show(s.run(y, {x: [1, 3, 2]}))
    return s, x, y, b
"""
AGAIN = """
with tf.Graph().as_default():
    x, y, b, train = graph()
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        {}.restore(s, DIR + "/m")
        show(s.run(y, {{x: [1, 3, 2, 8]}}))
        s.run(train)
        show(s.run(y, {{x: [1, 3, 2, 8]}}))
"""
FIRST = "with tf.Graph().as_default():\n    s, x, y, b = trained()\n    {}.save(s, DIR + '/m')\n"
SAVERS = {
    "everything": ("tf.train.Saver()", "tf.train.Saver()"),
    "everything, listed": ("tf.train.Saver(tf.global_variables())", "tf.train.Saver(max_to_keep=3)"),
}


@pytest.mark.parametrize(("first", "second"), SAVERS.values(), ids=SAVERS)
def test_a_second_graph_reads_what_the_first_one_saved(first: str, second: str, tmp_path: Path) -> None:
    found = compare(HEAD + NET + FIRST.format(first) + AGAIN.format(second), tmp_path)
    assert abs(found[1] - found[2]).max() > 1e-3


EXPORTS = {
    "simple_save": 'tf.saved_model.simple_save(s, DIR + "/export", inputs={"x": x}, outputs={"y": y})\n',
    "a builder": 'd = tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})\n'
    '    export = tf.saved_model.builder.SavedModelBuilder(DIR + "/export")\n'
    '    export.add_meta_graph_and_variables(s, ["serve"], {"serving_default": d}, clear_devices=True)\n'
    "    export.save()\n",
}
LOADED = """
with tf.Graph().as_default(), tf.Session() as s:
    tf.saved_model.loader.load(s, ["serve"], DIR + "/export")
    show(s.run("y:0", {"x:0": [1, 3, 2, 8]}))
"""


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_an_exported_model_gives_the_same(export: str, tmp_path: Path) -> None:
    text = HEAD + NET + "with tf.Graph().as_default():\n    s, x, y, b = trained()\n    " + export + LOADED
    compare(text, tmp_path)
    assert "load the operations of the tables" in reasons(converted(text))


@pytest.mark.parametrize(
    ("kind", "says"),
    [(OPERATIONS, "load the operations of the tables"), (CONSTANTS, "cannot be frozen")],
    ids=["operations", "constants"],
)
def test_every_way_to_export_is_said(kind: str, says: str) -> None:
    names = [name for name, written in EXPORTED.items() if written == kind]
    start = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.gather(W, ids)\n'
    found = converted(start + "".join(f"tf.somewhere.{name}(a)\n" for name in names)).findings
    said = [f.location.line for f in found if says in f.reason]
    assert [names[line - 4] for line in said] == names


def test_exporters_of_an_evaluation_are_said() -> None:
    spec = "tf.estimator.EvalSpec(input_fn, exporters=[tf.estimator.LatestExporter('e', serving)])\n"
    assert "load the operations of the tables" in reasons(converted(HEAD + ESTIMATOR + spec))


FROZEN = {
    "import tensorflow.contrib.tensorrt as t\ng = t.create_inference_graph(g)\n": True,
    "g = trt.create_inference_graph(g)\n": True,
    "make = [tf.lite.TFLiteConverter]\n": True,
    "freeze = tf.graph_util.convert_variables_to_constants\n": True,
    "g = pool.create_inference_graph()\nd = dataset.from_session(1)\nf = FLAGS.freeze_graph\n": False,
    "def create_inference_graph():\n    pass\ncreate_inference_graph()\n": False,
}


@pytest.mark.parametrize("code", FROZEN)
def test_only_what_converts_graphs_keeps_the_tables(code: str) -> None:
    start = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.gather(W, ids)\n'
    assert ("cannot be frozen" in reasons(converted(start + code))) is FROZEN[code]


ESTIMATOR = """
def input_fn():
    batch = {"x": tf.constant([1, 2, 1], tf.int64)}, tf.constant([1.0, 0.0, 1.0])
    return tf.data.Dataset.from_tensors(batch).repeat(3)

def model_fn(features, labels, mode):
    W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))
    b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.25))
    y = tf.reduce_sum(tf.nn.embedding_lookup(W, features["x"]) * b, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        out = {"serving_default": tf.estimator.export.PredictOutput({"y": y})}
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y}, export_outputs=out)
    loss = tf.reduce_sum(tf.square(y - labels))
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"mean": tf.metrics.mean(y)})
    train = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

def predicted(estimator):
    show([float(one["y"]) for one in estimator.predict(input_fn)])

def serving():
    x = tf.placeholder(tf.int64, [None])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

est = tf.estimator.Estimator(model_fn, DIR)
"""
ESTIMATORS = {
    "train, evaluate, predict, train": "est.train(input_fn, steps=3)\nfound = est.evaluate(input_fn, steps=1)\n"
    'show([found["loss"], found["mean"], float(found["global_step"])])\npredicted(est)\nest.train(input_fn, steps=2)\n'
    "predicted(est)\n",
    "train_and_evaluate": "tf.estimator.train_and_evaluate(\n    est, tf.estimator.TrainSpec(input_fn, max_steps=3),"
    " tf.estimator.EvalSpec(input_fn, steps=1, throttle_secs=0))\npredicted(est)\n",
    "export": "est.train(input_fn, steps=3)\npath = est.export_saved_model(DIR + '/e', serving).decode()\n"
    "with tf.Graph().as_default(), tf.Session() as s:\n"
    "    d = tf.saved_model.loader.load(s, ['serve'], path).signature_def['serving_default']\n"
    "    show(s.run(d.outputs['y'].name, {d.inputs['x'].name: [1, 2, 8]}))\n",
}


@pytest.mark.parametrize("code", ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.one_case
@pytest.mark.soak
def test_an_estimator_does_the_same(code: str, tmp_path: Path) -> None:
    compare(HEAD + ESTIMATOR + code, tmp_path)


LINE = "with tf.Graph().as_default():\n    s, x, y, b = trained()\n    "
STAYS = {
    "all variables start from a checkpoint": ('tf.train.init_from_checkpoint(DIR, {"/": "/"})', "starts variables"),
    "all of an Estimator": ("tf.estimator.Estimator(f, DIR, warm_start_from=old)", "starts variables"),
    "a hook by name": ('tf.train.LoggingTensorHook(["w:0"], every_n_iter=1)', '`"w:0"` reads this variable'),
    "fetched by name": ('s.run("w/read:0")', "reads this variable by its name"),
    "fetched by a computed name": ('s.run("%s:0" % name)', "may read this variable by its name"),
    "found by name": ('s.graph.get_tensor_by_name("w:0")', "reads this variable by its name"),
    "found by a computed name": ("s.graph.get_tensor_by_name(names[0])", "may read this variable by its name"),
    "rows found by name": ('s.run("embedding_lookup/Identity:0")', "reads this lookup by its name"),
    "rows in another scope": ('s.graph.get_operation_by_name("a/embedding_lookup_1")', "reads this lookup by its name"),
    "read from a checkpoint": ('tf.train.load_variable(DIR, "w/Adagrad")', "reads this variable by its name"),
    "read by a reader": ('tf.train.NewCheckpointReader(DIR).get_tensor("w")', "reads this variable by its name"),
    "read from an Estimator": ('est.get_variable_value("w")', "reads this variable by its name"),
    "frozen": ('graph_util.convert_variables_to_constants(s, g, ["y"])', "frozen"),
    "frozen from files": ("freeze_graph.freeze_graph(None, None, True)", "frozen"),
    "for phones": ("tf.lite.TFLiteConverter.from_session(s, [x], [y])", "frozen"),
    "a strategy": ('tf.distribute.OneDeviceStrategy("/cpu:0")', "a table has no copies"),
    "a strategy of an Estimator": (
        "tf.estimator.RunConfig(train_distribute=tf.contrib.distribute.CollectiveAllReduceStrategy())",
        "a table has no copies",
    ),
    "synchronized workers": ("tf.train.SyncReplicasOptimizer(opt, 2)", "run it by `migrate run`"),
    "horovod": ("hvd.BroadcastGlobalVariablesHook(0)", "`hvd.BroadcastGlobalVariablesHook` is used"),
    "an average of all": ("tf.train.ExponentialMovingAverage(0.9).apply()", "average over all"),
    "a list of all": ("tf.train.Saver(tf.trainable_variables())", "lists its variables"),
    "a list that grows": ("vs = [b]; vs.append(other); tf.train.Saver(vs)", "lists its variables"),
    "some variables begin anew": ('tf.variables_initializer(tf.global_variables("w"))', "uses all variables"),
    "variables by their names": ('tf.contrib.framework.get_variables_by_name("w")', "uses all variables"),
}


@pytest.mark.parametrize(("code", "says"), STAYS.values(), ids=STAYS)
def test_what_names_or_holds_the_variable_keeps_it(code: str, says: str) -> None:
    text = "import horovod.tensorflow as hvd\n" * ("hvd" in code) + HEAD + NET + LINE + code + "\n"
    stays(text, says)


ALL = "tf.global_variables()"
CHOICE = (
    f"for v in {ALL}:\n    if v not in tf.trainable_variables():\n        print(v)\n    else:\n        print(1, v)\n"
)
#: What is printed of a list of all variables -> the code.
PRINTS = {
    "a count": "print(len(tf.trainable_variables()))",
    "names": f"print(len([v.name for v in {ALL}]))",
    "a loop": "for v in tf.trainable_variables():\n    print('%s %s' % (v.name, v.shape), v)",
    "a choice": CHOICE,
    "texts": f"for v in {ALL}:\n    print(v.name.split('/'), v.shape.as_list(), np.prod(v.shape), file=sys.stderr)",
}
#: What does more with one -> the code.
USED = {
    "an element": "print(s.run(tf.trainable_variables()[0]))",
    "values": "for v in tf.trainable_variables():\n    print(s.run(v.assign(v * 2.0)))",
    "a value that is kept": CHOICE.replace("print(1, v)", "kept.append(v)"),
    "what follows the loop": CHOICE + "else:\n    kept = v\n",
    "a choice alone": "if b in tf.trainable_variables():\n    kept.append(b)",
    "a number for each": f"for v in {ALL}:\n    print(v.name, r.rand())",
    "a list of names": f"for v in {ALL}:\n    print(kept.append(v.name))",
    "a list of names in one print": f"print([kept.append(v.name) for v in {ALL}])",
    "a count in a print": f"for v in {ALL}:\n    print(total := total + 1, v)",
    "a count in a choice": f"for v in {ALL}:\n    if kept.pop() in tf.trainable_variables():\n        print(v)",
    "a file": f"for v in {ALL}:\n    print(v.name, file=kept)",
    "a value by name": f"for v in {ALL}:\n    print(s.run(v.name))",
    "a choice of more": CHOICE.replace("print(1, v)", "total = 1"),
}


@pytest.mark.parametrize("code", PRINTS.values(), ids=PRINTS)
def test_a_print_of_all_variables_is_noted(code: str) -> None:
    result = converted(HEAD + NET + LINE + code.replace("\n", "\n    ") + "\n")
    assert [table.verdict.value for table in result.tables] == ["applied"], reasons(result)
    assert "prints all variables: a table is not a trainable variable" in reasons(result)


@pytest.mark.parametrize("code", USED.values(), ids=USED)
def test_what_does_more_than_print_all_variables_is_not(code: str) -> None:
    result = converted(HEAD + NET + LINE + code.replace("\n", "\n    ") + "\n")
    assert [table.verdict.value for table in result.tables] != ["applied"]
    assert "uses all" in reasons(result) or "counts or names" in reasons(result)


def test_a_wrapped_optimizer_trains_the_tables_of_its_file() -> None:
    code = NET.replace("tf.train.AdagradOptimizer(0.1)", "hvd.DistributedOptimizer(tf.train.AdagradOptimizer(0.1))")
    text = "import horovod.tensorflow as hvd\n" + HEAD + code
    stays(text, "`hvd.DistributedOptimizer` trains the tables of this file", assume=True)
