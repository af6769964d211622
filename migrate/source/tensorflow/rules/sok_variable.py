"""`sok.DynamicVariable(dimension=D)`, `sok.Variable` and the layers of SOK 1.x -> `create_table(dim=D)`."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS, OF_TABLES

HEAD = "import tensorflow as tf\nimport sparse_operation_kit as sok\n"
AFTER = "import tensorflow as tf\nfrom runtime import create_table"


@register
class SokVariable(Rule):
    """A file of a program for SparseOperationKit is converted completely, or left unchanged.

    A table has one row for each key that is looked up, on the same rank as in SOK. Constant initial values and matrices
    are kept; random ones come from the same distribution, but other numbers are drawn. `python -m runtime.compat.sok`
    runs a program that was not converted.
    """

    id = "tf-sok-variable"
    title = "A variable or a layer of SparseOperationKit becomes a table"
    refusals = (
        *OF_CALLS,
        *OF_TABLES,
        Refusal(
            "trained-elsewhere",
            "`{label}` is trained by another file",
            "no optimizer of this file trains it, and an SOK optimizer would skip it",
            "convert the file that trains it together with this one, both with --assume",
            "the files that train the tables of this one are converted as well",
        ),
        Refusal(
            "no-tensorflow",
            "TensorFlow is not imported under a name",
            "",
            "write `import tensorflow as tf`",
        ),
        Refusal(
            "constraint",
            "`{label}` has a constraint",
            "a table has no constraint",
            "leave it out",
        ),
        Refusal(
            "may-not-be-trainable",
            "`{label}` may not be trainable",
            "a table is trained",
            "leave `trainable` out, and the variable out of what is trained",
        ),
        Refusal(
            "other-type",
            "the values of `{label}` are not float32",
            "a table holds float32",
        ),
        Refusal(
            "computed-hashtable",
            "`use_hashtable` of `{label}` is computed",
            "",
            "write True or False",
        ),
        Refusal(
            "unknown-dimension",
            "the dimension of `{label}` cannot be read",
            "",
            "pass it by name",
        ),
        Refusal(
            "mode-may-be-none",
            "the mode of `{label}` may be None",
            "a placement is a string",
            "remove it, or write the mode",
        ),
        Refusal(
            "unknown-initializer",
            "the initializer `{shown}` cannot be read",
            "it may be a string or a number",
            'write the text into the call: a number, "normal" or "uniform"',
        ),
        Refusal(
            "text-initializer",
            "the initializer of `{label}` is a string",
            "a table takes an initializer object",
            "write an initializer of TensorFlow",
        ),
        Refusal(
            "unread-part",
            "the {what} of `{label}` cannot be read",
            "",
            "write `shape=[rows, dim]` and an initializer of TensorFlow into the call",
        ),
        Refusal(
            "rows-of-function",
            "the initial rows of `{label}` come from a function",
            "a table takes rows, not a function",
            "call the function there, and pass its result",
        ),
        Refusal(
            "values-of-function",
            "`{shown}` initializes a table",
            "its values are a function of the whole shape",
            (
                "give it a constant, uniform, normal or variance-scaling initializer, or the matrix as its first "
                "argument"
            ),
        ),
        Refusal(
            "values-by-place",
            "`{shown}` initializes a table",
            "the values of a row depend on its position",
            (
                "give it a constant, uniform, normal or variance-scaling initializer, or the matrix as its first "
                "argument"
            ),
        ),
        Refusal(
            "values-of-array",
            "`{shown}` initializes a table",
            "its value is not known to be one number",
            (
                "give it a constant, uniform, normal or variance-scaling initializer, or the matrix as its first "
                "argument"
            ),
        ),
    )
    examples = (
        Example(
            "a variable that grows",
            HEAD + 'item = sok.DynamicVariable(dimension=8, initializer="0.5", var_type="hbm")\n',
            AFTER
            + '\nitem = create_table(key_dtype=tf.int64, dim=8, name="item",'
            + " emb_initializer=tf.constant_initializer(0.5))\n",
        ),
        Example(
            "a matrix of initial rows",
            HEAD + "item = sok.Variable(values)\n",
            "import tensorflow as tf\nfrom runtime import table_of_rows\n"
            + 'item = table_of_rows(rows=values, name="item")\n',
        ),
        Example(
            "an initializer that is not known",
            HEAD + "item = sok.DynamicVariable(dimension=8, initializer=how)\n",
            says="the initializer `how` cannot be read",
        ),
    )
