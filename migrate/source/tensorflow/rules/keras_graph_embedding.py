"""`emb = tf.keras.layers.Embedding(V, D)` in a v1 graph -> `create_table(dim=D, ...)`; `emb(ids)` -> a lookup."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind, is_none, literal, string
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.common_refusals import OF_LOOKUPS
from migrate.source.tensorflow.base.model import Blocker, Creation, Lookup
from migrate.source.tensorflow.base.rule_kinds import CreationRule, File
from migrate.source.tensorflow.base.shapes import is_float32
from migrate.source.tensorflow.facts.variables.creations import read_sizes, refuse, refuse_options
from migrate.source.tensorflow.facts.variables.initializer_passthrough import read_initializer
from migrate.source.tensorflow.facts.variables.keras_layers import NAMED, PARAMETERS, SYMBOL
from migrate.source.tensorflow.keras.graph_mode import RULE, check_calls, in_graph, layer_call, read_call

#: Arguments of a layer that a table of a graph does not support, each with the key of its refusal.
FOREIGN = {
    "mask_zero": "mask",
    "weights": "initial-matrix",
    "embeddings_regularizer": "regularizer",
    "activity_regularizer": "activity-regularizer",
    "embeddings_constraint": "layer-constraint",
    "dynamic": "eager-layer",
}
HEAD = "import tensorflow.compat.v1 as tf\n"
FED = "ids = tf.placeholder(tf.int64, [None])\n"
MADE = 'emb = tf.keras.layers.Embedding(n, 8, name="user")\n'


@register
class KerasGraphEmbedding(CreationRule):
    """A layer that TF 1 code calls on tensors of its graph. The optimizer of the graph trains its table."""

    id = RULE
    title = "A Keras `Embedding` layer that is called in a v1 graph becomes a dynamic table of the graph"
    symbols = frozenset({SYMBOL})
    refusals = (
        *OF_LOOKUPS,
        Refusal(
            "not-a-lookup",
            "`{shown}` is not a lookup",
            "a table does not have the methods and weights of a layer",
            "only call the layer with ids, or keep it dense",
        ),
        Refusal(
            "unread-layer-arguments",
            "this variable cannot become a table",
            "its arguments cannot be read",
            "pass the arguments of the layer one by one",
        ),
        Refusal(
            "no-initializer",
            "this variable cannot become a table",
            "its initial values cannot be analysed",
            "pass an initializer object",
        ),
        Refusal(
            "more-than-ids",
            "the ids of this lookup cannot be read",
            "the layer is called with more than ids",
            "call the layer with its ids alone",
        ),
        Refusal(
            "other-ids",
            "the ids of this lookup are not integers",
            "the layer casts them to int32 first",
            "cast them where they are made",
        ),
        Refusal(
            "positions",
            "an `Embedding` of positions stays dense",
            "it holds one row for each position, and every step reads all of them",
        ),
        Refusal(
            "other-graph",
            "this layer may be called in another graph",
            "the layer makes its variable in the graph where it is called, but a table is made in the current graph",
            "make it in the code that calls it",
        ),
        Refusal(
            "mask",
            "this variable cannot become a table",
            "its mask goes to the layers that read its rows",
            "leave `{option}` out, or keep the layer dense",
        ),
        Refusal(
            "initial-matrix",
            "this variable cannot become a table",
            "its initial values are a matrix",
            "leave `{option}` out, or keep the layer dense",
        ),
        Refusal(
            "regularizer",
            "this variable cannot become a table",
            "its term is taken over the whole matrix",
            "leave `{option}` out, or keep the layer dense",
        ),
        Refusal(
            "activity-regularizer",
            "this variable cannot become a table",
            "its term is a loss of the layer, and a lookup has no such loss",
            "leave `{option}` out, or keep the layer dense",
        ),
        Refusal(
            "layer-constraint",
            "this variable cannot become a table",
            "a constraint projects the whole matrix after every update",
            "leave `{option}` out, or keep the layer dense",
        ),
        Refusal(
            "eager-layer",
            "this variable cannot become a table",
            "the layer runs eagerly",
            "leave `{option}` out, or keep the layer dense",
        ),
    )
    examples = (
        Example(
            "the layer's default is uniform in [-0.05, 0.05]; its variable is `user/embeddings`",
            HEAD + FED + MADE + "e = emb(ids)\n",
            HEAD + "from runtime import create_table, sparse_lookup\n" + FED + "emb = create_table("
            'key_dtype=tf.int64, dim=8, name="user_embeddings", device_vocabulary_size=n,\n'
            "                   emb_initializer=tf.random_uniform_initializer(-0.05, 0.05))\n"
            "e = sparse_lookup(emb, ids)\n",
        ),
        Example("its matrix is read", HEAD + FED + MADE + "e = emb(ids)\ny = emb.embeddings\n", says="is not a lookup"),
        Example(
            "a mask", HEAD + FED + MADE.replace("8,", "8, mask_zero=True,") + "e = emb(ids)\n", says="its mask goes to"
        ),
        Example(
            "a layer of a Keras model belongs to `tf-keras-embedding`",
            HEAD + FED + MADE + "m = tf.keras.Sequential([emb])\ne = m(ids)\n",
        ),
    )

    def applies(self, file: File, call: cst.Call) -> bool:
        return in_graph(file, call)

    def looks_up(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        return layer_call(file, node)

    def use(self, file: File, node: cst.BaseExpression) -> Lookup | Blocker | None:
        call = layer_call(file, node)
        if call is not None:
            return read_call(file, call)
        around = file.tree.parent(node)
        return blocker(node, self.id, "not-a-lookup", shown=file.tree.excerpt(around or node))

    def check(self, file: File, call: cst.Call, lookups: list[Lookup]) -> Blocker | None:
        return check_calls(file, call, lookups)

    def read(self, file: File, call: cst.Call) -> Creation:
        creation = Creation(call, self.id, unique=True, unnamed="embeddings")
        late = [arg for arg in call.args[len(PARAMETERS) :] if arg.keyword is None]
        bound = bind(call, [*PARAMETERS, *sorted(NAMED)]) if not late else None
        if bound is None or not {"input_dim", "output_dim"} <= bound.keys():
            refuse(creation, call, "unread-layer-arguments")
            return creation
        if "name" in bound and not is_none(bound["name"]):
            name = string(bound["name"].value)
            creation.name = f"{name}/embeddings" if name is not None else None
            creation.named_by = bound["name"].value if name is None else None
        refuse_options(creation, file, {name: bound[name] for name in bound if name == "trainable"})
        for option, key in FOREIGN.items():
            if option in bound and not is_none(bound[option]) and literal(bound[option].value) is not False:
                refuse(creation, bound[option], key, option=option)
        if not is_float32(file.names, bound.get("dtype")):
            refuse(creation, bound["dtype"], "other-type")
        shape = read_sizes(creation, file, bound["input_dim"].value, bound["output_dim"].value)
        if shape is None:
            return creation
        given = bound["embeddings_initializer"].value if "embeddings_initializer" in bound else None
        text = "uniform" if given is None else string(given)
        creation.initializer = file.initializers.keras(text, shape) if text is not None else None
        if creation.initializer is None and given is not None and text is None:
            read_initializer(creation, file, given, shape)
        elif creation.initializer is None:
            refuse(creation, given or call, "no-initializer")
        return creation
