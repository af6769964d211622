"""Models that a library's functions build: their layers are in no source of the user's."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import State
from migrate.source.project.discovery import MODEL_LIBRARIES
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark

HEAD = "from deepctr.models import DeepFM\n"


@register
class LibraryModel(FileRule):
    """`DeepFM(...)` of DeepCTR and its like return a functional model of Keras."""

    id = "tf-library-model"
    title = "A model that a library builds is reported: `runtime.keras.migrate` moves the object"
    words = "|".join(MODEL_LIBRARIES)
    examples = (
        Example(
            "a model of DeepCTR", HEAD + 'model = DeepFM(columns, columns, task="binary")\n', says="in the library"
        ),
        Example(
            "a function beside them", "from deepctr.feature_column import get_feature_names\nget_feature_names(x)\n"
        ),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for call in file.tree.calls:
            imported, _ = file.tree.imported_names(call.func)
            full = next(iter(imported), "")
            package, _, rest = full.partition(".")
            # A model is made by a function named like a class.
            if package in MODEL_LIBRARIES and rest.startswith("models.") and full.rpartition(".")[2][:1].isupper():
                message = f"`{file.tree.source(call.func)}` of {package} builds a model of Keras with its tables"
                reason = "the layers are created in the library, whose source stays as it is"
                action = "write `model = runtime.keras.migrate(model)` before `model.compile(...)`"
                yield Remark(call, self.id, State.SUGGESTED, message, reason, action)
