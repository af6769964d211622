"""`Refusal` rows that several rules share: for variable creations, lookups, and terms over tables."""

from __future__ import annotations

from migrate.source.rules import Refusal

#: How the action of a reason ends that the graph of a run decides.
RUN_IT = "or run it once, by `migrate run`: its graph decides"
#: Why a variable cannot become a table.
OF_CREATIONS = (
    Refusal(
        "other-rank",
        "this variable cannot become a table",
        "its rank is {shape}",
        "give it a shape written as [rows, dim]",
    ),
    Refusal(
        "unread-shape",
        "this variable cannot become a table",
        "its shape cannot be read",
        "give it a shape written as [rows, dim]",
    ),
    Refusal(
        "computed-shape",
        "this variable cannot become a table",
        "its shape calls a function",
        "assign the sizes to names first",
    ),
    Refusal(
        "unknown-values",
        "this variable cannot become a table",
        "its initial values cannot be analysed",
        (
            "keep it dense; or use a constant, uniform or normal initializer, and import the rows by `migrate "
            "checkpoint` or by `import_rows` of the table"
        ),
    ),
    Refusal(
        "matrix",
        "the initial values may be the matrix `{shown}`, with a separate row for each id",
        "its type and its width are known at run time only",
        "convert with --assume if it is a float32 matrix [rows, dim]; else keep the table dense",
        "`{shown}` is a float32 matrix of known width; without two dimensions making the table fails",
    ),
    Refusal(
        "matrix-parts",
        "this variable cannot become a table",
        "its initial values may be a matrix with a separate row for each id",
        (
            "keep it dense; or use a constant, uniform or normal initializer, and import the rows by `migrate "
            "checkpoint` or by `import_rows` of the table"
        ),
    ),
    Refusal(
        "no-gradient",
        "this variable cannot become a table",
        "every lookup is inside `stop_gradient`, so its rows are never trained",
        "leave it dense",
    ),
    Refusal(
        "in-lambda",
        "this variable is made inside a lambda",
        "the lambda may run several times",
        "make it outside, and look its rows up inside",
    ),
    Refusal(
        "moved-values",
        "this variable cannot become a table",
        "`{shown}` may mean something else here than where the scope is opened",
        "pass the initializer where the variable is made",
    ),
    Refusal(
        "unread-arguments",
        "this variable cannot become a table",
        "its arguments cannot be read",
        "pass the arguments of the variable one by one",
    ),
    Refusal(
        "other-type",
        "this variable cannot become a table",
        "its rows are not float32",
        "make it float32 and cast the looked-up rows, or keep it dense",
    ),
    Refusal(
        "own-collections",
        "this variable cannot become a table",
        "it is added to custom collections",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "custom-getter",
        "this variable cannot become a table",
        "a custom getter changes how the variable is made",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "constraint",
        "this variable cannot become a table",
        "a constraint projects the whole matrix after every update",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "caching-device",
        "this variable cannot become a table",
        "it has a caching device",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "protocol-buffer",
        "this variable cannot become a table",
        "it is made from a protocol buffer",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "expected-shape",
        "this variable cannot become a table",
        "it states an expected shape",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "distributed",
        "this variable cannot become a table",
        "it is a distributed variable",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "declared-shape",
        "this variable cannot become a table",
        "its shape is declared separately from its value",
        "remove `{name}`, or keep the variable dense",
    ),
    Refusal(
        "unknown-value-of",
        "this variable cannot become a table",
        "its initial values cannot be analysed: they are those of `{shown}`",
        "use a constant, uniform, normal or variance scaling initializer",
    ),
    Refusal(
        "unknown-value-in-branch",
        "this variable cannot become a table",
        "its initial values cannot be analysed: one of them may be `{shown}`",
        "use a constant, uniform, normal or variance scaling initializer",
    ),
    Refusal(
        "parameter-may-be-none",
        "this variable cannot become a table",
        "its initial values cannot be analysed: the parameter `{shown}` may be None",
        "use a constant, uniform, normal or variance scaling initializer",
    ),
    Refusal(
        "unseen-values",
        "the initial values may be `{shown}`",
        "they are decided at run time, and the runtime does not support all initializers",
        (
            "use a constant, uniform, normal or variance scaling initializer; or convert with --assume if it is one "
            "of these"
        ),
        (
            "`{shown}` is a constant, uniform, normal or variance scaling initializer of TensorFlow or Keras; with "
            "any other, making the table fails"
        ),
    ),
    Refusal(
        "contrib-values",
        "the initial values may be `{shown}`",
        "they are decided at run time, and the runtime does not support all initializers",
        (
            "use a constant, uniform, normal or variance scaling initializer; or convert with --assume if it is one "
            "of these"
        ),
        "`{shown}` is never used: TensorFlow 2, which the runtime needs, has no `tf.contrib`",
    ),
    Refusal(
        "made-again-under-reuse",
        "this creation may run several times",
        (
            "a scope of the program demands that variables exist: there a table is new only by the name of its "
            "variable, which cannot be read twice"
        ),
        "write the name as a text; or make the variable once, and pass it on",
    ),
    Refusal(
        "made-by-unseen",
        "this creation may run several times",
        "each run makes a new variable, and not all code that runs it is known",
        "make the variable once, and pass it on",
    ),
    Refusal(
        "made-in-inner-graph",
        "this variable is made by `{text}`",
        "`{text}` runs it in an inner graph, where a table cannot be made",
        "make it outside, and look its rows up inside",
    ),
    Refusal(
        "made-in-template",
        "this variable is made by `{text}`",
        (
            "each call of the function that `{text}` returns reuses the variables of the first call, in a scope that "
            "is numbered then"
        ),
        "make it outside, and pass its rows in",
    ),
    Refusal(
        "unfixed-name-unread",
        "the full name of this variable is not fixed",
        "{what}, and its name or shape is not known",
        "write the name and those of its scopes, and the shape, as literals",
    ),
    Refusal(
        "unfixed-name-reused",
        "the full name of this variable is not fixed",
        "{what}, and the program reuses variables by name: `{other}` may be the same variable",
        "write the name and those of its scopes as literals, or make it without `reuse`",
    ),
    Refusal(
        "unfixed-name-vector",
        "the full name of this variable is not fixed",
        "{what}, and a vector without an initializer takes a bound from it that a table would not have",
        "open the scope with a fixed name where the variable is made",
    ),
    Refusal(
        "unfixed-name-partitioned",
        "the full name of this variable is not fixed",
        "{what}, and variables are partitioned",
        "open the scope with a fixed name where the variable is made",
    ),
    Refusal(
        "unfixed-name-regularizer",
        "the full name of this variable is not fixed",
        "{what}, and a scope has a regularizer",
        "open the scope with a fixed name where the variable is made",
    ),
)
#: Why a lookup prevents the conversion of its table.
OF_LOOKUPS = (
    Refusal(
        "unread-ids",
        "the ids of this lookup cannot be read",
        "its arguments are incomplete",
        "pass the table and the ids as two arguments",
    ),
    Refusal(
        "parts-differ",
        "this variable is partitioned",
        "ids are spread over its parts by {named}, so one id reads different rows",
        "pass all lookups the same partition_strategy, or make the variable without a partitioner",
    ),
    Refusal(
        "read-in-inner-graph",
        "this lookup is run by `{text}`",
        "`{text}` runs it in an inner graph, where a table cannot be trained",
        "look all rows up before the call, outside of it",
    ),
    Refusal(
        "read-in-template",
        "this lookup is run by `{text}`",
        (
            "each call of the function that `{text}` returns reuses the variables of the first call, in a scope that "
            "is numbered then"
        ),
        "look all rows up before the call, outside of it",
    ),
)
#: Why a term over a whole table (reported as `{message}`) cannot be computed over the looked-up rows.
OF_TERMS = (
    Refusal(
        "lookup-in-branch",
        "{message}",
        "a lookup is in a branch or loop of the graph, and its ids are not known outside",
        "compute it after the lookups, or keep the table dense",
    ),
)
