"""Rules for the parts of a converted Paddle model, and for files that are not converted.

The conversion is one piece of work, so that these rules only name its parts.
"""

from __future__ import annotations

from migrate.report.model import Applicability
from migrate.source.rules import Rule, register


def _register(id: str, title: str, text: str, reports: bool = False) -> None:
    """Register a rule of this name with what its page says; one that only reports changes no code."""
    applicability = None if reports else Applicability.EXACT
    register(type(id, (Rule,), {"id": id, "title": title, "__doc__": text, "applicability": applicability}))


_register(
    "paddle-layer-class",
    "An `nn.Layer` becomes a TensorFlow module",
    "A class derived from `nn.Layer` becomes a TensorFlow module with the same methods, names, loops and comments.",
)
_register(
    "paddle-linear",
    "An `nn.Linear` over one-hot columns becomes a dense product and lookups",
    "`x·W + b` of a `Linear` that reads the model's input is split.\n\n"
    "Dense columns remain a matrix product, and each one-hot group becomes a lookup of one row. Every other "
    "`Linear` becomes a dense layer.",
)
_register(
    "paddle-table",
    "The kernels' one-hot rows become one table",
    "The one-hot rows of all kernels that read the input become one table, with the kernels' columns side by side.",
)
_register(
    "paddle-sdk",
    "The module makes the SDK's tables",
    "With `--target` or switches, the module has the SDK's tables and lookups: `create_embedding_tables` makes a "
    "table for each initializer, `lookup_embedding` gives `build_model` its rows. What the SDK does otherwise is "
    "told.",
)
_register(
    "paddle-loss",
    "The loss is converted",
    "The trainer's `create_loss` is converted; without one, the loss is made from the tasks of the schema.",
)
_register(
    "paddle-optimizer",
    "The trainer's optimizer is reported",
    "The trainer's optimizer is reported with its arguments, because the converted module has no training step.\n\n"
    "An optimizer with a schedule, clipping, decay, or only some of the parameters needs a decision. `migrate "
    "project` also writes a training step, with the Adam or SGD optimizer of the trainer.",
    reports=True,
)
_register(
    "paddle-embedding",
    "An `nn.Embedding` becomes a table",
    "An `nn.Embedding` becomes a table that grows; one whose rows all move or whose matrix is read stays dense.",
)
_register(
    "paddle-program",
    "An eager Paddle program runs as it is",
    "An eager program keeps its code: `install()` stands before its first import of Paddle, tables hold its ids.",
)
_register(
    "paddle-trainer",
    "The trainer's methods build a graph",
    "The trainer's class builds a TensorFlow graph from a batch: feeds, forward pass, loss and metrics.",
)
_register(
    "paddle-reader",
    "The reader's base class is replaced",
    "A reader keeps its code; its base class is that of `runtime.nn.data`.",
)
_register(
    "paddle-entry",
    "An entry policy becomes admission",
    "The entry policy of a `sparse_embedding` becomes the table's admission, or has no effect, which is reported.",
)
_register(
    "paddle-server",
    "Settings of a parameter server are reported",
    "Settings of a parameter server are not read: rows train with the optimizer of the file.",
    reports=True,
)
_register(
    "paddle-no-model",
    "A Paddle file without the schema's model is left unchanged",
    "With a schema, a file without an `nn.Layer`, such as a trainer or a reader, is left unchanged, with a note.",
    reports=True,
)
_register(
    "paddle-foreign-base",
    "A class with an unknown base is reported",
    "A class whose base is neither defined in the file nor imported by name may be a model, so it is reported.",
    reports=True,
)
_register(
    "paddle-unsupported",
    "A model with an unsupported construct is left unchanged",
    "A model is converted only if all of its constructs are supported; each other construct is a finding.",
    reports=True,
)
_register(
    "paddle-syntax",
    "A Paddle file that is not valid Python is reported",
    "A file that is not valid Python is left unchanged.",
    reports=True,
)
_register(
    "paddle-inputs",
    "A model whose batch is not known is left unchanged",
    "Shapes and dtypes of a batch come from the reader and its sample data, or from `inputs` of the schema.",
    reports=True,
)
_register(
    "paddle-not-reached",
    "Code that the trainer does not reach is not converted",
    "What the trainer does not come to with its configuration is not converted; a note says so.",
    reports=True,
)
