"""Embeddings of tf.contrib, private modules and canned estimators: reported, not converted."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import State
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark

CONTRIB = {
    "contrib.layers": "tf.contrib",
    "contrib.layers.python.layers.feature_column": "tf.contrib",
    "python.feature_column.feature_column": "a private module",
    "python.feature_column.feature_column_v2": "a private module",
}
PRIVATE_KERAS = ("python.keras.layers", "python.keras.layers.embeddings")
FORMS = {
    "layers.Embedding": "a Keras `Embedding` layer",
    "feature_column.shared_embeddings": "shared embedding columns",
    **{
        f"{module}.{name}": f"`{name}` of {owner}"
        for module, owner in CONTRIB.items()
        for name in ("embedding_column", "shared_embedding_columns", "scattered_embedding_column")
    },
    **{f"{module}.Embedding": "an `Embedding` layer of TensorFlow's private Keras" for module in PRIVATE_KERAS},
    "contrib.layers.embed_sequence": "`embed_sequence`",
    "estimator.DNNLinearCombinedClassifier": "a canned estimator",
    "estimator.DNNLinearCombinedRegressor": "a canned estimator",
    "estimator.DNNClassifier": "a canned estimator",
    "estimator.DNNRegressor": "a canned estimator",
}


@register
class Later(FileRule):
    """Embeddings that the converter knows but does not convert yet: each is a finding."""

    id = "tf-other-embedding"
    title = "Embeddings of tf.contrib, canned estimators and private modules are reported"
    examples = (
        Example(
            "sequence",
            "import tensorflow as tf\ne = tf.contrib.layers.embed_sequence(x, 9, 4)\n",
            says="embed_sequence",
        ),
        Example(
            "feature column",
            "import tensorflow as tf\nc = tf.contrib.layers.embedding_column(a, 4)\n",
            says="column",
        ),
        Example(
            "the module that defines the column",
            "from tensorflow.contrib.layers.python.layers import feature_column as fc\nc = fc.embedding_column(a, 4)\n",
            says="column",
        ),
        Example(
            "private Keras, whose layers are incompatible with the public ones",
            "from tensorflow.python.keras.layers import Embedding\ne = Embedding(9, 4)\n",
            says="private Keras",
        ),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for call, name in file.calls(*FORMS):
            reason = "TensorFlow itself creates and reads its table, instead of a variable and a lookup in this file"
            action = "write it as a variable and a lookup, or keep it dense"
            message = f"{FORMS[name]} is not converted yet"
            yield Remark(call, self.id, State.UNSUPPORTED, message, reason, action)
