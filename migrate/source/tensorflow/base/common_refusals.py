"""`Refusal` rows that several rules share: for variable creations, lookups, and terms over tables."""

from __future__ import annotations

from collections.abc import Sized

from migrate.report.summary import plural
from migrate.source.rules import Refusal, same_message

#: How the action of a reason ends that the graph of a run decides.
RUN_IT = "or train with `migrate run`, which analyses the graph"
_IMPORT = (
    "leave it unchanged; or use a constant, uniform or normal initializer, and import the rows by `migrate "
    "checkpoint` or by `import_rows` of the table"
)
_REMOVE = "remove `{name}`, or leave the variable unchanged"
_ROWWISE = "use a constant, uniform, normal or variance scaling initializer"
_AT_RUN_TIME = "they are decided at run time, and the runtime does not support all initializers"
_TEMPLATE = (
    "each call of the function that `{text}` returns reuses the variables of the first call, whose scope gets "
    "a number at that call"
)
#: How a name becomes known: of a variable whose own name is computed, or of its scope.
RECORD_NAME = f"record a run with `migrate trace`, whose graph has the name, {RUN_IT}"
FIX_SCOPE = f"open the scope with a fixed name where the variable is created; else {RECORD_NAME}"
_BEFORE = "look all rows up before the call, outside of it"
#: Why a variable cannot become a table.
OF_CREATIONS = (
    *same_message(
        "this variable cannot become a table",
        ("other-rank", "its rank is {shape}", "give it a shape written as [rows, dim]"),
        ("unread-shape", "its shape cannot be read", "give it a shape written as [rows, dim]"),
        ("computed-shape", "its shape calls a function", "assign the sizes to names first"),
        ("unknown-values", "its initial values cannot be analysed", _IMPORT),
        ("matrix-parts", "its initial values may be a matrix with a separate row for each id", _IMPORT),
        ("no-gradient", "every lookup is inside `stop_gradient`, so its rows are never trained", "leave it unchanged"),
        (
            "moved-values",
            "`{shown}` may mean something else here than where the scope is opened",
            "pass the initializer where the variable is created",
        ),
        ("unread-arguments", "its arguments cannot be read", "pass the arguments of the variable one by one"),
        (
            "other-type",
            "its rows are not float32",
            "make it float32 and cast the looked-up rows, or leave it unchanged",
        ),
        ("own-collections", "it is added to custom collections", _REMOVE),
        ("custom-getter", "a custom getter changes how the variable is created", _REMOVE),
        ("constraint", "a constraint projects the whole matrix after every update", _REMOVE),
        ("caching-device", "it has a caching device", _REMOVE),
        ("protocol-buffer", "it is created from a protocol buffer", _REMOVE),
        ("expected-shape", "it states an expected shape", _REMOVE),
        ("distributed", "it is a distributed variable", _REMOVE),
        ("declared-shape", "its shape is declared separately from its value", _REMOVE),
        ("unknown-value-of", "its initial values cannot be analysed: they are those of `{shown}`", _ROWWISE),
        ("unknown-value-in-branch", "its initial values cannot be analysed: one of them may be `{shown}`", _ROWWISE),
        (
            "parameter-may-be-none",
            "its initial values cannot be analysed: the parameter `{shown}` may be None",
            _ROWWISE,
        ),
    ),
    Refusal(
        "matrix",
        "the initial values may be the matrix `{shown}`, with a separate row for each id",
        "its type and its width are known at run time only",
        "convert with --assume if it is a float32 matrix [rows, dim]; else leave the variable unchanged",
        "`{shown}` is a float32 matrix of known width; creating the table fails if it has not two dimensions",
    ),
    Refusal(
        "in-lambda",
        "this variable is created inside a lambda",
        "the lambda may run several times",
        "create it outside, and look its rows up inside",
    ),
    *same_message(
        "the initial values may be `{shown}`",
        (
            "unseen-values",
            _AT_RUN_TIME,
            f"{_ROWWISE}; or convert with --assume if it is one of these",
            (
                "`{shown}` is a constant, uniform, normal or variance scaling initializer of TensorFlow or "
                "Keras; with any other, creating the table fails"
            ),
        ),
        (
            "contrib-values",
            _AT_RUN_TIME,
            f"{_ROWWISE}; or convert with --assume if it is one of these",
            "`{shown}` is never used: TensorFlow 2, which the runtime needs, has no `tf.contrib`",
        ),
    ),
    *same_message(
        "this creation may run several times",
        (
            "made-again-under-reuse",
            (
                "a scope of the program has reuse=True, where whether a table is new follows from its name, "
                "and this name cannot be computed twice"
            ),
            "write the name as a literal; or create the variable once, and pass it on",
        ),
        (
            "made-by-unseen",
            "each run makes a new variable, and not all code that runs it is known",
            "create the variable once, and pass it on",
        ),
    ),
    *same_message(
        "this variable is created by `{text}`",
        (
            "made-in-inner-graph",
            "`{text}` runs it in an inner graph, where a table cannot be created",
            "create it outside, and look its rows up inside",
        ),
        ("made-in-template", _TEMPLATE, "create it outside, and pass its rows in"),
    ),
    *same_message(
        "the full name of this variable is not fixed",
        (
            "unfixed-name-unread",
            "{what}, and its name or shape is not known",
            RECORD_NAME,
        ),
        (
            "unfixed-name-reused",
            "{what}, and the program reuses variables by name: `{other}` may be the same variable",
            RECORD_NAME,
        ),
        (
            "unfixed-name-vector",
            "{what}, and a vector without an initializer gets initial values by it that a table would not have",
            "{remedy}",
        ),
        ("unfixed-name-partitioned", "{what}, and variables are partitioned", "{remedy}"),
        ("unfixed-name-regularizer", "{what}, and a scope has a regularizer", "{remedy}"),
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
        "pass all lookups the same partition_strategy, or create the variable without a partitioner",
    ),
    *same_message(
        "this lookup is run by `{text}`",
        ("read-in-inner-graph", "`{text}` runs it in an inner graph, where a table cannot be trained", _BEFORE),
        ("read-in-template", _TEMPLATE, _BEFORE),
    ),
)
#: Why a term over a whole table (reported as `{message}`) cannot be computed over the looked-up rows.
OF_TERMS = (
    Refusal(
        "lookup-in-branch",
        "{message}",
        "a lookup is in a branch or loop of the graph, and its ids are not known outside",
        "compute it after the lookups, or leave the variable unchanged",
    ),
)


def or_in_others(program: Sized) -> str:
    """Return the end of "in this file" for what is in no file of a program."""
    others = len(program) - 1
    return f" or in the {plural(others, 'other file')} of its program" if others else ""
