"""How programs for DeepRec are read: spellings, what keeps a file, and what each finding says."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.report.model import Applicability, State
from migrate.source.driver.convert_file import convert_text
from migrate.source.driver.run import convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options

HEAD = "import tensorflow.compat.v1 as tf\n"
ENUMS = "from tensorflow.core.framework.embedding import config_pb2\n"
TABLE = 'item = tf.get_embedding_variable("item", 8)\n'
LOOKUP = "rows = tf.nn.embedding_lookup(item, ids)\n"


def _converted(text: str, assume: bool = False, target: str = "runtime") -> SourceResult:
    return convert_text("model.py", text, Options(assume=assume, target=target), {})


def _said(result: SourceResult) -> str:
    return "\n".join(f"{f.state.value}: {f.message} ({f.reason}) {f.action}" for f in result.findings)


def _option(text: str) -> str:
    """Return what becomes of an option object, written on a line of its own."""
    result = _converted(HEAD + ENUMS + f"evict = None\noption = {text}\n" + TABLE)
    assert result.changed, _said(result)
    lines = result.converted.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("option = "))
    end = next(at for at, line in enumerate(lines) if line.startswith("item = "))
    return " ".join(" ".join(lines[start:end]).split()).removeprefix("option = ")


OPTIONS = {
    "tf.CounterFilter(5)": "Admission(5)",
    "tf.CBFFilter(3)": "Admission(threshold=3)",
    "tf.CBFFilter(filter_freq=3, false_positive_probability=-1.0)": "Admission(threshold=3)",
    "tf.CBFFilter(3, n, 0.1, tf.int64)": "Admission(threshold=3, "
    "bloom=CountingBloom(max_element_size=n, false_positive_probability=0.1, counter_bits=32))",
    "tf.GlobalStepEvict(n)": "Eviction(n)",
    "tf.L2WeightEvict(0.5)": "Eviction(least_norm=0.5)",
    "tf.L2WeightEvict(l2_weight_threshold=-1.0)": "Eviction()",
    "tf.L2WeightEvict(-1.0 if off else 0.5)": "Eviction(least_norm=max(-1.0 if off else 0.5, 0.0))",
    "tf.CheckpointOption(path, 'item', True)": "WarmStart(path, 'item', True)",
    "tf.CheckpointOption(tensor_name_in_ckpt='item')": "WarmStart(checkpoint=None)",
    "tf.EmbeddingVariableOption(ckpt=tf.CheckpointOption(ckpt_to_load_from=path))": "KeyRules("
    "warm_start=WarmStart(checkpoint=path))",
    "tf.InitializerOption(default_value_dim=0)": "InitialRows(rows=4096)",
    "tf.InitializerOption(start, n)": "InitialRows(start, (n if n > 0 else 4096))",
    "tf.InitializerOption(start, 100, default_value_no_permission=.5)": "InitialRows(start, 100, refused=.5)",
    "tf.EmbeddingVariableOption('', 1000, evict)": "KeyRules(eviction=evict)",
    "tf.EmbeddingVariableOption(ht_partition_num=20)": "KeyRules()",
    "tf.EmbeddingVariableOption(filter_option=tf.CounterFilter(filter_freq=2), ckpt=None)": "KeyRules("
    "admission=Admission(threshold=2), warm_start=None)",
    "tf.StorageOption()": 'Storage("dram")',
    "tf.StorageOption(config_pb2.StorageType.PMEM_MEMKIND)": 'Storage("dram")',
    "tf.StorageOption(1, storage_size=[512])": 'Storage("dram")',
    "tf.StorageOption(12, path, [512, 1024])": 'Storage("dram_ssdhash", path=path, sizes=[512], counts_values=True)',
    "tf.StorageOption(config_pb2.StorageType.SSDHASH, path)": 'Storage("dram_ssdhash", path=path, counts_values=True)',
    "tf.StorageOption(config_pb2.StorageType.LEVELDB, path, sizes, cache_strategy=config_pb2.CacheStrategy.LFU)": (
        'Storage("dram_leveldb", path=path, sizes=sizes[:1], counts_values=True)'
    ),
    "tf.StorageOption(config_pb2.StorageType.DRAM_PMEM, path)": 'Storage("dram_pmem", path=path, '
    "sizes=[1 << 30, 1 << 30], counts_values=True)",
    "tf.StorageOption(config_pb2.StorageType.DRAM_PMEM, path, [512], 0)": 'Storage("dram_pmem", path=path, '
    'sizes=[512, 1 << 30], policy="lru", counts_values=True)',
    "tf.StorageOption(config_pb2.StorageType.DRAM_PMEM_SSDHASH, path, sizes)": 'Storage("dram_pmem_ssdhash", '
    "path=path, sizes=((sizes) + [1 << 30, 1 << 30])[:2], counts_values=True)",
}


@pytest.mark.parametrize(("before", "after"), OPTIONS.items(), ids=OPTIONS)
def test_an_option_says_the_same(before: str, after: str) -> None:
    assert _option(before) == after


def test_layout_and_comments_stay() -> None:
    text = HEAD + (
        "item = tf.get_embedding_variable(\n    'item',  # its name\n    8,\n    value_dtype=tf.float32,\n"
        "    # how many parts\n    partitioner=parts,\n    initializer=start,  # at first\n)\n"
    )
    assert _converted(text).converted == HEAD + (
        "from runtime import create_counted_table\n# how many parts\nitem = create_counted_table(\n"
        "    'item',  # its name\n    8,\n    initializer=start,  # at first\n)\n"
    )


READS = {
    "an attribute of a class": (
        "class Model:\n    def __init__(self, ids):\n        self.item = tf.get_embedding_variable('item', 8)\n"
        "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n",
        "        self.rows = sparse_lookup(self.item, ids)\n",
    ),
    "returned and passed on": (
        "def make():\n    return tf.get_embedding_variable('item', 8)\n\ndef read(table, ids):\n"
        "    return tf.nn.embedding_lookup(table, ids)\n\ntable = make()\nrows = read(table, ids)\n",
        "    return sparse_lookup(table, ids)\n",
    ),
    "in place": ("rows = tf.nn.embedding_lookup(tf.get_embedding_variable('item', 8), ids)\n", "rows = sparse_lookup("),
    "one name for several, each read beside it": (
        "for n in range(3):\n    if flag:\n        w = tf.get_embedding_variable(name='w%d' % n, embedding_dim=1)\n"
        "        use(tf.nn.embedding_lookup(w, ids))\n    else:\n        w = tf.get_variable('w%d' % n, [9, 1])\n"
        "        use(tf.nn.embedding_lookup(w, ids))\n",
        "        use(sparse_lookup(w, ids))\n    else:\n        w = tf.get_variable('w%d' % n, [9, 1])\n"
        "        use(tf.nn.embedding_lookup(w, ids))\n",
    ),
    "one name for several, the variable last": (
        "w = tf.get_variable('v', [9, 8])\nuse(tf.nn.embedding_lookup(w, ids))\n"
        "w = tf.get_embedding_variable('w', 8)\nuse(tf.nn.embedding_lookup(w, ids))\n",
        "use(tf.nn.embedding_lookup(w, ids))\nw = create_counted_table('w', 8)\nuse(sparse_lookup(w, ids))\n",
    ),
    "a list that is trained": (
        TABLE + LOOKUP + "P = [step]\nP.append(item)\ntrain = tf.train.AdagradOptimizer(0.1).minimize(rows, None, P)\n",
        "P.append(item.variable)\n",
    ),
    "a group, in the older order of arguments": (
        TABLE
        + "w = [u, v]\nb = c\nrows = tf.nn.group_embedding_lookup_sparse([item, item], [a, b], ways, 'mod', w, 'g')\n",
        "(zip([item, item], [a, b], w, strict=True), ways, name='g', every_row=True)\n",
    ),
    "a group of one, in the newer order": (
        TABLE + "rows = tf.nn.group_embedding_lookup_sparse(item, [a], ['sum'], None, 'mod', False)\n",
        "rows = grouped_embedding_lookup_sparse([(item, a)], ['sum'], every_row=True)\n",
    ),
    "a dense group": (
        TABLE + "rows = tf.nn.group_embedding_lookup(params=(item,), ids=batch, name='g')\n",
        "rows = grouped_lookup(zip([item], batch, strict=True), name='g')\n",
    ),
    "a Saver, and what is known of keys": (
        TABLE + LOOKUP + "saver = tf.train.Saver([item, step])\ntier = item.lookup_tier(ids)\ni = item.initializer\n",
        "saver = tf.train.Saver([item.variable, step])\ntier = item.tier_of(ids)\ni = item.variable.initializer\n",
    ),
}


@pytest.mark.parametrize(("text", "part"), READS.values(), ids=READS)
def test_it_is_followed_to_where_it_is_read(text: str, part: str) -> None:
    result = _converted(HEAD + text)
    assert part in result.converted, _said(result)
    assert [table.verdict for table in result.tables if table.verdict is State.APPLIED]
    assert not [f for f in result.findings if f.subject == "lookup" and f.remains]


@pytest.mark.parametrize(
    ("imports", "spelled"),
    [
        ("import tensorflow as tf\n", "tf"),
        ("import tensorflow\n", "tensorflow"),
        ("import numpy as np, tensorflow as t\n", "t"),
    ],
)
def test_version_1_is_imported(imports: str, spelled: str) -> None:
    text = (imports + ENUMS + TABLE + LOOKUP).replace("tf.", f"{spelled}.")
    result = _converted(text)
    plain = imports.replace(
        "tensorflow", "tensorflow.compat.v1" + (" as tensorflow" if spelled == "tensorflow" else "")
    )
    assert result.converted.startswith(plain + "from runtime import"), result.converted
    assert f"\n\n{spelled}.disable_v2_behavior()\n" in result.converted
    assert "config_pb2" not in result.converted


def test_it_is_left_where_it_is_disabled_already() -> None:
    text = "import tensorflow as tf\ntf.disable_v2_behavior()\n" + TABLE
    assert _converted(text).converted.count("disable_v2_behavior") == 1


def test_only_version_1_itself_is_version_1() -> None:
    text = "import tensorflow as tf\nfrom mine.compat import v1\ntf.disable_eager_execution()\n" + TABLE
    converted = _converted(text).converted
    assert converted.startswith("import tensorflow.compat.v1 as tf\n")
    assert "disable_v2_behavior()" in converted


def test_a_threshold_that_is_off_by_its_name_is_off() -> None:
    text = HEAD + "OFF = -1.0\noption = tf.L2WeightEvict(l2_weight_threshold=OFF)\n" + TABLE
    assert "option = Eviction()\n" in _converted(text).converted


MADE_HERE = {
    "a choice": "option = tf.EmbeddingVariableOption() if flag else None\n",
    "a branch": "option = None\nif flag:\n    option = tf.EmbeddingVariableOption()\n",
    "a function": "def make():\n    return tf.EmbeddingVariableOption()\n\noption = make()\n",
    "a dict": "all = {'a': None}\nall['b'] = tf.EmbeddingVariableOption()\noption = all['b']\n",
    "a parameter": "def chosen(one=None):\n    return one\n\noption = chosen(tf.EmbeddingVariableOption())\n",
    "an object": "class A:\n    def __init__(self, one):\n        self.one = one\n\n"
    "option = A(tf.EmbeddingVariableOption()).one\n",
}


@pytest.mark.parametrize("before", MADE_HERE.values(), ids=MADE_HERE)
def test_an_option_that_is_made_here_is_followed(before: str) -> None:
    result = _converted(HEAD + before + TABLE.replace("8)", "8, ev_option=option)"))
    assert 'create_counted_table("item", 8, rules=option)' in result.converted, _said(result)
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}


def test_a_name_that_is_imported_from_tensorflow_is_no_longer() -> None:
    text = HEAD + "from tensorflow import get_embedding_variable as made\nitem = made('item', 8)\n" + LOOKUP
    result = _converted(text)
    assert "create_counted_table('item', 8)" in result.converted, _said(result)
    assert "get_embedding_variable" not in result.converted


KEPT = {
    "HBM": (
        "tf.StorageOption(6)",
        "the storage type HBM keeps rows on a GPU",
        "write `StorageType.DRAM`, and then add `device=`",
    ),
    "HBM with a disk": (
        "tf.StorageOption(102, path)",
        "HBM_DRAM_SSDHASH keeps rows on a GPU",
        "`StorageType.DRAM_SSDHASH`",
    ),
    "no folder": ("tf.StorageOption(12)", "have no folder", "set storage_path"),
    "a strategy that is computed": (
        "tf.StorageOption(12, p, cache_strategy=c)",
        "the cache strategy cannot be read",
        "",
    ),
    "a counter that is computed": ("tf.CBFFilter(3, 9, .1, c)", "the type of a filter's counters", "tf.uint8"),
    "an argument of no option": ("tf.L2WeightEvict(l2_weigt_threshold=1.0)", "it has no argument `l2_weigt", ""),
    "a mention": ("isinstance(x, tf.CounterFilter)", "is used without a call", ""),
    "a collection": ("tf.get_collection(tf.GraphKeys.EMBEDDING_VARIABLES)", "lists EmbeddingVariables", "tables()"),
    "keys": ("item.total_count()", "`total_count` of `item` is read", "known_keys"),
    "a call that is not known": ("print_all(item)", "is not a lookup", ""),
    "a list of two": ("tf.nn.embedding_lookup([item, other], ids)", "is not a lookup", ""),
    "a feature store": ("tf.CheckpointOption(init_data_source=s)", "`init_data_source` is given", "ckpt_to_load_from"),
    "a group of sequences": (
        "tf.nn.group_embedding_lookup_sparse([item], [ids], ['sum'], is_sequence=True)",
        "`is_sequence` is given to a group lookup",
        "look each sequence up",
    ),
    "a group with another variable": (
        "tf.nn.group_embedding_lookup([item, tf.get_variable('v', [9, 8])], [ids, ids])",
        "`tf.get_variable('v', [9, 8])` is an operand of a group lookup",
        "in a separate call",
    ),
    "one of two in a group": (
        "tf.nn.group_embedding_lookup([item if flag else tf.get_variable('v', [9, 8])], [ids])",
        "is an operand of a group lookup",
        "in a separate call",
    ),
    "a group in a group": (
        "tf.nn.group_embedding_lookup([item], tf.nn.group_embedding_lookup([item], [ids]))",
        "a group lookup has another lookup or a table in it",
        "bind it to a name",
    ),
    "a table in a group": (
        "tf.nn.group_embedding_lookup([tf.get_embedding_variable('b', 8)], [ids])",
        "a group lookup has another lookup or a table in it",
        "bind it to a name",
    ),
    "weights of a group": (
        "tf.nn.group_embedding_lookup_sparse([item], [ids], ['sum'], weights)",
        "the weights of a group lookup cannot be read",
        "write the list",
    ),
    "a text for the combiners of a group": (
        "tf.nn.group_embedding_lookup_sparse([item], [ids], 'sum')",
        "the combiners of a group lookup are a string",
        "write a list",
    ),
    "a list of a group": (
        "tf.nn.group_embedding_lookup(tables, [ids])",
        "the tables of a group lookup, `tables`, cannot be read",
        "write the list",
    ),
    "blocks": ("tf.nn.embedding_lookup(item, ids, blocknums=2)", "`blocknums` is given", "leave it out"),
    "steps said twice": (
        "tf.get_embedding_variable('b', 8, steps_to_live=2, ev_option=tf.EmbeddingVariableOption())",
        "`b` has `steps_to_live` beside an option",
        "GlobalStepEvict",
    ),
    "double precision": ("tf.get_embedding_variable('b', 8, value_dtype=tf.float64)", "are not float32", ""),
    "a mention of what is imported": (
        "1\nfrom tensorflow import get_embedding_variable as g\nb = partial(g, embedding_dim=4)",
        "`g` is used without a call",
        "",
    ),
    "a comment in an import of several": (
        "1\nfrom tensorflow import (\n    CounterFilter,  # the one\n    Graph,\n)",
        "needs a module or a name of DeepRec's TensorFlow",
        "",
    ),
    "one of two imports that is read": (
        "1\nfrom tensorflow import CounterFilter, Graph\nf = [CounterFilter]",
        "is used without a call",
        "",
    ),
    "a private module": (
        "1\nfrom tensorflow.python.feature_column import feature_column_v2 as fc\n"
        "c = fc.categorical_column_with_embedding('y')",
        "under a name that cannot be traced",
        "",
    ),
    "a name in a string": ("hasattr(tf, 'get_embedding_variable')", "reads a name of DeepRec's", ""),
    "an attribute of an option": (
        "tf.StorageOption()\nother.storage_size = [1024]",
        "`other.storage_size` is an attribute of an option",
        "the call that makes it",
    ),
    "an attribute by its name": (
        "tf.StorageOption()\nsetattr(other, 'storage_path', p)",
        "reads an attribute of an option",
        "the call that makes it",
    ),
    "a number of rows that is computed": ("tf.InitializerOption(None, rows())", "is greater than 0", ""),
    "what the environment has counted": (
        "item.get_frequency(ids)\nos.environ['TF_RECORD_FREQ'] = '1'",
        "`get_frequency` of `item` is read",
        "KeyRules(counts=True",
    ),
    "how ranks share": (
        "1\ntf.config.experimental.enable_distributed_strategy(strategy=how)",
        "the argument of `enable_distributed_strategy` cannot be read",
        "collective",
    ),
    "what connects the ranks, kept": (
        "tf.config.experimental.enable_distributed_strategy('collective')",
        "the argument of `enable_distributed_strategy` cannot be read",
        "call it by itself",
    ),
    "a frozen graph": ("tf.graph_util.convert_variables_to_constants(s, g, ['y'])", "is used in this file", ""),
}


@pytest.mark.parametrize(("code", "message", "action"), KEPT.values(), ids=KEPT)
def test_what_keeps_a_file_is_said_with_the_remedy(code: str, message: str, action: str) -> None:
    text = HEAD + TABLE + LOOKUP + f"other = {code}\n"
    result = _converted(text, assume=True)
    assert not result.changed
    reasons = [f for f in result.findings if message in f"{f.message} {f.reason}"]
    assert reasons, _said(result)
    assert all(f.remains and f.action and action in f.action for f in reasons if f.subject == "use"), _said(result)
    stays = [f for f in result.findings if "completely or not at all" in f.message]
    assert {f.location.line for f in stays} >= {2, 3}, "the variable and its lookup have a finding each"
    assert {table.verdict for table in result.tables} == {State.UNSUPPORTED}


ASSUMED: dict[str, str] = {
    "parameter servers": "s = tf.train.ClusterSpec(c)\n",
    "TF_CONFIG": "import os\nc = os.environ['TF_CONFIG']\n",
    "a branch": "if multihash:\n    other = tf.get_multihash_variable('o', [[9, 4], [9, 4]])\n",
    "an option for another file": "import mine\nmine.make(2, option=tf.EmbeddingVariableOption())\n",
    "an option in a list for an object": "all = [tf.CounterFilter(2)]\ndef f(one):\n    one.make(all[0])\n",
    **{
        f"an option of another file: {one}": "import mine\n"
        f"def wrong():\n    return mine.x\nother = tf.get_embedding_variable('other', 8, ev_option={one})\n"
        for one in (
            "option",
            "mine.make()",
            "mine.all['a']",
            "wrong()",
            "{}['a']",
            "tf.EmbeddingVariableOption(filter_option=mine.x)",
            "tf.EmbeddingVariableOption(storage_option=mine.x)",
            "tf.EmbeddingVariableOption(init_option=mine.x)",
            "tf.EmbeddingVariableOption(evict_option=mine.x)",
        )
    },
}


@pytest.mark.parametrize("more", ASSUMED.values(), ids=ASSUMED)
def test_an_assumption_is_asked_for(more: str) -> None:
    text = HEAD + TABLE + LOOKUP + more
    result = _converted(text)
    assert not result.changed
    assert {table.verdict for table in result.tables} == {State.SUGGESTED}
    assert [f.assumptions for f in result.findings if f.assumptions]
    assumed = _converted(text, assume=True)
    assert assumed.changed
    assert {table.applicability for table in assumed.tables} == {Applicability.ASSUMPTION}


def test_what_stock_tensorflow_lacks_is_left_to_do() -> None:
    text = (
        HEAD
        + TABLE
        + LOOKUP
        + (
            "y = tf.contrib.layers.fully_connected(rows, 8)\nwith scope.keep_weights(): pass\n"
            "s = tf.train.MonitoredTrainingSession(save_incremental_checkpoint_secs=60)\nimport os\n"
            "os.environ['TF_RECORD_FREQ'] = '1'\n"
        )
    )
    result = _converted(text)
    assert result.changed
    left = {f.location.line for f in result.findings if f.remains}
    assert left == {4, 5, 6, 8}, _said(result)


def test_other_targets_do_not_read_it() -> None:
    text = HEAD + TABLE + LOOKUP
    own, other = _converted(text, target="deeprec"), _converted(text, target="rec_sdk")
    assert (own.changed, other.changed) == (False, False)
    assert "noted: `get_embedding_variable` is DeepRec's own" in _said(own)
    assert "unsupported: `get_embedding_variable` is DeepRec's (it can be converted for the runtime" in _said(other)


def test_a_strategy_that_shares_nothing_goes() -> None:
    experimental = "tf.config.experimental"
    text = HEAD + f'{experimental}.enable_distributed_strategy("localized")\n{experimental}.enable_group_embedding()\n'
    converted = _converted(text + TABLE).converted
    assert converted == f'{HEAD}from runtime import create_counted_table\nitem = create_counted_table("item", 8)\n'


def test_a_comment_keeps_the_file() -> None:
    result = _converted(HEAD + TABLE.replace("\n", "  # migrate: ignore not yet\n") + LOOKUP)
    assert not result.changed
    assert not [f for f in result.findings if f.remains], _said(result)


def test_options_alone_go_with_the_files_that_take_them() -> None:
    text = HEAD + "option = tf.CounterFilter(3)\n"
    result = _converted(text)
    assert not result.changed
    assert "no table of this file takes it" in _said(result)
    assert _converted(text, assume=True).converted == HEAD + "from runtime import Admission\noption = Admission(3)\n"


MIXED = {
    "from tensorflow import Graph, get_embedding_variable": "from tensorflow import Graph",
    "from tensorflow import CounterFilter as c, L2WeightEvict, Graph as g": "from tensorflow import Graph as g",
    "import os; from tensorflow import CounterFilter, Graph, L2WeightEvict, Session, GlobalStepEvict as e": (
        "import os; from tensorflow import Graph, Session"
    ),
    "from tensorflow import (\n    Graph,\n    CounterFilter,\n    Session,\n)": (
        "from tensorflow import (\n    Graph,\n    Session,\n)"
    ),
    "from tensorflow import (\n    Graph,\n    CounterFilter,\n)": "from tensorflow import (\n    Graph,\n)",
}


@pytest.mark.parametrize(("before", "after"), MIXED.items(), ids=MIXED)
def test_an_import_keeps_the_names_of_stock_tensorflow(before: str, after: str) -> None:
    made = TABLE.replace("tf.", "" if "get_embedding_variable" in before else "tf.")
    converted = _converted(f"{HEAD}{before}\n{made}").converted
    ours = "from runtime import create_counted_table\n"
    assert converted == f"{HEAD}{after}\n{ours}" + 'item = create_counted_table("item", 8)\n'


def test_options_that_stay_in_the_file_are_no_doubt() -> None:
    text = HEAD + (
        "import logging\n\ndef made(one):\n    return tf.get_embedding_variable('item', 8, ev_option=one)\n\n"
        "option = tf.EmbeddingVariableOption()\nlogging.info('%s', option)\nprint(option)\nrest = []\n"
        "rest.append(option)\nitem = made(option)\n"
    )
    assert {table.applicability for table in _converted(text).tables} == {Applicability.EXACT}


def test_a_module_called_runtime_would_hide_the_package(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + TABLE + LOOKUP)
    (tmp_path / "runtime.py").write_text("x = 1\n")
    found = {one.source.path.name: one for one in convert_paths([str(tmp_path)], Options())}
    assert found["model.py"].original == found["model.py"].data
    assert "`runtime.py` exists" in _said(found["model.py"].result)


def test_a_file_of_a_project_is_converted_with_its_other_tables_kept(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + TABLE + LOOKUP + "w = tf.get_variable('w', [9, 4])\n")
    (tmp_path / "train.py").write_text(
        HEAD
        + "import model\nrows = tf.nn.embedding_lookup(model.w, ids)\ntf.train.AdagradOptimizer(1.).minimize(rows)\n"
    )
    found = {one.source.path.name: one for one in convert_paths([str(tmp_path)], Options(assume=True))}
    assert "create_counted_table(" in found["model.py"].data.decode()
    assert found["train.py"].original == found["train.py"].data
    assert "w = tf.get_variable" in found["model.py"].data.decode()


@pytest.mark.parametrize(
    "reads", ["from model import item\n", "import model\nitem = model.item\n", "from model import *\n"]
)
def test_a_table_that_another_file_looks_up_stays(tmp_path: Path, reads: str) -> None:
    """The lookup stays, because it is not in the file of its table; of a table that is none it would fail."""
    (tmp_path / "model.py").write_text(HEAD + TABLE)
    (tmp_path / "train.py").write_text(HEAD + reads + LOOKUP)
    for assume in (False, True):
        found = convert_paths([str(tmp_path)], Options(assume=assume))
        assert all(one.original == one.data for one in found)
        assert any("is looked up in another file" in _said(one.result) for one in found if one.result)


def test_a_table_that_its_file_alone_names_converts(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HEAD + TABLE + LOOKUP + "other = tf.nn.embedding_lookup\n")
    (tmp_path / "train.py").write_text(HEAD + "import model\nprint(model.rows, model.other)\n")
    found = {one.source.path.name: one for one in convert_paths([str(tmp_path)], Options())}
    assert "create_counted_table(" in found["model.py"].data.decode()


def test_attributes_of_one_name_in_two_models_are_no_uses_of_each_other(tmp_path: Path) -> None:
    body = "".join(f"        self.{line}" for line in (TABLE, LOOKUP.replace("(item", "(self.item")))
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(HEAD + "class Model:\n    def __init__(self, ids):\n" + body)
    (tmp_path / "main.py").write_text("import first, second\nprint(first.Model(x).rows, second.Model(x).rows)\n")
    found = {one.source.path.name: one for one in convert_paths([str(tmp_path)], Options())}
    assert all("create_counted_table(" in found[f"{name}.py"].data.decode() for name in ("first", "second"))
