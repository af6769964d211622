"""`sok.lookup_sparse` and `sok.all2all_dense_embedding` -> `grouped_embedding_lookup_sparse` and `sparse_lookup`."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS

HEAD = "import tensorflow as tf\nimport sparse_operation_kit as sok\n"
MADE = 'item = sok.DynamicVariable(dimension=8, initializer="1.0")\n'
AFTER = "import tensorflow as tf\nfrom runtime import create_table, "
TABLE = 'item = create_table(key_dtype=tf.int64, dim=8, name="item", emb_initializer=tf.constant_initializer(1.0))\n'


@register
class SokLookup(Rule):
    """Lookups exchange ids and rows among the ranks, as SOK's do, and every rank runs them in the same order.

    Both sum the gradients of rows over the ranks. Optimizers and `var_list` receive the table's `variable`.
    """

    id = "tf-sok-lookup"
    title = "A lookup of SparseOperationKit becomes a lookup in a table"
    refusals = (
        *OF_CALLS,
        Refusal(
            "static-gradients",
            "`{shown}` reads gradients of a static variable",
            "SOK sums them over all lookups, but a table has separate rows for each lookup",
            "pass the gradients to apply_gradients unchanged, or make it a DynamicVariable",
        ),
        Refusal(
            "unknown-table",
            "`{shown}` is looked up",
            "it is not known to be an SOK variable that this file makes",
            "make it in this file",
        ),
        Refusal(
            "frequency-filter",
            "`use_low_frequency_filter` is given to a lookup",
            "a lookup of the runtime has no such switch",
            "leave it out",
        ),
        Refusal(
            "weights-may-be-none",
            "the weights `{shown}` may be None",
            "the conversion writes each weight next to its ids",
            "leave it out, or write separate lookups",
        ),
        Refusal(
            "list-for-one",
            "the list `{shown}` is looked up in one variable",
            "",
            "pass its only member, or a list of one variable",
        ),
        Refusal(
            "combiner-spelling",
            "the combiner is {given}",
            "the runtime spells it in lower case",
            'write "sum" or "mean"',
        ),
        Refusal(
            "unknown-layer",
            "`{layer}` is called",
            "the called value is not known",
            "look ids up by functions of SOK",
        ),
        Refusal(
            "layer-not-literal",
            "combiner, slots and dimension of `{layer}` cannot be read",
            "they are not literals, or differ between the layers that may be called here",
            "write them as literals where the layer is made",
        ),
        Refusal(
            "computed-dynamic-input",
            "`dynamic_input` of a layer is computed",
            "",
            "write True or False",
        ),
        Refusal(
            "unknown-ids-shape",
            "the shape of `{shown}` is not known",
            (
                "SOK returns rows for the shape of the layer, whatever shape the ids have; the runtime returns them "
                "for the shape of the ids"
            ),
            "reshape `{shown}` in the call, or convert with --assume if it has that shape",
            "`{shown}` has the shape [batch, slot_num, nnz_per_slot] of `{layer}`",
        ),
        Refusal(
            "unread-list",
            "the arguments of `{name}` cannot be read",
            "",
            "pass one list",
        ),
        Refusal(
            "unbound-lists",
            "what `{name}` returns is not bound to two names",
            "its two lists are traced by their names",
            "write `tables, others = ...`",
        ),
        Refusal(
            "layer-variables",
            "`{shown}` is taken apart",
            "a table is not a Keras variable, so the conversion adds all tables to the others",
            "convert with --assume if `{shown}` contains all tables",
            "`{shown}` contains all tables that the program makes",
        ),
        Refusal(
            "trains-all-variables",
            "`{shown}` trains the list of all variables",
            "this list has no tables, and an optimizer of tables trains nothing else",
            "separate the variables by sok.filter_variables, and train each list",
        ),
        Refusal(
            "all-variables-read",
            "`{shown}` no longer includes the tables",
            "a table is not a variable of Keras or of a graph; code that trains it gets its `variable`",
            "separate the tables by sok.filter_variables, or convert with --assume",
            "`{shown}` is read for its dense variables only",
        ),
        Refusal(
            "beside-tables",
            "`{shown}` is in the same place as SOK variables but is not one",
            "the code that reads it also reads an SOK variable",
            "use separate names and separate lookups",
        ),
        Refusal(
            "maybe-no-table",
            "`{shown}` may be looked up in place of an SOK variable",
            "the code that reads it also reads an SOK variable",
            "use separate names and separate lookups",
        ),
        Refusal(
            "not-a-lookup",
            "`{shown}` is not a lookup",
            "what it does with {kind} is not analysed",
            "{instead}",
        ),
    )
    examples = (
        Example(
            "pooled lookups in several tables become one call",
            HEAD + MADE + 'first, second = sok.lookup_sparse([item, item], [a, b], combiners=["sum", "mean"])\n',
            AFTER
            + "grouped_embedding_lookup_sparse\n"
            + TABLE
            + "first, second = grouped_embedding_lookup_sparse("
            + '[(item, a), (item, b)], ["sum", "mean"], every_row=True)\n',
        ),
        Example(
            "a lookup of each id",
            HEAD + MADE + "rows = sok.all2all_dense_embedding(item, ids)\n",
            AFTER + "sparse_lookup\n" + TABLE + "rows = sparse_lookup(item, ids)\n",
        ),
        Example(
            "a name that may be another variable",
            HEAD + MADE + "if other:\n    item = tf.Variable(matrix)\nrows = sok.all2all_dense_embedding(item, ids)\n",
            says="may be looked up in place of an SOK variable",
        ),
    )
