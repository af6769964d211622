"""Forms of embedding that this version names but does not convert: those of tf.contrib, whole estimators."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import State
from migrate.source.frontends.tensorflow.kinds import File, FileRule, Remark
from migrate.source.rules import Example, register

FORMS = {
    "layers.Embedding": "a Keras `Embedding` layer",
    "feature_column.shared_embeddings": "shared embedding columns",
    "contrib.layers.embedding_column": "an embedding column",
    "contrib.layers.embed_sequence": "`embed_sequence`",
    "estimator.DNNLinearCombinedClassifier": "a canned estimator",
    "estimator.DNNLinearCombinedRegressor": "a canned estimator",
    "estimator.DNNClassifier": "a canned estimator",
    "estimator.DNNRegressor": "a canned estimator",
    "get_embedding_variable": "an EmbeddingVariable",
}


@register
class Later(FileRule):
    """Never silence: each of them is a finding."""

    id = "tf-other-embedding"
    title = "Embeddings inside tf.contrib and canned estimators are named"
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
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for call, name in file.calls(*FORMS):
            reason = "its table is made and read inside TensorFlow, not by a variable and a lookup in this file"
            action = "write it as a variable and a lookup, or keep it dense"
            message = f"{FORMS[name]} is not converted yet"
            yield Remark(call, self.id, State.UNSUPPORTED, message, reason, action)
