"""Execution modes in which a table differs from a variable: eager code, strategies, double precision."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.project.analysis_units import LIMIT
from migrate.source.project.dynamic_imports import dynamic_imports
from migrate.source.rules import Example, Refusal, register, same_message
from migrate.source.tensorflow.base.arguments import bind, is_none, string
from migrate.source.tensorflow.base.bindings import local_names, resolve, scope_of_name
from migrate.source.tensorflow.base.model import Blocker, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.base.shapes import is_float32
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import DEFAULT_MODEL
from migrate.source.tensorflow.facts.calls.variable_scopes import PARAMETERS
from migrate.source.tensorflow.facts.references.containers import entry_key
from migrate.source.tensorflow.facts.references.exports import CONSTANTS, exports
from migrate.source.tensorflow.facts.variables.eager_variables import builds_graph

SHARED = "such processes share their variables through a library that does not support tables"
EAGER = "these tables exist only in a v1 graph (`tf.compat.v1`)"
#: Symbols whose mere use blocks the tables of a file, each with the key of its refusal.
CALLS = {
    "train.SyncReplicasOptimizer": "synchronized",
    "GradientTape": "eager",
    "enable_eager_execution": "eager",
    "function": "eager",
    "train.ExponentialMovingAverage": "averages",
    "variable_creator_scope": "creator",
    "variable_creator_scope_v1": "creator",
    "make_template": "creator",
    "import_graph_def": "imported-graph",
    "train.import_meta_graph": "imported-graph",
}
#: Symbols of a cluster with parameter servers, where tables of some targets lie as variables do.
SERVERS = ("train.replica_device_setter", "train.ClusterSpec", "train.Server")
#: The strategy of Estimators that places variables so; that of TensorFlow 2 builds no v1 graph.
SERVERS_STRATEGY = re.compile(r"(contrib\.)?distribute\.(\w+\.)*ParameterServerStrategy")
STRATEGIES = re.compile(r"(contrib\.)?distribute\.(\w+\.)*\w*Strategy\w*|(contrib\.|estimator\.)?tpu\..*")
#: Libraries that run a program as several processes.
PARALLEL = {"horovod", "byteps", "bluefog"}
#: Methods of a scope that change the creation of all later variables.
SETTERS = ("set_initializer", "set_regularizer", "set_custom_getter")
#: Methods of a graph that give its ops other gradients, kernels or attributes, which a table's own ops do not get.
OVERRIDES = ("gradient_override_map", "_override_gradient_function", "_kernel_label_map", "_attr_scope")

#: Patterns in code that may affect tables without receiving them: it lists, trains, stores or shares variables.
CONCERNS = re.compile(
    r"(trainable|global|local|model|all)_variables|get_collection|minimize|(apply|compute)_gradients|\bgradients\s*\("
    r"|Optimizer|Saver|\.variables\b|\breuse|AUTO_REUSE|convert_variables|freeze_graph|get_variable_value|load_variable"
    r"|as_graph_element|_by_name\b|import_meta_graph|MovingAverage|warm_start|init_from_checkpoint|variable_creator_scope"
)


def averages_listed(file: File, call: cst.Call) -> bool:
    """True for an ExponentialMovingAverage that is only used for averages of listed variables."""
    assign = file.tree.parent(call)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
    scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
    if scope is None or not isinstance(target, cst.Name):
        return False
    return all(use is target or _listed(file, use) for use in local_names(file.tree, target.value, scope))


def _listed(file: File, use: cst.Name) -> bool:
    method = file.tree.parent(use)
    call = file.tree.parent(method) if isinstance(method, cst.Attribute) else None
    if not isinstance(method, cst.Attribute) or not isinstance(call, cst.Call) or len(call.args) != 1:
        return False
    if method.attr.value in {"average", "average_name"}:
        return True
    return method.attr.value == "apply" and isinstance(resolve(file.tree, call.args[0].value), (cst.List, cst.Tuple))


@register
class Surroundings(FileRule, CheckRule):
    """Blocks every table of a file that runs in a mode which tables do not support."""

    id = "tf-surroundings"
    title = "Tables of a file that runs eagerly or distributed are left unchanged"
    refusals = (
        Refusal(
            "other-module",
            "`{text}` refers to another module named `runtime`",
            (
                "the converted file imports the installed package `runtime`, and Python loads only one module of "
                "that name"
            ),
            "rename that module",
        ),
        Refusal(
            "module-beside",
            "`{path}` exists",
            "next to the converted file, it would hide the installed package `runtime`",
            "rename that module",
        ),
        Refusal(
            "judged-alone",
            "this file is analysed alone",
            (
                "the files of its programs have more than {limit} characters, so what the other files do with tables "
                "is not analysed"
            ),
            "convert only the files of one model, or convert with --assume",
            "no other file uses all variables, or these tables in a way that does not name them",
        ),
        Refusal(
            "not-given",
            "`{place}` is imported but is not among the given files",
            "its `{word}` may use the tables",
            "convert the directory, so that its files are analysed together; or convert with --assume",
            "`{place}` does nothing with the tables",
        ),
        Refusal(
            "unread-library",
            "`{text}` is called in a program with tables, and its code is not analysed",
            "if it lists or trains variables by itself, it no longer reaches the tables",
            "look at its code; if it does neither, convert with --assume",
            "`{text}` neither lists variables nor trains them",
        ),
        *same_message(
            "`{text}` is used in this file",
            (
                "servers",
                "parameter servers hold the variables of all processes, but not the tables of {title}",
                "`--target runtime` converts it",
            ),
            (
                "synchronized",
                "it collects the gradients of one optimizer, and tables have an optimizer of their own",
                "leave the file unchanged, and run it by `migrate run`",
            ),
            (
                "replicas",
                "a strategy may copy variables to several replicas, and a table has no copies",
                "leave the strategy out; to train on several devices, start one process for each (`runtime.ranks`)",
            ),
            ("eager", EAGER, "build a v1 graph and run it in a session"),
            (
                "averages",
                "an average over all variables would no longer include the tables",
                "list the variables that are averaged",
            ),
            (
                "creator",
                "it changes how every variable inside is created, or creates it again",
                "make the tables outside of it",
            ),
            (
                "imported-graph",
                "an imported graph contains variables that are not in the file",
                "build the model in code, or convert the graph by `migrate graph`",
            ),
            (
                "frozen",
                "the rows of a table cannot be frozen into a constant",
                "export a SavedModel; if only a program of its own does this, name the others by `--entry`",
            ),
            ("several-processes", SHARED, "leave the file unchanged, or run one process without it"),
        ),
        Refusal(
            "may-be-distributed",
            "{what} may start several processes",
            SHARED,
            "convert with --assume if it runs as one process",
            "the program runs as one process",
        ),
        Refusal(
            "no-graph",
            "nothing in this file shows that it builds a v1 graph",
            EAGER,
            "disable eager execution and use sessions",
        ),
        Refusal(
            "scope-setter",
            "`{setter}` is called on a variable scope",
            "it changes how every later variable is created",
            "pass it to the variables themselves",
        ),
        Refusal(
            "unseen-scope",
            "the options of a variable scope cannot be read",
            "it may give the variables created inside initial values, a regularizer or another type",
            "write its options out, or convert with --assume if it gives none",
            "the scope gives its variables nothing but a name",
        ),
        Refusal(
            "scope-option",
            "a variable scope has a {option}",
            "`{option}` of a variable scope acts on every variable created inside",
            "pass it to the variables that need it",
        ),
        Refusal(
            "scope-type",
            "a variable scope has a dtype",
            "tables hold float32, and the scope makes its variables of another type",
            "pass `dtype=tf.float32` to the variable",
        ),
        Refusal(
            "overridden",
            "`{shown}` is built under `{text}`",
            "it changes the gradients or kernels of stock ops, and a table has ops of its own",
            "build it outside of that scope",
        ),
    )
    examples = (
        Example(
            "parameter servers of another SDK",
            DEFAULT_MODEL + "s = tf.train.ClusterSpec(c)\n",
            target="sok",
            says="hold the variables of all processes",
        ),
        Example(
            "a strategy",
            DEFAULT_MODEL + "s = tf.distribute.MirroredStrategy()\n",
            says="a table has no copies",
        ),
        Example(
            "eager",
            "import tensorflow as tf\nW = tf.Variable(tf.random.normal([9, 4]))\ne = tf.nn.embedding_lookup(W, x)\n",
            says="v1 graph",
        ),
        Example(
            "moving averages of all variables",
            DEFAULT_MODEL + "a = tf.train.ExponentialMovingAverage(0.9)\no = a.apply()\n",
            says="average over all",
        ),
        Example(
            "another gradient of the lookup",
            'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\n'
            "def build():\n    return tf.nn.embedding_lookup(W, ids)\n"
            'with tf.get_default_graph().gradient_override_map({"Identity": "Reversed"}):\n    e = build()\n',
            says="a table has ops of its own",
        ),
        Example(
            "double precision of an outer scope",
            'import tensorflow.compat.v1 as tf\nwith tf.variable_scope("s", dtype=tf.float64):\n'
            '    W = tf.get_variable("w", [9, 4])\n    e = tf.nn.embedding_lookup(W, ids)\n',
            says="float32",
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        file = judgement.file
        for table in judgement.tables:
            creation = table.creation.call
            trees = [part.tree for part in file.program(creation)]
            openers = (mention for tree in trees for name in OVERRIDES for mention in tree.attributes.get(name, ()))
            if (opener := next(openers, None)) is not None:
                shown, text = file.tree.excerpt(creation), file.tree.one_line(opener)
                table.blockers.append(blocker(opener, self.id, "overridden", shown=shown, text=text))

    def blockers(self, file: File) -> Iterator[Blocker]:
        for call, name in file.names.calls:
            if name == "train.ExponentialMovingAverage" and averages_listed(file, call):
                continue
            if key := _key(file, name):
                yield blocker(call, self.id, key, text=file.tree.source(call.func), title=file.target.title)
            elif name == "variable_scope":
                yield from self._scope(file, call)
        for setter in SETTERS:
            for node in file.tree.attributes.get(setter, ()):
                yield blocker(node, self.id, "scope-setter", setter=setter)
        for decorated in file.tree.names.get("function", ()):
            around = file.tree.parent(decorated)
            if isinstance(around, cst.Attribute) and isinstance(file.tree.parent(around), cst.Decorator):
                yield blocker(around, self.id, "eager", text=f"@{file.tree.source(around)}")
        program = file.program(file.tree.module)
        if not any(map(builds_graph, program)):
            yield blocker(file.tree.module, self.id, "no-graph")
        yield from self._processes(file)
        for export, text, kind in exports(file):
            if kind == CONSTANTS:
                yield blocker(export, self.id, "frozen", text=text)
        for call in file.tree.calls:
            if {name.split(".")[0] for name in file.tree.imported_names(call.func)[0]} & PARALLEL:
                yield blocker(call, self.id, "several-processes", text=file.tree.source(call.func))

    def of_file(self, judgement: Judgement, file: File) -> Iterator[Blocker]:
        """Yield a blocker for code that runs in the same program but was not given to the converter."""
        module, link = file.tree.module, file.tree.link
        if link is not None and link.crowded():
            yield blocker(module, self.id, "judged-alone", limit=f"{LIMIT:,}")
        for shown in opened(file):
            yield blocker(module, "tf-opaque", "computed-imports", shown=shown)
        for path, word in not_given(file, judgement.tables):
            yield blocker(module, self.id, "not-given", place=path, word=word)

    def _processes(self, file: File) -> Iterator[Blocker]:
        """Yield calls that may make the file one of several processes which share their variables."""
        libraries: list[tuple[cst.CSTNode, str]] = [
            (text, "`TF_CONFIG`")
            for text in file.tree.strings
            if string(text) == "TF_CONFIG" and not file.target.on_servers
        ]
        libraries += [(one, "`hybridbackend`") for one in file.tree.imports if "hybridbackend" in file.tree.source(one)]
        for node, what in libraries:
            yield blocker(node, self.id, "may-be-distributed", what=what)

    def _scope(self, file: File, call: cst.Call) -> Iterator[Blocker]:
        bound = bind(call, PARAMETERS)
        if bound is None:
            yield blocker(call, self.id, "unseen-scope")
            return
        for option in ("custom_getter", "constraint", "caching_device"):
            if option in bound and not is_none(bound[option]):
                yield blocker(bound[option], self.id, "scope-option", option=option)
        if not is_float32(file.names, bound.get("dtype")):
            yield blocker(bound["dtype"], self.id, "scope-type")


def _key(file: File, name: str) -> str:
    """Return the key of the refusal for the use of a symbol; empty: it keeps no table."""
    if name in SERVERS or SERVERS_STRATEGY.fullmatch(name):
        return "" if file.target.on_servers else "servers"
    return CALLS.get(name) or ("replicas" if STRATEGIES.fullmatch(name) else "")


def opened(file: File) -> Iterator[str]:
    """Yield the files that import modules by a computed name, which may load any code."""
    own = any(call.open for call in dynamic_imports(file.tree.text))
    link = file.tree.link
    for path in link.opened() if link is not None else (["this file"] if own else []):
        yield "this file" if path in {file.tree.path, "this file"} else f"`{path}`"


def not_given(file: File, tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Yield the unanalysed files that a file imports, each with a word in it that may concern its tables."""
    link = file.tree.link
    names = _handed(file, tables)
    for path, text in link.not_given().items() if link is not None else ():
        word = CONCERNS.search(text) or (re.search(rf"[.\"'](?:{'|'.join(names)})\b", text) if names else None)
        if word is not None:
            yield path, word.group().strip(" (.")


def _handed(file: File, tables: Sequence[Table]) -> list[str]:
    """Return the attributes and keys under which the file stores its tables, as regular expressions."""
    held = [node for table in tables for node in (*table.references, *table.holders)]
    nodes = [node for node in held if file.tree.module_of(node) is file.tree.module]
    keys = {node.attr.value for node in nodes if isinstance(node, cst.Attribute)}
    keys |= {key for node in nodes if isinstance(node, cst.Subscript) and (key := entry_key(node))}
    return sorted(map(re.escape, keys))
