"""The text of `runtime.keras.table_variable` in place of variables of eager code, and of their matrices."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.variables.eager_variables import EagerVariable
from migrate.source.tensorflow.keras.imported import MODULE, free_name, import_edit

FUNCTION = "table_variable"


def variable_edits(file: File, variables: Sequence[EagerVariable]) -> list[Edit]:
    """Return the edits of the calls that make variables, and of the reads of their matrices in the file."""
    if not variables:
        return []
    name = free_name(file, (FUNCTION, f"make_{FUNCTION}"))
    made = [Edit(*file.tree.span(one.call), _text(file, one, name)) for one in variables]
    ends = {file.tree.outer_span(node)[1] for one in variables for node in one.reads}
    read = [Edit(end, end, ".matrix") for end in sorted(ends)]
    return [*made, *read, import_edit(file, MODULE, (FUNCTION, name), min(one.start for one in made))]


def _text(file: File, variable: EagerVariable, name: str) -> str:
    """Return the new call, in the layout of lines that the old one has."""
    assert variable.shape is not None
    source, given = file.tree.source, variable.arguments
    called = source(given["name"].value) if "name" in given else f'"{variable.name}"'
    return f"{name}({variable.initializer}, {source(variable.shape)}, name={called})"


def texts_of_variable(file: File, variable: EagerVariable) -> dict[str, str]:
    """Return the texts of a record by the names that they have for a layer."""
    shape = variable.shape
    sizes = [one.value for one in shape.elements] if isinstance(shape, cst.List | cst.Tuple) else []
    texts = [file.tree.source(one) for one in sizes]
    found = dict(zip(("input_dim", "output_dim"), texts, strict=False))
    return {**found, "embeddings_initializer": variable.initializer}
